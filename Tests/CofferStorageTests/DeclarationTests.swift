import CofferTestSupport
import CofferStorage
import Testing

@Suite struct DeclarationTests {
  struct First: KeySpace { let theme = StorageKey("theme", default: 1) }
  struct Second: KeySpace { let theme = StorageKey("theme", default: "x") }

  @Test func `two keys of one name are reported at open with both places`() throws {
    let error = try expect(.duplicateKey) { _ = try StorageRouter.inMemory(keys: First(), Second()) }
    #expect(error.key == "theme")
    #expect(error.what.contains(First().theme.site.description))
    #expect(error.what.contains(Second().theme.site.description))
    #expect(First().theme.site != Second().theme.site)
  }

  @Test func `a key whose space was not given is refused with its place`() throws {
    let app = try StorageRouter.inMemory(keys: First())
    let stray = StorageKey("stray", default: 1)
    for call in [{ _ = try app.value(for: stray) }, { try app.set(2, for: stray) }, { try app.remove(stray) }] {
      let error = try expect(.undeclared, at: #_sourceLocation) { try call() }
      #expect(error.what.contains(stray.site.description))
    }
    try expect(.undeclared) { _ = try app.value(for: Second().theme) }
    try expect(.undeclared) { try app.transaction { tx in try tx.set(2, for: stray) } }
    try expect(.undeclared) { _ = try app.values(First().theme, stray) }
  }

  @Test func `two routers may share one key space`() throws {
    let keys = First()
    let one = try StorageRouter.inMemory(keys: keys)
    let two = try StorageRouter.inMemory(keys: keys)
    try one.set(5, for: keys.theme)
    #expect(try two.value(for: keys.theme) == 1)
    #expect(try one.value(for: First().theme) == 5)
  }

  @Test(arguments: ["", String(repeating: "n", count: 1025), "line\nbreak", "esc\u{1b}[31m", "nul\0", "c1\u{85}"])
  func `a name that is empty, over-long or has a control character is refused at open`(name: String) throws {
    let key = StorageKey(name, default: 1)
    let error = try expect(.invalidName) { _ = try StorageRouter.inMemory(keys: Space(key)) }
    #expect(error.what.contains(key.site.description))
    #expect(!error.description.contains("\u{1b}"))
  }

  @Test func `the longest allowed name works`() throws {
    let key = StorageKey(String(repeating: "n", count: 1024), default: 1)
    let app = try StorageRouter.inMemory(keys: Space(key))
    try app.set(2, for: key)
    #expect(try app.value(for: key) == 2)
  }
}
