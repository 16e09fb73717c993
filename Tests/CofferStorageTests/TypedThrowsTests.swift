import CofferPlatform
import CofferStorage
import Testing

@Suite struct TypedThrowsTests {
  struct Keys: KeySpace {
    let number = StorageKey("number", default: 0)
    let short = StorageKey("short", default: "").limited(toBytes: 4)
  }

  @Test func `an update and a transaction whose closures throw nothing else throw a StoreError`() throws {
    let keys = Keys(), app = try StorageRouter.inMemory(keys: keys)
    func change() throws(StoreError) -> Int {
      try app.update(keys.number) { $0 += 1 }
      try app.plain.update(keys.number) { $0 += 1 }
      return try app.transaction { (transaction) throws(StoreError) in
        try transaction.update(keys.number) { $0 += 1 }
        try transaction.set("too long", for: keys.short)
        return try transaction.value(for: keys.number)
      }
    }
    do { _ = try change() } catch { #expect(error.kind == .tooLarge(limit: 4)) }
    do { try app.update(keys.short) { $0 = "too long" } } catch { #expect(error.kind == .tooLarge(limit: 4)) }
    #expect(try app.value(for: keys.number) == 2 && app.value(for: keys.short) == "")
  }
}
