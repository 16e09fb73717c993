import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.process), .defaultRun)
struct ExampleTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
  private static let program = URL(filePath: Home.coffer).deletingLastPathComponent().path() + "CofferExample"

  private static func read(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  @Test
  func `the page shows the program as it is, in fewer than a hundred lines`() throws {
    let source = try Self.read("Sources/CofferExample/Example.swift")
    #expect(source.split(separator: "\n", omittingEmptySubsequences: false).count <= 100)
    #expect(try Self.read("Sources/Coffer/Coffer.docc/ExampleProgram.md").contains("```swift\n\(source)```"))
  }

  @Test
  func `what the page shows is what happens`() throws {
    let home = try Home()
    let page = try Self.read("Sources/Coffer/Coffer.docc/ExampleProgram.md").components(separatedBy: "\n")
    let block = page.drop { $0 != "```console" }.dropFirst().prefix { $0 != "```" }
    var commands: [(line: String, rest: [String])] = []
    for line in block {
      if line.hasPrefix("$ ") {
        commands.append((String(line.dropFirst(2)), []))
      } else {
        commands[commands.count - 1].rest.append(line)
      }
    }
    #expect(commands.count == 10)
    home.environment["HOME"] = home.path
    home.environment["COFFER_KEY_FILE"] = nil
    for (line, rest) in commands {
      if line.hasPrefix("export ") {
        home.environment["COFFER_KEY_FILE"] = home.path + "/client.key"
        continue
      }
      // The typed text after `login` is the token.
      let typed = line.contains(" login ") ? rest.first : nil
      let (name, words) = (line.prefix { $0 != " " }, line.drop { $0 != " " })
      let command = name == "coffer" ? "'\(Home.coffer)' --quiet\(words)" : "'\(Self.program)'\(words)"
      let shown = try home.shell(typed.map { "printf '%s\\n' \($0) | \(command)" } ?? command)
      let expected = rest.dropFirst(typed == nil ? 0 : 1).map { $0 + "\n" }.joined()
      #expect(shown == expected || shown + "\n" == expected, "\(line)")
    }
  }

  @Test
  func `without a key file preferences work, and whoever asks for a secret is told what to do`() throws {
    let home = try Home.withVault()
    let run = "'\(Self.program)'"
    #expect(try home.shell("echo tok | \(run) login ada; \(run) whoami; \(run) theme dark") == "hello, ada\nada\n")
    home.locked()
    #expect(try home.shell("\(run) theme; \(run) whoami") == "dark\nlocked: set COFFER_KEY_FILE\n")
    #expect(try home.shell("\(run) token").contains("the vault is locked"))
    #expect(try home.shell("\(run) theme blue") == "there are light and dark\n")
  }

  @Test
  func `the token is nowhere in the clear`() throws {
    let home = try Home.withVault()
    #expect(try home.shell("echo tok-in-the-clear | '\(Self.program)' login ada") == "hello, ada\n")
    #expect(try home.shell("grep -srlaF tok-in-the-clear \(home.path)/data \(home.path)/config; true").isEmpty)
  }
}
