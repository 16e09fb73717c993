import CofferPlatform
import CofferStorage
import Foundation
import Synchronization
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

@Suite struct VaultObservationTests {
  final class Heard: Sendable {
    private let events = Mutex<[ChangeFeed.Event]>([])
    private let subscription = Mutex<Subscription?>(nil)

    init(_ feed: ChangeFeed) throws {
      let new = try feed.subscribe { [weak self] event in self?.events.withLock { $0.append(event) } }
      subscription.withLock { $0 = new }
    }

    var all: [ChangeFeed.Event] { events.withLock { $0 } }
    var changes: [CofferStorage.Change] {
      all.flatMap { event -> [CofferStorage.Change] in if case .changes(let changes) = event { changes } else { [] } }
    }

    func wait(_ condition: (Heard) -> Bool) -> Bool {
      let deadline = Date() + 120
      while !condition(self) {
        if Date() > deadline { return false }
        usleep(1000)
      }
      return true
    }
  }

  @Test func `own commits are told in order, and a removal of nothing is none`() throws {
    let place = try TemporaryVault()
    let store = try VaultStore(service: "svc", vault: place.create())
    let heard = try Heard(store.changes)
    try store.save(form("1"), for: "a")
    try store.save(nil, for: "absent")
    try store.update("b") { (_) throws(StoreError) in
      do { return try form("2") } catch { return nil }
    }
    try store.save(nil, for: "a")
    #expect(heard.wait { $0.changes.count == 3 })
    usleep(100_000)  // No event: nothing more is told.
    #expect(
      heard.changes == [
        CofferStorage.Change("a", .set, by: .thisProcess), CofferStorage.Change("b", .set, by: .thisProcess),
        CofferStorage.Change("a", .removed, by: .thisProcess),
      ])
  }

  @Test func `others' commits to the service are told by name`() throws {
    let place = try TemporaryVault()
    let store = try VaultStore(service: "svc", vault: place.create())
    try store.save(form("1"), for: "a")
    try store.save(form("1"), for: "b")
    let other = try VaultStore(service: "svc", vault: place.unlock())
    let stranger = try VaultStore(service: "other", vault: place.unlock())
    let heard = try Heard(store.changes)
    try stranger.save(form("1"), for: "x")
    try other.save(form("2"), for: "b")
    #expect(heard.wait { $0.changes.count == 1 })
    try other.save(nil, for: "a")
    #expect(heard.wait { $0.changes.count == 2 })
    try store.save(form("3"), for: "c")
    try other.save(form("3"), for: "d")
    #expect(heard.wait { $0.changes.count == 4 })
    #expect(
      heard.changes == [
        CofferStorage.Change("b", .set, by: .otherProcess(id: nil)),
        CofferStorage.Change("a", .removed, by: .otherProcess(id: nil)),
        CofferStorage.Change("c", .set, by: .thisProcess), CofferStorage.Change("d", .set, by: .otherProcess(id: nil)),
      ])
  }

  @Test func `a commit is told that is made while another one is being found`() throws {
    let place = try TemporaryVault()
    let store = try VaultStore(service: "svc", vault: place.create())
    let other = try VaultStore(service: "svc", vault: place.unlock())
    let stranger = try VaultStore(service: "other", vault: place.unlock())
    let heard = try Heard(store.changes)
    for round in 1...150 {
      try stranger.save(form("\(round)"), for: "x")
      // Before, after, or during the check of the first.
      if round.isMultiple(of: 2) { usleep(UInt32.random(in: 0...2000)) }  // No event: any moment.
      try other.save(form("\(round)"), for: "b")
      try #require(heard.wait { $0.changes.count == round }, "round \(round)")
    }
  }

  @Test func `a commit between an unlock that was told and the look after it is told`() throws {
    let place = try TemporaryVault()
    let store = try VaultStore(service: "svc", vault: place.create())
    let other = try VaultStore(service: "svc", vault: place.unlock())
    let heard = try Heard(store.changes)
    func accesses(_ heard: Heard) -> Int { heard.all.count { $0 == .access } }
    store.observation.queue.suspend()
    do {
      defer { store.observation.queue.resume() }
      try store.lock()
      try store.unlock(with: TemporaryVault.credentials())
      #expect(heard.wait { accesses($0) == 2 }, "locked and unlocked")
      #expect(text(try store.load("a")) == nil)
      try other.save(form("new"), for: "a")
    }
    #expect(heard.wait { accesses($0) > 2 || !$0.changes.isEmpty })
    #expect(text(try store.load("a")) == "new")
  }

  struct Keys: KeySpace {
    let token = StorageKey("token", secret: String.self)
  }

  @Test func `a sequence goes on over locking and unlocking`() async throws {
    let place = try TemporaryVault(), keys = Keys()
    let store = try VaultStore(service: "svc", vault: place.create())
    let router = try StorageRouter(plain: MemoryStore<Plain>(), vault: store, keys: keys)
    var values = try router.changes(of: keys.token).makeAsyncIterator()
    #expect(try await values.next()?.get() == nil)
    try await router.set(Sealed("secret"), for: keys.token)
    let set = try await values.next()?.get()
    #expect(try set?.reveal() == "secret")
    try await store.lock()
    guard case .failure(let error)? = await values.next() else {
      Issue.record("readable while locked")
      return
    }
    #expect(error.kind == .locked)
    try await store.unlock(with: TemporaryVault.credentials())
    let again = try await values.next()?.get()
    #expect(try again?.reveal() == "secret")
    let other = try VaultStore(service: "svc", vault: place.unlock())
    try other.save(nil, for: "token")
    let removed = await values.next()
    guard case .success(let nothing)? = removed else {
      Issue.record("the removal was not told")
      return
    }
    #expect(nothing == nil)
  }

  @Test func `a call from inside an update closure is refused while observed too`() throws {
    let place = try TemporaryVault()
    let store = try VaultStore(service: "svc", vault: place.create())
    let heard = try Heard(store.changes)
    var inner: StoreError.Kind?
    try store.update("a") { (_) throws(StoreError) in
      do throws(StoreError) { try store.save(nil, for: "b") } catch { inner = error.kind }
      return nil
    }
    #expect(inner == .reentrant)
    #expect(heard.all.isEmpty)
  }
}
