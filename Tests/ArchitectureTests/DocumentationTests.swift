import Foundation
import Testing

@Suite struct DocumentationTests {
  private static let catalogue = Package.sources.appending(path: "Coffer/Coffer.docc")

  private static func article(_ name: String) throws -> String {
    try String(contentsOf: catalogue.appending(path: name), encoding: .utf8)
  }

  @Test func `the page on the architecture names every target`() throws {
    let manifest = try String(contentsOf: Package.root.appending(path: "Package.swift"), encoding: .utf8)
    let declaration = /\.(?:target|executableTarget|testTarget|systemLibrary)\(\s*name: "(\w+)"/
    let targets = Set(manifest.matches(of: declaration).map { String($0.1) })
    #expect(targets.isSuperset(of: ["Coffer", "CofferCLI", "CCofferSodium", "ArchitectureTests"]))
    let page = try Self.article("Architecture.md")
    for target in targets.sorted() where !page.contains("`\(target)`") { Issue.record("Architecture.md does not name \(target)") }
  }

  @Test func `the README says of each library what it is for`() throws {
    let manifest = try String(contentsOf: Package.root.appending(path: "Package.swift"), encoding: .utf8)
    let libraries = manifest.matches(of: /\.library\(name: "(\w+)"/).map { String($0.1) }
    #expect(libraries.count > 10)
    let readme = try String(contentsOf: Package.root.appending(path: "README.md"), encoding: .utf8)
    let rows = readme.split(separator: "\n").filter { $0.hasPrefix("| `Coffer") }
    for library in libraries where !rows.contains(where: { $0.contains("`\(library)`") }) {
      Issue.record("README.md does not name \(library)")
    }
  }

  @Test func `the landing page lists every article`() throws {
    let landing = try Self.article("Coffer.md")
    let topics = try #require(landing.components(separatedBy: "## Topics").last)
    let articles = try Package.entries(of: Self.catalogue).filter { $0.hasSuffix(".md") && $0 != "Coffer.md" }
    #expect(articles.count >= 11)
    for article in articles where !topics.contains("- <doc:\(article.dropLast(3))>\n") {
      Issue.record("\(article) is not in the Topics of Coffer.md")
    }
  }

  @Test func `every library has a page that says in a sentence what it is`() throws {
    let programs: Set = ["CofferBenchmarks", "CofferCLI", "CofferExample", "CofferFormats", "CofferTerminal"]
    for target in try Package.entries(of: Package.sources) where target.hasPrefix("Coffer") && !programs.contains(target) {
      let path = target == "Coffer" ? "Coffer.md" : "Modules/\(target).md"
      let page = try Self.article(path)
      #expect(page.hasPrefix("# ``\(target)``\n\n"), "\(path)")
    }
  }

  @Test(arguments: [
    "README.md", ".github/CONTRIBUTING.md", ".github/SECURITY.md",
    "Sources/Coffer/Coffer.docc/Architecture.md", "Sources/Coffer/Coffer.docc/AssuranceCase.md",
    "Sources/Coffer/Coffer.docc/Packages.md", "Sources/Coffer/Coffer.docc/Releases.md",
  ])
  func `every file that a page for contributors names is there`(page: String) throws {
    let text = try String(contentsOf: Package.root.appending(path: page), encoding: .utf8)
    for match in text.matches(of: /(?:Sources|Tests|Fixtures|\.ci|\.github)\/[\w\/.+-]*\w/) {
      let path = Package.root.appending(path: String(match.0)).path()
      #expect(FileManager.default.fileExists(atPath: path), "\(page) names \(match.0)")
    }
  }

  /// A time in the page on blocking, and its code: a change of one needs a look at the other.
  private static let times: [(said: String, file: String, kept: String)] = [
    ("| 80 ms for a list", "CofferDefaults/List/ListContent.swift", "attempts = 5"),
    ("| 80 ms for a list", "CofferDefaults/List/ListContent.swift", "pauseNanoseconds: UInt64 = 20_000_000"),
    ("| 5 s, then `.busy`", "CofferPlatform/FileLock.swift", "patience = Duration.seconds(5)"),
    ("| 30 s, then `.busy`", "CofferVaultRows/SQLite/Connection.swift", "busyMilliseconds: Int32 = 30_000"),
    ("30 s, then it goes on without its turn", "CofferVault/Engine/PassphraseTurn.swift", "patience = Duration.seconds(30)"),
    ("| 45 s;", "CofferClient/Socket/AgentLine.swift", "usualAnswerTime: Duration { .seconds(45) }"),
    ("unlocking 120 s", "CofferAgent/Client/AgentClient.swift", "unlockTime = Duration.seconds(120)"),
    ("a minute unless given", "Coffer/Session/Session+Refresh.swift", "longestRefresh: Duration { .seconds(60) }"),
  ]

  @Test func `the times of the page on blocking are those of the code`() throws {
    let page = try Self.article("Blocking.md")
    for (said, file, kept) in Self.times {
      let code = try String(contentsOf: Package.sources.appending(path: file), encoding: .utf8)
      #expect(page.contains(said) && code.contains(kept), "\(said): \(kept) in \(file)")
    }
  }

  @Test func `the assurance case has each promise of the threat model, and the suites that it names are there`() throws {
    let model = try Self.article("ThreatModel.md")
    let protected = try #require(model.components(separatedBy: "\n## ").first { $0.hasPrefix("Protected\n") })
    let promises = protected.matches(of: /(?m)^\*\*([^*]+)\*\*/).map { String($0.1) }
    let page = try Self.article("AssuranceCase.md")
    let argued = page.matches(of: /(?m)^\| ([^|]+) \| [^|]+ \| (`[^|]+`) \| [^|]+ \|$/)
    let text = { (promise: String) in promise.replacingOccurrences(of: "\n", with: " ") }
    #expect(promises.count >= 10 && argued.count > promises.count)
    for promise in promises where !argued.contains(where: { $0.1 == text(promise) }) {
      Issue.record("AssuranceCase.md does not argue for: \(promise)")
    }
    let tests = try Package.tests().map(\.text)
    for name in Set(page.matches(of: /`(\w+(?:Tests|Campaign))`/).map { String($0.1) }) {
      #expect(tests.contains { text in ["struct", "final class"].contains { text.contains("\($0) \(name) {") } }, "\(name)")
    }
  }
}
