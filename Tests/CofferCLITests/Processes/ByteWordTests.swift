import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite(.tags(.process), .defaultRun)
struct ByteWordTests {
  private func sh(_ home: Home, _ line: String) throws -> Home.Answer {
    let out = try home.file(".run/\(UUID().uuidString).out"), err = try home.file(".run/\(UUID().uuidString).err")
    let child = try Child(
      ["-c", "coffer() { \(Home.coffer) \"$@\"; }\n" + line], environment: home.environment,
      opening: [0: ("/dev/null", O_RDONLY), 1: (out, O_WRONLY), 2: (err, O_WRONLY)], program: "/bin/bash")
    let status = try child.wait()
    return Home.Answer(
      status: status, bytes: try Data(contentsOf: URL(fileURLWithPath: out)),
      err: String(decoding: try Data(contentsOf: URL(fileURLWithPath: err)), as: UTF8.self))
  }

  @Test(arguments: ["", "--mask "])
  func `run passes any bytes on, and starts a program of any name`(mask: String) throws {
    let home = try Home.withVault()
    let every = (1...255).map { "\\x" + String($0, radix: 16) }.joined()
    let answer = try sh(home, "coffer run \(mask)-- printf '%s|' $'\\xff' $'a\\xfe\\xc3' $'\(every)' '' 'é' --help")
    #expect(answer.status == 0, "\(answer.err)")
    let expected =
      Data([0xFF]) + Data("|a".utf8) + Data([0xFE, 0xC3]) + Data("|".utf8) + Data(1...255) + Data("||é|--help|".utf8)
    #expect(answer.bytes == expected)
    let program = try sh(
      home,
      "cd \(home.path); mkdir $'d\\xff'; printf '#!/bin/sh\\necho here\\n' > $'d\\xff/p\\xfe'; chmod +x $'d\\xff/p\\xfe'\n"
        + "coffer run \(mask)-- $'./d\\xff/p\\xfe'; PATH=$'d\\xff':$PATH coffer run \(mask)-- $'p\\xfe'")
    #expect(program.out == "here\nhere\n", "\(program.err)")
  }

  @Test
  func `where a name is wanted, what is not UTF-8 is refused, and nothing is taken for something else`() throws {
    let home = try Home.withVault()
    for line in [
      "vault set $'x\\xff' a", "vault get $'x\\xff' a", "get $'\\xff'", "defaults write d k $'\\xff'", "backup $'\\xff'",
      "vault set s a --attribute=k=$'\\xc3'", "vault list --home $'\\xff'", "run --env $'\\xff=coffer://a' -- true", "$'\\xff'",
      "run true $'\\xff'", "helper docker $'\\xff'",
    ] {
      let answer = try sh(home, "printf one | coffer \(line)")
      #expect(answer.status == (line.hasPrefix("run") ? 125 : 64), "\(line): \(answer.err)")
      #expect(answer.err.contains("is not UTF-8 (not repeated here)"), "\(line): \(answer.err)")
    }
    try home.transcript("vault list")
    #expect(try sh(home, "coffer --json $'\\xff'").err.hasPrefix("{\"error\":"))
  }

  @Test
  func `a variable that coffer reads is refused where it is not UTF-8, and a command gets the others as they are`() throws {
    let home = try Home.withVault()
    let names = try CommandLineArticle.table("Environment").map { $0[0] }.filter { $0 != "COFFER_PASSPHRASE" }
    #expect(names.count >= 14)
    for name in names + ["HOME"] {
      let answer = try sh(home, "\(name)=$'\(home.path)/b\\xff' coffer list")
      #expect(answer.status == 64 && answer.err.contains("\(name) in the environment is not UTF-8"), "\(name): \(answer.err)")
    }
    let before = try FileManager.default.contentsOfDirectory(atPath: home.path).count
    #expect(try sh(home, "COFFER_HOME=$'\(home.path)/b\\xfe' coffer defaults write d k v").status == 64)
    #expect(try sh(home, "COFFER_HOME=$'\(home.path)/b\\xfe' coffer run -- true").status == 125)
    #expect(try FileManager.default.contentsOfDirectory(atPath: home.path).count == before)
    let passed = try sh(home, "ANY=$'a\\xfe\\xff' coffer run -- sh -c 'printf %s \"$ANY\"'")
    #expect(passed.status == 0 && passed.bytes == Data("a".utf8) + Data([0xFE, 0xFF]), "\(passed.err)")
  }

  @Test
  func `a combining mark after an option's sign belongs to the value, and a secret there is refused unseen`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set s a --attribute=\u{301}k=\u{301}v --label=\u{301}l", in: "x")
    let shown = try home.coffer("vault show s a --json").out
    #expect(shown.contains("\"\u{301}k\":\"\u{301}v\"") && shown.contains("\"label\":\"\u{301}l\""), "\(shown)")
    let pair = try #require("k=\u{301}v".nameAndValue)
    #expect(pair.name == "k" && pair.value == "\u{301}v")
    for option in ["--token", "--passphrase", "--unheard-of"] {
      let answer = try home.coffer("vault get s \(option)=\u{301}hunter2")
      #expect(answer.status == 64 && !answer.err.contains("hunter2"), "\(answer.err)")
    }
  }
}
