import CofferMemory
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferFormats

@Suite(.tags(.process), .defaultRun)
struct OneTimeCommandTests {
  private static let secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
  private static let uri = "otpauth://totp/GitHub:ada?secret=\(secret)&issuer=GitHub"

  private func home() throws -> Home {
    let home = try Home.withVault()
    try home.transcript("vault set github ada", in: "hunter2")
    return home
  }

  /// The current code, read before and after, since it may expire in between.
  private func isCode(_ shown: () throws -> String) throws -> Bool {
    let codes = { () throws -> String in
      let text = try Home.secret(Self.uri)
      let code = try OneTimeURI.read(text).code(at: Date())
      return code.text.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
    let before = try codes()
    let found = try shown()
    return try [before, codes()].contains(found)
  }

  @Test(arguments: [uri, secret, "gezd gnbv gy3t qojq gezd gnbv gy3t qojq"])
  func `a secret is stored from standard input, and its code printed to the byte`(text: String) throws {
    let home = try home()
    try home.transcript("vault otp github ada --set", in: text + "\n")
    #expect(try isCode { try home.coffer("vault otp github").out })
    let json = try home.coffer("vault otp github --json").bytes
    let fields = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
    #expect(fields.keys.sorted() == ["account", "code", "secondsLeft", "service"] && fields["account"] as? String == "ada")
    #expect((1...30).contains(fields["secondsLeft"] as? Int ?? 0))
    try home.transcript("vault get github ada", out: "hunter2")
    try home.transcript("vault rename github --to-account eve")
    #expect(try isCode { try home.coffer("vault totp github eve").out })
  }

  @Test func `through the agent, and to the clipboard`() throws {
    let fake = try FakeClipboard()
    let home = fake.home
    try home.transcript("vault otp github --set", in: Self.uri)
    try home.transcript("unlock --quiet")
    defer { _ = try? home.coffer("agent stop") }
    home.locked()
    #expect(try isCode { try home.coffer("vault otp github").out })
    try home.transcript("vault otp github -c --clear-after 0", err: "copied the code of github/ada with xclip")
    #expect(fake.content.wholeMatch(of: /[0-9]{6}/) != nil)
    let (second, third) = try (answer(home), answer(home))
    #expect(second.replacing("\"revision\":2", with: "\"revision\":3") == third && second != third)
  }

  private func answer(_ home: Home) throws -> String {
    let answer = try home.coffer("vault otp github --set --json", in: Data(Self.secret.utf8))
    #expect(answer.status == 0 && answer.err == "")
    return answer.out.replacing(/"(modified|written)":"[^"]*"/, with: "")
  }

  @Test func `a terminal is asked without echo, and shown a bar of the seconds left`() throws {
    let home = try home()
    home.environment.merge(["LC_ALL": "C", "TERM": "dumb"]) { $1 }
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("vault otp github --set", in: home)
    terminal.shows("otpauth:// URI, or secret, of github/ada: ")
    #expect(!terminal.echoes)
    terminal.type(Self.uri + "\n")
    terminal.shows("stored the one-time code of 'github/ada'")
    #expect(try child.wait() == 0)
    #expect(!terminal.shown.contains("GEZD"))
    let second = try PseudoTerminal()
    let replacing = try second.coffer("vault otp github --set", in: home)
    second.shows("github/ada: ")
    second.type(Self.secret + "\n")
    second.shows("replaced the one-time code of 'github/ada'; coffer revert github/ada 1 --field otpauth")
    #expect(try replacing.wait() == 0)
    let another = try PseudoTerminal()
    let shown = try another.coffer("vault otp github", in: home)
    another.showsAll()
    #expect(try shown.wait() == 0)
    #expect(another.shown.wholeMatch(of: /[0-9]{6}  #*-* [0-9]+ s\r\n/) != nil, "\(another.shown)")
  }

  @Test(arguments: [
    ("otpauth://hotp/x?secret=CANARYCANARYCANA&counter=0", "follows a counter (hotp)", 77),
    ("otpauth://totp/x?secret=CANARY1CANARY", "its secret is not Base32", 65),
    ("canary it is", "it is shorter than 80 bits", 65), ("otpauth://totp/x?secret=CANARYCA", "shorter than 80 bits", 65),
    ("CANARY!", "neither an otpauth:// URI nor Base32", 65),
    ("otpauth://totp/x?secret=CANARYCANARYCANA&digits=99", "its digits are not 6, 7 or 8", 65),
    ("otpauth://totp/x?secret=CANARYCANARYCANA&algorithm=CANARY", "its algorithm is not", 65), ("\n", "neither", 65),
  ])
  func `what makes no codes is refused, not stored and not repeated`(text: String, message: String, status: Int32) throws {
    let home = try home()
    let answer = try home.coffer("vault otp github --set", in: Data(text.utf8))
    #expect(answer.status == status && answer.err.contains(message) && !answer.err.contains("CANARY"), "\(answer.err)")
    try home.transcript(
      "vault otp github", err: "the item has no one-time code\n  try: coffer otp github/ada --set stores it", exit: 1)
  }

  @Test(arguments: ["github \(secret)", secret, "github '\(uri)'", "'\(uri)' --set", "github/\(secret) --json"])
  func `a secret given as a name is not repeated`(words: String) throws {
    let answer = try home().coffer("otp \(words)", in: Data(Self.uri.utf8))
    #expect(answer.status == 1 && answer.err.contains("coffer otp NAME --set") && !answer.err.contains(Self.secret), "\(answer)")
  }

  @Test func `without an item there is nothing to store it in`() throws {
    let home = try home()
    try home.transcript("vault otp nobody --set", in: Self.uri, err: "no item with this name", exit: 1)
    try home.transcript("vault otp github --set -c", in: Self.uri, err: "give --set or --clip, not both", exit: 64)
    try home.transcript(
      "vault otp github --set --passphrase-file -", in: Self.uri, err: "cannot both come from standard input", exit: 64)
    #expect(try home.coffer("vault otp github --set", in: Data(repeating: 0x41, count: 5000)).status == 64)
  }
}
