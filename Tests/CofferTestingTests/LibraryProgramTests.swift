internal import Coffer
internal import CofferDefaults
internal import CofferMemory
internal import CofferObservation
internal import CofferStorage
internal import CofferValues
internal import CofferVault
internal import CofferTesting
internal import Foundation
internal import Testing

// A library that remembers the last time of an action, for each name from its users; and its tests.

struct ThrottleKeys: KeySpace {
  let last = StorageKeyFamily("throttle", of: Date.self)
}

struct Throttle {
  let app: StorageRouter
  let keys = ThrottleKeys()

  /// Whether `name` is due after `pause`. If so, it counts as done at `now`.
  func isDue(_ name: String, every pause: TimeInterval, now: Date) throws -> Bool {
    try app.transaction { tx in
      if let last = try tx.value(for: keys.last[name]), now.timeIntervalSince(last) < pause { return false }
      try tx.set(now, for: keys.last[name])
      return true
    }
  }

  func forget() throws { for name in try app.members(of: keys.last) { try app.remove(keys.last[name]) } }
}

@Suite struct LibraryProgramTests {
  private let noon = Date(timeIntervalSince1970: 1_800_000_000)

  @Test func `a throttled action is due once in its time, and names do not meet`() throws {
    let throttle = try Throttle(app: .inMemory(keys: ThrottleKeys()))
    #expect(try throttle.isDue("sync", every: 60, now: noon))
    #expect(try !throttle.isDue("sync", every: 60, now: noon + 59))
    #expect(try throttle.isDue("mail", every: 60, now: noon + 59))
    #expect(try throttle.isDue("sync", every: 60, now: noon + 60))
    try throttle.forget()
    #expect(try throttle.isDue("sync", every: 60, now: noon + 61))
  }

  @Test func `a store that fails is an error, and nothing counts as done`() throws {
    let store = MockStore<Plain>()
    let throttle = try Throttle(app: StorageRouter(plain: store, vault: MemoryStore<Vault>(), keys: ThrottleKeys()))
    store.fail { _, _ in StoreError(.noSpace, "the disk is full", cure: "free some space") }
    #expect(throws: StoreError.self) { try throttle.isDue("sync", every: 60, now: noon) }
    store.fail(nil)
    #expect(try throttle.isDue("sync", every: 60, now: noon))
  }
}
