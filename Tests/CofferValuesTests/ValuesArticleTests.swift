internal import CofferTestSupport
internal import Coffer
internal import CofferDefaults
internal import CofferMemory
internal import CofferObservation
internal import CofferStorage
internal import CofferVault
internal import CofferValues
internal import Foundation
internal import Testing

/// Every statement of the article on values is run here.
@Suite struct ValuesArticleTests {
  private func lines(_ path: String) throws -> [String] {
    try String(contentsOf: FiveSystemsTests.root.appending(path: path), encoding: .utf8)
      .split(separator: "\n", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
  }

  @Test func `every Swift block of the article is compiled here`() throws {
    let compiled = try lines("Tests/CofferValuesTests/ValuesArticleExamples.swift")
    var blocks: [[String]] = [], isInside = false
    for line in try lines("Sources/Coffer/Coffer.docc/Values.md") {
      if line == "```swift" {
        isInside = true
        blocks.append([])
      } else if line == "```" {
        isInside = false
      } else if isInside {
        blocks[blocks.count - 1].append(line)
      }
    }
    #expect(blocks.count == 14)
    for block in blocks {
      let isThere = compiled.indices.contains { compiled[$0...].starts(with: block) }
      #expect(isThere, "this block is not in ValuesArticleExamples.swift: \(block.joined(separator: "\n"))")
    }
  }

  @Test func `the examples do what the article says`() throws {
    let bench = try Bench()
    let old = try bench.defaults()
    try old.setValue("dark", forKey: "theme")
    try old.setValue([1024, 768], forKey: "window")
    let app = try bench.app(SettingsKeys())
    let told = Collected<String>(), screen = Screen()
    ValuesArticleExamples.report(app) { told.add("\($0)") }
    #expect(told.all == ["look: renamed(from: \"theme\")", "window: upgraded"])
    let user = try ValuesArticleExamples.handles(app, screen) { told.add("\($0)") }
    #expect(user == "u1" && told.all.count == 2)
    #expect(try old.load("opens") == .integer(1) && old.load("look") == .string("dark"))
    #expect(screen.widths.all == [1024])
    let editor = Editor(app: app)
    editor.look = .light
    #expect(try old.load("look") == .string("light"))
    let storage = try PersistentStorage(suiteName: Bench.domain, in: bench.places.defaults)
    storage.launches.value = 3
    #expect(try old.load("launches") == .integer(3))
  }

  @Test func `the examples of families and of access without try do what the article says`() throws {
    let bench = try Bench()
    let app = try StorageRouter(plain: bench.defaults(), vault: bench.vault, keys: ServerKeys(), MoreKeys())
    let (limit, customers) = try ValuesArticleExamples.members(app, "tok", of: "acme")
    #expect(try limit == 100 && customers == ["acme"] && bench.vault.names() == ["api/acme"])
    try ValuesArticleExamples.elements(app)
    #expect(try bench.defaults().load("look") == .string("dark") && bench.defaults().load("opens") == .integer(1))
    #expect(app[MoreKeys()].languages == ["en", "de"])
  }

  @MainActor @Test func `the examples of the main actor do what the article says`() async throws {
    let bench = try Bench(), editor = View(), display = Display()
    let app = try StorageRouter(plain: bench.defaults(), vault: bench.vault, keys: MoreKeys())
    try ValuesArticleExamples.onMain(app, editor)
    let look = try ValuesArticleExamples.model(app, display)
    #expect(look.value == .dark && display.looks.all == [.light] && display.marks.all == [true])
    try await poll("it comes to be") { editor.looks == [.light, .dark] }
    #expect(editor.looks == [.light, .dark])
  }

  @Test(.tags(.process), .defaultRun) func `the example of suites does what the article says`() async {
    await #expect(processExitsWith: .success) {
      let bench = try Bench()
      let home = bench.places.defaults.removingLastComponent().string
      setenv("COFFER_HOME", home, 1)
      #expect(try ValuesArticleExamples.suites().value(for: MoreKeys().languages) == ["en"])
      let shared = try bench.defaults("com.example.shared")
      try shared.set(["de", "fr"], for: MoreKeys().languages)
      #expect(try ValuesArticleExamples.suites().value(for: MoreKeys().languages) == ["de", "fr"])
      withExtendedLifetime(bench) {}
    }
  }
}
