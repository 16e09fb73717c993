import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

/// The whole command tree, as the program itself reports it.
@Suite(.tags(.process), .defaultRun)
struct ContractTests {
  private struct Tool: Decodable { let command: Info }
  private struct Info: Decodable {
    let commandName: String, abstract: String?, shouldDisplay: Bool
    let subcommands: [Info]?, arguments: [Argument]?
  }
  private struct Argument: Decodable {
    let shouldDisplay: Bool, abstract: String?, valueName: String?
    let names: [Name]?
    struct Name: Decodable { let kind: String, name: String }
  }

  private func leaves() throws -> [(path: String, info: Info)] {
    let answer = try Home().coffer("--experimental-dump-help")
    let tree = try JSONDecoder().decode(Tool.self, from: answer.bytes).command
    func walk(_ info: Info, _ path: [String]) -> [(String, Info)] {
      let next = (info.subcommands ?? []).filter { $0.commandName != "help" && $0.shouldDisplay }
      guard !next.isEmpty else { return [(path.joined(separator: " "), info)] }
      return next.flatMap { walk($0, path + [$0.commandName]) }
    }
    return walk(tree, [])
  }

  private func names(_ info: Info) -> Set<String> {
    Set(
      (info.arguments ?? []).filter(\.shouldDisplay).flatMap {
        ($0.names ?? []).map { ($0.kind == "long" ? "--" : "-") + $0.name }
      })
  }

  /// The options of every command.
  private static let common: Set = ["--home", "--vault", "--quiet", "-q", "--yes", "--help", "-h", "--version"]
  /// The options of a command that opens the vault with a secret; the pages call them "unlocking".
  private static let unlocking: Set = [
    "--passphrase-fd", "--passphrase-file", "--key-file", "--recovery-file", "--identity", "--invitation", "--min-generation",
    "--no-agent",
  ]

  @Test
  func `every command has the options that its page lists, and no other command is there`() throws {
    let leaves = try leaves()
    var listed: [String: Set<String>] = [:]
    for row in try CommandLineArticle.table("Commands") {
      let words = row[0].split(separator: " ").dropFirst()
      let paths = leaves.map(\.path).filter { path in words.starts(with: path.split(separator: " ")) }
      let path = try #require(paths.max { $0.count < $1.count }, "\(row[0])")
      #expect(listed.updateValue(Set(row[2].split(separator: " ").map(String.init)), forKey: path) == nil, "\(row[0])")
    }
    #expect(listed.keys.sorted() == leaves.map(\.path).sorted())
    for (path, info) in leaves {
      let names = names(info)
      var own = names.subtracting(Self.common)
      if names.isSuperset(of: Self.unlocking) { own = own.subtracting(Self.unlocking).union(["unlocking"]) }
      #expect(listed[path] == own, "coffer \(path)")
      #expect(names.isSuperset(of: ["--home", "--vault", "--quiet", "-q", "--yes", "--help"]), "coffer \(path)")
    }
  }

  @Test
  func `help says what each command and each option is for, in a sentence`() throws {
    for (path, info) in try leaves() {
      let abstract = info.abstract ?? ""
      #expect(abstract.first?.isUppercase == true && abstract.hasSuffix("."), "coffer \(path): \(abstract)")
      for argument in info.arguments ?? [] where argument.shouldDisplay {
        let words = argument.abstract ?? ""
        let sentence = (words.range(of: " [default: ").map { String(words[..<$0.lowerBound]) }) ?? words
        #expect(!sentence.isEmpty && sentence.hasSuffix("."), "coffer \(path) \(argument.valueName ?? ""): \(words)")
      }
    }
  }

  @Test
  func `the pages about the command line tell what each command answers in JSON`() throws {
    let json = try CommandLineArticle.sections("JSON").joined(separator: "\n").replacing("coffer ", with: "")
    for (path, info) in try leaves() {
      guard names(info).contains("--json") else { continue }
      let isTold = json.contains("`\(path) ") || json.contains("`\(path)`")
      #expect(isTold, "what coffer \(path) --json answers")
    }
  }
}
