import CofferTestSupport
import Coffer
import CofferPlatform
import CofferStorage
import CofferVault
import Foundation
import Synchronization
import SystemPackage
import Testing

/// The vault's own store, which lets a test act whenever a version is read.
private final class WatchedVault: DecidingStore {
  let base: VaultStore
  private let act = Mutex<(@Sendable () throws -> Void)?>(nil)

  init(_ base: VaultStore) { self.base = base }

  func whenAsked(_ body: (@Sendable () throws -> Void)?) { act.withLock { $0 = body } }

  var part: String { base.part }
  var place: String { base.place }
  func load(_ name: String) throws(StoreError) -> SecretForm? { try base.load(name) }
  func load(_ names: [String]) throws(StoreError) -> [Reading<Vault>] { try base.load(names) }
  func names() throws(StoreError) -> [String] { try base.names() }
  func update(_ name: String, _ body: (SecretForm?) throws(StoreError) -> SecretForm?) throws(StoreError) {
    try base.update(name, body)
  }
  func commit(_ batch: Batch<Vault>, decision: Decision?) throws(StoreError) { try base.commit(batch, decision: decision) }
  func version(of name: String) throws(StoreError) -> RecordVersion {
    do { try act.withLock(\.self)?() } catch { Issue.record(error) }
    return try base.version(of: name)
  }
  func sessionItems() throws(StoreError) -> [String: RecordVersion] { try base.sessionItems() }
}

@Suite struct RefreshLockTests {
  private func lockFiles(_ home: SessionHome) throws -> [String] {
    let folder = try home.places.vault.file().removingLastComponent().string
    return try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("refresh-") }
      .map { folder + "/" + $0 }
  }

  @Test
  func `a lock file that is removed while its holder has yet to ask the server lets nobody else ask`() async throws {
    let home = try SessionHome()
    let vault = WatchedVault(try home.open().vault)
    let app = try StorageRouter(plain: MemoryStore<Plain>(), vault: vault, keys: home.keys)
    let session = try home.session(app)
    try home.login(session, "ada")
    let stale = try await app.value(for: home.keys.token)
    let removals = Mutex(0)
    // The first question comes before the lock, the second under it.
    vault.whenAsked { [self] in
      for file in try lockFiles(home) where removals.withLock({ $0 == 0 }) {
        try FileManager.default.removeItem(atPath: file)
        removals.withLock { $0 += 1 }
      }
    }
    let token = try await session.refresh(home.keys.token, replacing: stale) { [self] _ in
      let files = try lockFiles(home)
      #expect(files.count == 1, "there is one to lock")
      for file in files { #expect(try DescriptorLock.take(FilePath(file)) == nil, "nobody else has a turn") }
      return try Sealed("ada-next")
    }
    #expect(try token.reveal() == "ada-next" && removals.withLock(\.self) == 1)
  }

  @Test
  func `where a lock file is removed while its holder asks the server, one credential is stored and the other dropped`()
    async throws
  {
    let (home, app, session) = try SessionHome.loggedIn()
    let keys = home.keys, stale = try await app.value(for: home.keys.token)
    let second = try home.session(try home.open().app)
    let error = await #expect(throws: StoreError.self) {
      try await session.refresh(keys.token, replacing: stale) { [self] _ in
        for file in try lockFiles(home) { try FileManager.default.removeItem(atPath: file) }
        let other = try await second.refresh(keys.token, replacing: stale) { _ in try Sealed("ada-second") }
        #expect(try other.reveal() == "ada-second")
        return try Sealed("ada-first")
      }
    }
    #expect(error?.kind == .conflict)
    #expect(try home.agreement()?.token == "ada-second")
  }
}
