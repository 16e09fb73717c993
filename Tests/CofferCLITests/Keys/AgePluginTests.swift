import CofferAgent
import CofferMemory
import CofferTerminal
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

/// Source: C2SP age-plugin; the program age.
@Suite(.tags(.process), .defaultRun)
struct AgePluginTests {
  private static let recipient = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
  private static let end = "-> done\n\n"

  private func plugin(_ home: Home, _ machine: String, _ input: String) throws -> (status: Int32, out: String) {
    let answer = try #require(try home.program(["age-plugin-coffer", "--age-plugin=\(machine)"], in: input))
    return (answer.status, answer.out)
  }

  private func file(_ home: Home, _ name: String) -> String { "\(home.path)/\(name)" }

  /// An identity of age-keygen, and the file of the same identity for the plugin.
  private func keys(_ home: Home) throws -> (recipient: String, plugin: String) {
    guard let made = try home.program(["age-keygen", "-o", file(home, "key.txt")]) else { try Test.skip(without: "age-keygen") }
    let line = try #require(try home.content("key.txt").split(separator: "\n").first { $0.hasPrefix("# public key: ") })
    #expect(made.status == 0)
    let recipient = String(line.dropFirst("# public key: ".count))
    return (recipient, try home.file("plugin.txt", "# \(recipient)\n\(AgePluginIdentity.text(of: recipient))\n"))
  }

  @Test
  func `an identity for age is its recipient, and nothing else is one`() throws {
    let text = try AgePluginIdentity.text(of: Self.recipient)
    #expect(text.hasPrefix("AGE-PLUGIN-COFFER-1"))
    #expect(try AgePluginIdentity.recipient(of: text) == Self.recipient)
    for wrong in ["", Self.recipient, text.lowercased(), text + "Q", "AGE-PLUGIN-OTHER-1QQQQ", String(text.dropLast())] {
      #expect(throws: Failure.self) { try AgePluginIdentity.recipient(of: wrong) }
    }
  }

  @Test
  func `a stanza that nobody knows is left out, and a wrong identity or recipient is reported to age`() throws {
    let home = try Home.withVault()
    try home.withHelpers()
    let grease = "-> grease-q! x\n\(String(repeating: "A", count: 64))\nAAAA\n"
    let wrong = try plugin(home, "identity-v1", "\(grease)-> add-identity AGE-PLUGIN-COFFER-1QQQQ\n\n\(Self.end)-> ok\n\n")
    #expect(wrong.status == 0 && wrong.out.hasPrefix("-> error identity 0\n") && wrong.out.hasSuffix(Self.end), "\(wrong)")
    let other = try plugin(
      home, "recipient-v1", "-> add-recipient age1coffer1qqqq\n\n-> wrap-file-key\nAAAAAAAAAAAAAAAAAAAAAA\n\(Self.end)-> ok\n\n")
    #expect(other.status == 0 && other.out.hasPrefix("-> error recipient 0\n") && other.out.hasSuffix(Self.end), "\(other)")
    #expect(try plugin(home, "identity-v1", Self.end).out == Self.end)
  }

  @Test
  func `text that is no stanza is an error in the protocol`() throws {
    let home = try Home.withVault()
    try home.withHelpers()
    for input in [
      "hello\n", "-> add-identity", "-> x\n\(String(repeating: "A", count: 64))\n", String(repeating: "x", count: 70_000),
    ] {
      let answer = try plugin(home, "identity-v1", input)
      #expect(answer.out.isEmpty || answer.out.hasPrefix("-> error internal\n") || answer.out == Self.end, "\(input.prefix(20))")
    }
  }

  @Test
  func `a malformed stanza of a known type is an error of its file`() throws {
    let home = try Home.withVault()
    try home.withHelpers()
    let identity = try AgePluginIdentity.text(of: Self.recipient)
    let answer = try plugin(
      home, "identity-v1",
      "-> add-identity \(identity)\n\n-> recipient-stanza 0 scrypt a b\nAAAA\n-> recipient-stanza 0 X25519 AAAA\nAAAA\n"
        + "\(Self.end)-> ok\n\n")
    #expect(answer.status == 0 && answer.out.hasPrefix("-> error stanza 0 1\n") && answer.out.hasSuffix(Self.end), "\(answer)")
  }

  @Test
  func `a share of low order and too many stanzas are errors of their file, and others are decrypted`() throws {
    let home = try Home.withVault()
    try home.withHelpers()
    let made = try #require(try home.program(["age-plugin-coffer", "new", "notes"])).out
    let recipient = String(made.dropFirst(2).prefix { $0 != "\n" })
    let key = try Array("YELLOW SUBMARINE".utf8).span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
    let (share, body) = try PublicHalf.wrap(key, for: recipient)
    func stanza(_ file: Int, _ share: [UInt8]) -> String {
      "-> recipient-stanza \(file) X25519 \(AgeStanzas.base64(share))\n\(AgeStanzas.base64(body))\n"
    }
    let many = (0...1000).map { _ in stanza(1, share) }.joined()
    let input = stanza(0, [UInt8](repeating: 0, count: 32)) + many + stanza(2, share)
    let identity = try #require(made.split(separator: "\n").last)
    let ends = String(repeating: "-> ok\n\n", count: 3)
    let answer = try plugin(home, "identity-v1", "-> add-identity \(identity)\n\n\(input)\(Self.end)\(ends)")
    let said = answer.out.split(separator: "\n").filter { $0.hasPrefix("-> ") }
    #expect(said == ["-> error stanza 0 0", "-> error stanza 1 1000", "-> file-key 2", "-> done"], "\(answer)")
  }

