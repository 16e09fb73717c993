import ArgumentParser
import CofferTestSupport
import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite struct HotWordTests {
  private static let names = [
    ["get"], ["vault", "get"], ["vault", "otp"], ["token"], ["helper", "git"], ["helper", "docker"],
    ["helper", "aws"], ["helper", "kubectl"], ["helper", "askpass"], ["helper", "cargo"],
    ["helper", "keyring"],
  ]
  private static let words = [
    "web", "ada", "get", "help", "coffer://web/ada", "a=b", "\u{301}x", "é", "", "-", "--", "-x", "-q", "--quiet", "--json",
    "--yes", "--no-agent", "--fresh", "--cargo-plugin", "--home", "--vault", "--field", "--domain", "--account", "--key-file",
    "--passphrase-file", "--home=d", "--clip", "--revision", "7", "--help", "--token",
  ]

  private func values(_ parsed: Any) -> [String: String] {
    var values: [String: String] = [:]
    for child in Mirror(reflecting: parsed).children {
      guard let name = child.label, let value = Mirror(reflecting: child.value).descendant("_parsedValue") else { continue }
      guard let set = Mirror(reflecting: value).children.first(where: { $0.label == "value" }) else {
        values[name] = "not set"
        continue
      }
      if set.value is any ParsableArguments {
        values.merge(self.values(set.value)) { $1 }
      } else {
        values[name] = "\(set.value)"
      }
    }
    return values
  }

  @Test func `a hot line is read as ArgumentParser reads it`() throws {
    var random = Random(seed: 1)
    var hot = 0
    for number in 0..<1_000 {
      let name = Self.names[number % Self.names.count]
      let words = name + (0..<Int.random(in: 0...4, using: &random)).compactMap { _ in Self.words.randomElement(using: &random) }
      let line = (["coffer"] + words).map { ByteWord($0) }
      guard let command = HotWords.command(line) else { continue }
      hot += 1
      let arguments = Arguments(line)
      #expect(arguments.refusal == nil && arguments.wantsJSON == command.options.json, "\(words)")
      let parsed = try Main.parse(arguments)
      #expect(type(of: parsed) == type(of: command), "\(words)")
      #expect(values(parsed) == values(command), "\(words)")
    }
    #expect(hot > 100)
  }

  @Test func `a helper's name is hot, and a word that is not text is not`() throws {
    func command(_ words: ByteWord...) -> (any HotCommand)? { HotWords.command(words) }
    #expect(command("/bin/git-credential-coffer", "get") is CredentialGitCommand)
    #expect(command("coffer-askpass", "-word?") is CredentialAskpassCommand)
    let notText = ([-1, 0] as [CChar]).withUnsafeBufferPointer { $0.baseAddress.map { ByteWord($0) } }
    #expect(try command("coffer", "get", #require(notText)) == nil)
  }
}
