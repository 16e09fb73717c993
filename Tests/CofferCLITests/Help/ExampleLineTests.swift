import ArgumentParser
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite(.tags(.process), .defaultRun)
struct ExampleLineTests {
  @Test
  func `every command has an example, and every example is of a command`() throws {
    let root = try CommandDefinition([], CofferCommand.self)
    var paths: Set<String> = [""]
    func walk(_ type: any ParsableCommand.Type, _ names: [String]) {
      for next in type.configuration.subcommands where next.configuration.shouldDisplay {
        let path = names + [next.configuration.commandName ?? ""]
        paths.insert(path.joined(separator: " "))
        walk(next, path)
      }
    }
    walk(root.type, [])
    #expect(paths.subtracting(Example.all.keys).isEmpty && Set(Example.all.keys).subtracting(paths).isEmpty)
  }

  @Test
  func `the parser of its command takes each example`() throws {
    for (path, examples) in Example.all {
      let lines = examples.compactMap { Self.words($0.line) }
      #expect(!lines.isEmpty, "coffer \(path)")
      #expect(examples.allSatisfy { $0.line.count <= 94 && $0.purpose.count <= 74 }, "coffer \(path)")
      for line in lines {
        let arguments = Arguments((["coffer"] + line).map { ByteWord($0) })
        let command = try arguments.command.parseAsRoot(Array(arguments.rest))
        #expect(command is any Command, "\(line)")
        let own = path.split(separator: " ").map(String.init)
        #expect(line.starts(with: own), "\(line) is no example of coffer \(path)")
      }
    }
  }

  @Test
  func `examples that need nothing but a vault work in one`() throws {
    let home = try Home.withVault()
    home.environment["HOME"] = home.path
    for line in ["github.com ada", "github.com ada", "bank ann", "bank ann --field pin", "work mail"] {
      try home.transcript("vault set \(line)", in: "tok")
    }
    try home.transcript("login git.example --with-token -q", in: "tok")
    let token = try home.file("token.txt", "t")
    let ran = [
      "set", "get", "history", "revert", "copy", "edit", "rename", "delete", "undelete", "list", "vault prune", "vault use",
      "export", "vault audit", "unlock", "status", "defaults", "defaults write", "defaults read", "defaults read-type",
      "defaults find", "defaults domains", "defaults rename", "show", "find", "vault", "vault verify", "vault log", "vault slot",
      "vault slot list", "vault pin", "vault pin show", "backup", "generate", "completion", "provider add", "provider list",
      "provider remove", "version", "lock",
    ]
    var count = 0
    for path in ran {
      for example in Example.of(path) {
        // Interactive examples, and those that need another program or a larger vault.
        guard example.line.hasPrefix("coffer "),
          !["typed", "editor", "secret of its own"].contains(where: example.purpose.contains),
          !["|", "env=prod", "ada-old", "--clip", "--forever", "--field pin", "--to-vault"].contains(where: example.line.contains)
        else { continue }
        let line = try #require(Self.words(example.line)).map { $0.isEmpty || $0.contains(" ") ? "'\($0)'" : $0 }
        // The shell puts the home folder in the place of ~.
        let words = line.map { $0 == "token.txt" ? token : $0.replacing(/^~/, with: home.path) }
        let answer = try home.coffer(words.joined(separator: " "))
        #expect(answer.status == 0 || path == "vault audit" && answer.status == 2, "\(example.line): \(answer.err)")
        count += 1
      }
    }
    print("examples that ran: \(count)")
    #expect(count > 40)
  }

  /// The words of the first call of coffer in a shell line; nil if it is only named.
  static func words(_ line: String) -> [String]? {
    guard let start = line.range(of: "coffer ") else { return nil }
    var rest = line[start.upperBound...]
    if line[..<start.lowerBound].hasSuffix("(") { rest = rest.prefix { $0 != ")" } }
    let words = Home.words(String(rest))
    return Array(words.prefix { $0 != "|" })
  }
}
