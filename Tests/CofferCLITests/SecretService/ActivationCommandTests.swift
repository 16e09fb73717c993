import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite struct ActivationCommandTests {
  /// Text special to shells, desktop entries or systemd, and combining marks, which change the preceding character in Swift.
  private static let odd = [
    "a  b", "it's", "'", "''", "\"", "\\", "\\\\", "\\n", "\\'", "50%f", "%%", "$HOME", "${HOME}", "`id`",
    "caf\u{E9}", "cafe\u{301}", "'\u{301}", "\\\u{301}", "$\u{301}", "a=b;#c", "*", "~", "", "-",
  ]

  @Test func `a command is read as it was written, word by word and byte by byte`() {
    let words = ["/opt/it's/coffer"] + Self.odd
    #expect(ActivationCommand.words(ActivationCommand.text(words)).map { Array($0.utf8) } == words.map { Array($0.utf8) })
    #expect(ActivationCommand.text(["/usr/bin/env", "A=b", "secret-service"]) == "/usr/bin/env A=b secret-service")
  }

  @Test(.tags(.process), .wholeRun) func `the bus starts the very program with the very words, whatever is in them`() throws {
    let home = try Home()
    let script = "#!/bin/sh\nprintf '%s\\n' \"$0\" \"$@\" >'\(home.path)/words'\n"
    let program = try home.file("it's a \"b\" \\c 50%f $HOME caf\u{E9}/program", script, mode: 0o700)
    let command = ActivationCommand.text([program] + Self.odd)
    _ = try home.file("services/org.example.Odd.service", "[D-BUS Service]\nName=org.example.Odd\nExec=\(command)\n")
    let bus = try TestBus(services: home.path + "/services", environment: home.environment)
    // It answers once the program, which takes no name, has ended.
    let call = ["--print-reply", "--dest=org.freedesktop.DBus", "/", "org.freedesktop.DBus.StartServiceByName"]
    let answer = try home.program(
      ["dbus-send", "--bus=\(bus.address)"] + call + ["string:org.example.Odd", "uint32:0"])
    guard let answer else { try Test.skip(without: "dbus-send") }
    try #require(home.exists("words"), "\(command): \(answer.err)")
    let expected = ([program] + Self.odd).map { $0 + "\n" }.joined()
    #expect(try home.content("words").utf8.elementsEqual(expected.utf8), "\(command)")
  }
}
