import CofferTestSupport
import CofferPlatform
import CofferStorage
import Dispatch
import Testing

@Suite
struct NestedTransactionTests {
  struct Keys: KeySpace {
    let number = StorageKey("number", default: 0)
    let user = StorageKey("user", vaulted: String.self)
  }
  let keys = Keys()
  let router: StorageRouter

  init() throws { router = try .inMemory(keys: keys) }

  @Test func `a write through the router inside its transaction's closure is refused, and the transaction leaves nothing`() throws
  {
    let writes: [(StorageRouter) throws -> Void] = [
      { try $0.transaction { _ in } }, { try $0.set(50, for: keys.number) }, { try $0.update(keys.number) { $0 += 1 } },
      { try $0.remove(keys.number) }, { try $0.reset(keys.number) }, { try $0.set("anna", for: keys.user) },
    ]
    for write in writes {
      let error = try #require(throws: StoreError.self) {
        try router.transaction { transaction in
          try transaction.set(7, for: keys.number)
          try write(router)
        }
      }
      #expect(error.kind == .reentrant)
      #expect(try router.value(for: keys.number) == 0 && router.value(for: keys.user) == nil)
    }
  }

  @Test func `what is refused inside is allowed after it, also after one that threw`() throws {
    struct Refused: Error {}
    #expect(throws: Refused.self) { try router.transaction { _ in throw Refused() } }
    try router.set(1, for: keys.number)
    try router.transaction { transaction in
      do { try router.set(2, for: keys.number) } catch {}
      try transaction.set(3, for: keys.number)
    }
    #expect(try router.value(for: keys.number) == 3)
    try router.update(keys.number) { $0 += 1 }
    #expect(try router.value(for: keys.number) == 4)
  }

  @Test func `reads, other routers, other threads and tasks that it starts are no part of the closure`() async throws {
    let (other, keys, router) = (try StorageRouter.inMemory(keys: keys), keys, router)
    let task = try await router.transaction { transaction in
      #expect(try router.value(for: keys.number) == 0)
      try other.transaction { try $0.set(8, for: keys.number) }
      let thread = DispatchSemaphore(value: 0)
      DispatchQueue(label: "another").async {
        #expect(throws: Never.self) { try router.set("anna", for: keys.user) }
        thread.signal()
      }
      thread.wait()
      try transaction.set(1, for: keys.number)
      return Task { try router.set("berta", for: keys.user) }
    }
    try await task.value
    #expect(try router.value(for: keys.number) == 1)
    #expect(try await router.value(for: keys.user) == "berta")
    #expect(try other.value(for: keys.number) == 8)
  }
}
