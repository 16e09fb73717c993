import Coffer
import CofferStorage
import CofferTesting
import Foundation
import Testing

/// The Swift of the page on `CofferTesting`, compiled and run.
@Suite struct TestingArticleTests {
  private typealias MyStore = MemoryStore<Vault>
  private let keys = AppKeys()

  @Test func `every Swift block of the page is here`() throws {
    func lines(_ url: URL) throws -> [String] {
      try String(contentsOf: url, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
        .map { $0.trimmingCharacters(in: .whitespaces) }
    }
    let file = URL(filePath: #filePath)
    let page = file.appending(path: "../../../Sources/Coffer/Coffer.docc/Modules/CofferTesting.md").standardized
    let compiled = try lines(file)
    let blocks = try lines(page).split(separator: "```swift").dropFirst().map { $0.prefix { $0 != "```" } }
    #expect(blocks.count == 5)
    for block in blocks {
      let isThere = compiled.indices.contains { compiled[$0...].starts(with: block) }
      #expect(isThere, "this block is not here: \(block.joined(separator: "\n"))")
    }
  }

  @Test func `the theme is kept`() throws {
    let home = try TestHome()
    let app = try home.open("com.example.app", keys: keys)
    try app.set(.dark, for: keys.theme)
    try app.set(Sealed("tok_123"), for: keys.token)
    #expect(try home.open("com.example.app", keys: keys).value(for: keys.theme) == .dark)
  }

  @Test func `a mock fails as the page says`() throws {
    let defaults = MockStore<Plain>()
    let app = try StorageRouter(plain: defaults, vault: MockStore<Vault>(), keys: keys)
    defaults.fail { call, name in call == .set ? StoreError(.noSpace, "the disk is full", key: name, cure: "free some") : nil }
    #expect(throws: StoreError.self) { try app.set(.dark, for: keys.theme) }
    #expect(defaults.values.isEmpty)
  }

  @Test func `a clock passes as the page says`() throws {
    struct Token: Codable { var expiry: Date }
    struct SessionKeys: KeySpace {
      let user = StorageKey("user", of: String.self).endsWithSession()
      let token = StorageKey("token", secret: Token.self).expires { $0.expiry }.endsWithSession()
    }
    let keys = SessionKeys()
    let app = try StorageRouter.inMemory(keys: keys)
    let clock = ManualClock()
    let session = try Session(app, user: keys.user, credential: keys.token, clock: clock.sessionClock)
    try session.login(as: "ada") { try $0.set(Sealed(Token(expiry: clock.now + 60)), for: keys.token) }
    clock.pass(.seconds(60))
    #expect(try session.state() == .expired)
  }

  @Test func `a disk fails as the page says`() throws {
    let home = try TestHome()
    let disk = FailingFileSystem()
    let store = try disk.openDefaults("com.example.app", in: home.places.defaults)
    try store.save(.integer(1), for: "launches")
    disk.fail(.synchronize, with: .noSpace)
    #expect(throws: StoreError.self) { try store.synchronize() }
    #expect(try store.load("launches") == .integer(1))
  }

  @Test(arguments: ConformanceCheck.allCases) func `my store conforms`(check: ConformanceCheck) async throws {
    try await StoreConformance<Vault>("MyStore") { MyStore() }.run(check)
  }
}