  @Test
  func `age encrypts to an identity of the plugin while the vault is locked`() throws {
    let home = try Home.withVault()
    try home.withHelpers()
    let (_, identity) = try keys(home)
    home.locked()
    let plain = try home.file("plain", "attack at dawn")
    let made = try #require(try home.program(["age", "-e", "-i", identity, "-o", file(home, "secret.age"), plain]))
    #expect(made.status == 0, "\(made.err)")
    let opened = try #require(try home.program(["age", "-d", "-i", file(home, "key.txt"), file(home, "secret.age")]))
    #expect(opened.out == "attack at dawn")
  }

  @Test
  func `age decrypts with an identity of the vault: a new one, and one of age-keygen`() throws {
    let home = try Home.withVault()
    try home.withHelpers()
    let (recipient, identity) = try keys(home)
    let added = try #require(try home.program(["age-plugin-coffer", "add", "old"], in: home.content("key.txt")))
    let expected = try home.content("plugin.txt")
    #expect(added.status == 0 && added.out == expected, "\(added.err)")
    let made = try #require(try home.program(["age-plugin-coffer", "new", "notes"]))
    #expect(made.status == 0 && made.out.hasPrefix("# age1"), "\(made.err)")
    let new = try home.file("new.txt", made.out)
    let newRecipient = String(made.out.dropFirst(2).prefix { $0 != "\n" })
    let plain = try home.file("plain", "attack at dawn")
    let stranger = try #require(try home.program(["age-keygen", "-o", file(home, "other.txt")])).err.split(separator: " ").last
    let other = stranger.map { String($0).trimmingCharacters(in: .newlines) } ?? ""
    for (to, by) in [(recipient, identity), (newRecipient, new)] {
      let sealed = file(home, "sealed.age")
      #expect(try home.program(["age", "-r", other, "-r", to, "-o", sealed, plain])?.status == 0)
      let opened = try #require(try home.program(["age", "-d", "-i", by, sealed]))
      #expect(opened.status == 0 && opened.out == "attack at dawn", "\(opened.err)")
    }
    #expect(try home.program(["age", "-r", other, "-o", file(home, "foreign.age"), plain])?.status == 0)
    let foreign = try #require(try home.program(["age", "-d", "-i", new, file(home, "foreign.age")]))
    #expect(foreign.status != 0 && foreign.err.contains("no identity matched"), "\(foreign.err)")
    let refused = try #require(try home.program(["coffer", "get", "notes"]))
    #expect(refused.status == 77 && refused.err.contains("--reveal"), "\(refused.err)")
  }

  @Test
  func `one call decrypts a thousand files`() throws {
    let home = try Home.withVault()
    try home.withHelpers()
    let (recipient, _) = try keys(home)
    let added = try #require(try home.program(["age-plugin-coffer", "add", "old"], in: home.content("key.txt")))
    #expect(added.status == 0, "\(added.err)")
    let plain = try home.file("plain", "x")
    #expect(try home.program(["age", "-r", recipient, "-o", file(home, "sealed.age"), plain])?.status == 0)
    let header = try Data(contentsOf: URL(fileURLWithPath: file(home, "sealed.age")))
    let lines = String(decoding: header.prefix(400), as: UTF8.self).split(separator: "\n").map(String.init)
    let words = try #require(lines.dropFirst().first).dropFirst(3)
    let body = try #require(lines.dropFirst(2).first)
    let identity = try #require(try home.content("plugin.txt").split(separator: "\n").last)
    var input = "-> add-identity \(identity)\n\n"
    for number in 0..<1000 { input += "-> recipient-stanza \(number) \(words)\n\(body)\n" }
    input += Self.end + String(repeating: "-> ok\n\n", count: 1000)
    let answer = try plugin(home, "identity-v1", input)
    #expect(answer.out.split(separator: "\n").count { $0.hasPrefix("-> file-key ") } == 1000, "\(answer.out.prefix(300))")
  }

  @Test
  func `a word too few or too many is a wrong command line`() throws {
    let home = try Home.withVault()
    for line in ["helper age", "helper age new", "helper age new a --age-plugin identity-v1", "helper age --age-plugin x"] {
      #expect(try home.coffer(line).status == 64, "\(line)")
    }
    try home.transcript("helper age add a", in: "# nothing\n", err: "there are 0 identities", exit: 64)
  }
}
