import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

/// The whole tree of commands, as the program itself tells it.
@Suite(.tags(.process), .wholeRun)
struct ContractTests {
  /// What `--experimental-dump-help` says, as far as it matters here.
  private struct Tool: Decodable { let command: Info }
  private struct Info: Decodable {
    let commandName: String, abstract: String?
    let subcommands: [Info]?, arguments: [Argument]?
  }
  private struct Argument: Decodable {
    let shouldDisplay: Bool, abstract: String?, valueName: String?
    let names: [Name]?
    struct Name: Decodable { let kind: String, name: String }
  }

  /// Every command that does something, by its words after `coffer`.
  private func leaves() throws -> [(path: String, info: Info)] {
    let answer = try Home().coffer("--experimental-dump-help")
    let tree = try JSONDecoder().decode(Tool.self, from: answer.bytes).command
    func walk(_ info: Info, _ path: [String]) -> [(String, Info)] {
      let next = (info.subcommands ?? []).filter { $0.commandName != "help" }
      guard !next.isEmpty else { return [(path.joined(separator: " "), info)] }
      return next.flatMap { walk($0, path + [$0.commandName]) }
    }
    return walk(tree, [])
  }

  private func names(_ info: Info) -> Swift.Set<String> {
    Swift.Set((info.arguments ?? []).flatMap { ($0.names ?? []).map { ($0.kind == "long" ? "--" : "-") + $0.name } })
  }

  /// What each command must take, beside `--home`, `--quiet`, `--yes` and `--help`.
  private static let options: [String: String] = [
    "tour": "", "init": "--new-key-file --recovery-code --json", "status": "--json",
    "set": "--domain --secret --plain --bool --int --float --string --date --data --json --generate --length --words --file --fd "
      + "--stdin --exact",
    "get": "--domain --json", "delete": "--domain", "list": "--domain --json", "explain": "--domain --json", "watch": "--json",
    "vault init": "--new-key-file --recovery-code --json --new-passphrase-fd --new-passphrase-file --label",
    "vault set": "--label --attribute --expires --generate --length --words --file --fd --exact --create",
    "vault get": "--field --json", "vault show": "--reveal --json", "vault list": "--json", "vault find": "--json",
    "vault delete": "", "vault rename": "--to-service --to-account --replace",
    "vault copy": "--to-service --to-account --replace",
    "vault edit": "--exact", "vault status": "--json", "vault verify": "--json", "vault repair": "--rebuild --older-key --json",
    "vault rotate": "--only --json", "vault passphrase": "--keep-key --slot --json", "vault slot list": "--json",
    "vault slot add": "--new-key-file --recovery-code --recipient --label --json", "vault slot remove": "--json",
    "vault slot label": "", "vault pin show": "--json", "vault pin accept": "--json", "vault backup": "--json",
    "vault restore": "--force --json", "vault export": "--reveal --references --service --format --json",
    "vault import": "--from --service --on-duplicate --dry-run --first-line --json", "vault log": "--limit --json",
    "vault identity new": "--json", "vault identity show": "--json", "defaults read": "--json", "defaults read-type": "--json",
    "defaults write": "", "defaults delete": "", "defaults rename": "", "defaults domains": "--json", "defaults find": "--json",
    "defaults export": "", "defaults import": "--dry-run --on-duplicate --json", "defaults watch": "--json",
    "defaults explain": "--json", "auth login": "--account --with-token --expires", "auth logout": "--account --all",
    "auth status": "--json", "auth token": "--account", "auth switch": "--account", "login": "--account --with-token",
    "logout": "--account --all", "run": "--env --env-file --fd --file --mask", "inject": "--input --output -i -o",
    "agent start": "--foreground --idle --lifetime --json", "agent status": "--json", "agent stop": "",
    "agent install": "--print --force", "unlock": "--idle --lifetime --json", "lock": "", "credential git": "",
    "credential docker": "", "generate": "--length --words --classes --separator --no-look-alikes --json",
    "doctor": "--json", "install": "--prefix --force --json", "completion": "", "env": "--json",
  ]
  /// Commands that open no vault with a secret.
  private static let withoutSecret: Swift.Set = [
    "tour", "status", "lock", "agent start", "agent status", "agent stop", "agent install", "generate", "doctor", "install",
    "completion", "env", "vault pin show", "vault backup", "vault identity new", "vault identity show",
  ]

  @Test
  func `every command has its options, and those of all commands, and no other command is there`() throws {
    let leaves = try leaves()
    #expect(leaves.map(\.path).sorted() == Self.options.keys.sorted())
    for (path, info) in leaves {
      let names = names(info)
      let wanted =
        (Self.options[path] ?? "").split(separator: " ").map(String.init) + ["--home", "--quiet", "-q", "--yes", "--help"]
      #expect(names.isSuperset(of: wanted), "coffer \(path) lacks \(Swift.Set(wanted).subtracting(names).sorted())")
      guard !Self.withoutSecret.contains(path), !path.hasPrefix("defaults ") else { continue }
      let unlocking = ["--passphrase-fd", "--passphrase-file", "--key-file", "--recovery-file", "--identity", "--no-agent"]
      #expect(names.isSuperset(of: unlocking), "coffer \(path)")
    }
  }

  @Test
  func `help says what each command and each option is for, in a sentence`() throws {
    for (path, info) in try leaves() {
      let abstract = info.abstract ?? ""
      #expect(abstract.first?.isUppercase == true && abstract.hasSuffix("."), "coffer \(path): \(abstract)")
      for argument in info.arguments ?? [] where argument.shouldDisplay {
        let words = argument.abstract ?? ""
        #expect(!words.isEmpty && words.hasSuffix("."), "coffer \(path) \(argument.valueName ?? ""): \(words)")
      }
    }
  }

  @Test
  func `the article about the command line tells every command, and what each answers in JSON`() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let article = try String(contentsOf: root.appending(path: "Sources/Coffer/Coffer.docc/CommandLine.md"), encoding: .utf8)
    let json = try #require(article.split(separator: "## JSON").last?.split(separator: "\n## ").first).replacing(
      "coffer ", with: "")
    for (path, info) in try leaves() {
      #expect(article.contains("| `coffer \(path)"), "coffer \(path)")
      guard names(info).contains("--json"), path != "set" else { continue }
      let isTold = json.contains("`\(path) ") || json.contains("`\(path)`")
      #expect(isTold, "what coffer \(path) --json answers")
    }
  }
}
