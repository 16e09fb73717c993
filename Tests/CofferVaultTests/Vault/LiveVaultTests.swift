import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

/// An open vault's file is put back, forked or removed, and threads lock it at the wrong moment.
@Suite struct LiveVaultTests {
  let name: ItemName
  init() throws { name = try ItemName(service: "svc", account: "a") }

  /// Puts every table of `old` into `place` in one transaction, as an attacker with a copy would.
  private func putBack(_ old: TemporaryVault, into place: TemporaryVault) throws {
    let tables = ["header", "header_copy", "state", "digest", "rec", "old", "log"]
    let copying = tables.map { "DELETE FROM \($0); INSERT INTO \($0) SELECT * FROM old.\($0);" }.joined()
    try place.attack("ATTACH '\(old.path)' AS old; BEGIN; \(copying) COMMIT;")
  }

  @Test func `an older state put back under an open vault is a rollback`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    try vault.set(form("old"), for: name)
    let old = try place.copy()
    try vault.set(form("new"), for: name)
    #expect(text(try vault.get(name)) == "new")
    try putBack(old, into: place)
    #expect(kind { _ = try vault.get(name) } == .rolledBack)
    #expect(kind { _ = try vault.list() } == .rolledBack)
    #expect(kind { _ = try vault.verify() } == .rolledBack)
    #expect(kind { try vault.set(form("newer"), for: name) } == .rolledBack)
    #expect(text(try place.unlock().get(name)) == "old", "what was put back is whole: only memory tells")
  }

  @Test func `a state put back under an open vault that has not seen a newer one is a rollback where another program here has`()
    throws
  {
    let pinned = try PinnedVault()
    let reader = try pinned.unlock()
    let writer = try pinned.unlock()
    #expect(text(try reader.get(pinned.name)) == "value 2")
    let seen = try pinned.place.copy()
    try writer.set(form("newer"), for: pinned.name)
    let unseen = try pinned.place.copy()
    try writer.set(form("newest"), for: pinned.name)
    for old in [seen, unseen] {
      try putBack(old, into: pinned.place)
      #expect(kind { _ = try reader.get(pinned.name) } == .rolledBack)
      #expect(kind { _ = try reader.list() } == .rolledBack)
    }
  }

  @Test func `another commit of the same generation under an open vault is a fork`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    try vault.set(form("common"), for: name)
    let other = try place.copy()
    try other.unlock().set(form("theirs"), for: name)
    try vault.set(form("mine"), for: name)
    try putBack(other, into: place)
    #expect(kind { _ = try vault.get(name) } == .forked)
    #expect(kind { try vault.set(form("more"), for: name) } == .forked)
  }

  @Test func `the same commit put back is nothing`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    try vault.set(form("value"), for: name)
    try putBack(place.copy(), into: place)
    #expect(text(try vault.get(name)) == "value")
  }

  @Test(arguments: [true, false]) func `a write into a file that was taken away is not acknowledged`(_ isReplaced: Bool) throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    try vault.set(form("value"), for: name)
    let copy = try place.copy()
    try FileManager.default.moveItem(atPath: place.path.string, toPath: place.path.string + ".moved")
    if isReplaced { try FileManager.default.moveItem(atPath: copy.path.string, toPath: place.path.string) }
    #expect(kind { try vault.set(form("lost"), for: name) } == .moved)
    #expect(kind { _ = try vault.get(name) } == .moved)
  }

  @Test func `a store whose file was moved away is locked, and says why`() throws {
    let place = try TemporaryVault()
    let store = try VaultStore(service: "app", vault: place.create())
    try FileManager.default.moveItem(atPath: place.path.string, toPath: place.path.string + ".moved")
    let error = #expect(throws: StoreError.self) { try store.save(form("lost"), for: "a") }
    #expect(error?.kind == .locked && error?.what.contains("no longer here") == true)
    #expect(!store.isUnlocked)
  }

  @Test func `a value that was taken away is tampering`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    try vault.set(form("value"), for: name)
    try place.attack("UPDATE rec SET value = NULL")
    #expect(kind { _ = try vault.get(name) } == .tampered)
    #expect(kind { _ = try vault.verify() } == .tampered)
  }

  @Test func `a slot label that is too long is the caller's mistake and leaves nothing`() throws {
    let place = try TemporaryVault()
    let long = String(repeating: "x", count: 65)
    let refusal = kind { _ = try UnlockedVault.create(at: place.path, with: TemporaryVault.credentials(), label: long) }
    #expect(refusal == .tooLarge(limit: 64))
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.folder.string).isEmpty)
  }

  // MARK: Locking

  @Test func `the progress of verify must not call the vault`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    try vault.set(form("value"), for: name)
    var kinds: [StoreError.Kind] = []
    _ = try vault.verify { _, _ in
      do throws(StoreError) { _ = try vault.get(name) } catch { kinds.append(error.kind) }
    }
    #expect(kinds == [.reentrant])
    #expect(text(try vault.get(name)) == "value")
  }

  @Test func `an update cannot lock its own store`() throws {
    let store = try VaultStore(service: "app", vault: TemporaryVault().create())
    let refusal = kind {
      try store.update("a") { (_) throws(StoreError) in
        try store.lock()
        return nil
      }
    }
    #expect(refusal == .reentrant)
    #expect(store.isUnlocked)
  }

  @Test func `locking waits for an update that asks the store`() throws {
    let place = try TemporaryVault()
    let store = try VaultStore(service: "app", vault: place.create())
    let (isInside, isLocking, isDone) = (
      DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
    )
    // Real threads, as each waits for the other: other tests may hold all threads of the task pool.
    Thread.detachNewThread {
      do {
        try store.update("a") { (_) throws(StoreError) in
          isInside.signal()
          isLocking.wait()
          usleep(100_000)  // No event: lock() begins to wait; where it has not, it finds the update over.
          _ = store.isUnlocked
          do { return try form("written") } catch { throw StoreError(.closed, "test", cure: "test") }
        }
      } catch {
        Issue.record(error)
        isInside.signal()
      }
      isDone.signal()
    }
    isInside.wait()
    isLocking.signal()
    try store.lock()
    isDone.wait()
    #expect(!store.isUnlocked)
    try store.unlock(with: TemporaryVault.credentials())
    #expect(text(try store.load("a")) == "written")
  }

  @Test func `a store of another service shares the vault: one unlock and one lock are for both, and items stay apart`() throws {
    let place = try TemporaryVault()
    let store = try VaultStore(service: "app", vault: place.create())
    let other = try store.store(ofService: "mail")
    try store.save(form("ours"), for: "a")
    try other.save(form("theirs"), for: "a")
    try other.save(form("more"), for: "b")
    #expect(try store.names() == ["a"] && other.names() == ["a", "b"])
    #expect(text(try store.load("a")) == "ours")
    #expect(text(try other.load("a")) == "theirs")
    #expect(other.place == store.place && other.service == "mail")
    try other.lock()
    #expect(!store.isUnlocked)
    #expect(kind { _ = try store.load("a") } == .locked)
    try store.unlock(with: TemporaryVault.credentials())
    #expect(text(try other.load("b")) == "more")
    #expect(kind { _ = try store.store(ofService: "") } == .invalidName)
  }

  @Test func `each store of a vault is told of its own service's changes, and of locking by the other`() async throws {
    let place = try TemporaryVault()
    let store = try VaultStore(service: "app", vault: place.create())
    let other = try store.store(ofService: "mail")
    let (events, continuation) = AsyncStream<ChangeFeed.Event>.makeStream()
    let subscription = try other.changes.subscribe { continuation.yield($0) }
    try store.save(form("ours"), for: "a")
    try other.save(form("theirs"), for: "b")
    try await store.lock()
    var seen: [ChangeFeed.Event] = []
    for await event in events {
      seen.append(event)
      if event == .access { break }
    }
    #expect(seen.first == .changes([CofferStorage.Change("b", .set, by: .thisProcess)]) && seen.last == .access, "\(seen)")
    subscription.cancel()
  }

  @Test func `a forked child's store is not unlocked, and unlocking it says that the vault belongs to the parent`() async {
    // In a separate process: if another thread holds a lock during the fork, the child's copy stays locked.
    await #expect(processExitsWith: .success) {
      let place = try TemporaryVault()
      let store = try VaultStore(service: "app", vault: place.create())
      try store.save(form("value"), for: "a")
      typealias Fork = @convention(c) () -> pid_t
      let fork = unsafeBitCast(try #require(dlsym(nil, "fork")), to: Fork.self)
      let child = fork()
      if child == 0 {
        alarm(120)
        var wrong: Int32 = 0
        func refuses(_ body: () throws -> Void) -> Bool {
          do { try body() } catch { return (error as? StoreError)?.kind == .afterFork }
          return false
        }
        if !refuses({ _ = try store.load("a") }) { wrong |= 1 }
        if store.isUnlocked { wrong |= 2 }
        if !refuses({ try store.unlock(with: TemporaryVault.credentials()) }) { wrong |= 4 }
        // SQLite still takes the parent's locks for its own.
        try? store.lock()
        if !refuses({ try store.unlock(with: TemporaryVault.credentials()) }) { wrong |= 8 }
        _exit(wrong)
      }
      var status: Int32 = 0
      #expect(child > 0 && waitpid(child, &status, 0) == child)
      #expect(status == 0, "1: reads, 2: unlocked, 4: unlock does nothing, 8: unlocks after a lock, times 256")
      #expect(text(try store.load("a")) == "value")
    }
  }

  @Test func `a store locks even when its file is gone`() throws {
    let place = try TemporaryVault()
    let store = try VaultStore(service: "app", vault: place.create())
    try FileManager.default.removeItem(atPath: place.path.string)
    #expect(kind { _ = try store.load("a") } == .locked)
    try store.lock()
    #expect(!store.isUnlocked)
    #expect(kind { try store.unlock(with: TemporaryVault.credentials()) } == .noVault)
  }

  @Test func `a store whose connection ended is locked and unlocks anew`() throws {
    let place = try TemporaryVault()
    let vault = try place.create()
    let core = vault.core
    let store = try VaultStore(service: "app", vault: vault)
    try store.save(form("value"), for: "a")
    // As after a failed rollback.
    try core.run { (vault) throws(StoreError) in vault.view.database.close() }
    #expect(kind { _ = try store.load("a") } == .locked)
    #expect(!store.isUnlocked)
    try store.unlock(with: TemporaryVault.credentials())
    #expect(text(try store.load("a")) == "value")
  }
}
