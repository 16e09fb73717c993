import Coffer
import CofferPlatform
import CofferStorage
import Foundation
import Synchronization
import Testing

private struct Token: Codable, Sendable, Equatable {
  var text: String
  var expiry: Date?
}

private struct Keys: KeySpace {
  let user = StorageKey("user", of: String.self).endsWithSession()
  let token = StorageKey("token", secret: Token.self).expires { $0.expiry }.endsWithSession()
}

private struct RenamedKeys: KeySpace {
  let user = StorageKey("user", of: String.self).endsWithSession()
  let token = StorageKey("access", secret: Token.self).renamed(from: "token").expires { $0.expiry }.endsWithSession()
}

/// A memory vault that lets others act between two reads.
private final class InterruptedVault: DecidingStore {
  typealias Act = @Sendable () throws(StoreError) -> Void
  let inner = MemoryStore<Vault>()
  private let loading = Mutex<Act?>(nil), versioned = Mutex<Act?>(nil)

  func beforeLoad(_ act: @escaping Act) { loading.withLock { $0 = act } }
  func afterVersion(_ act: @escaping Act) { versioned.withLock { $0 = act } }

  private static func take(_ act: inout Act?) -> Act? {
    defer { act = nil }
    return act
  }

  var place: String { inner.place }
  func load(_ name: String) throws(StoreError) -> SecretForm? {
    if let act = loading.withLock({ Self.take(&$0) }) { try act() }
    return try inner.load(name)
  }
  func load(_ names: [String]) throws(StoreError) -> [Reading<Vault>] { try inner.load(names) }
  func names() throws(StoreError) -> [String] { try inner.names() }
  func update(_ name: String, _ body: (SecretForm?) throws(StoreError) -> SecretForm?) throws(StoreError) {
    try inner.update(name, body)
  }
  func commit(_ batch: Batch<Vault>, decision: Decision?) throws(StoreError) { try inner.commit(batch, decision: decision) }
  func version(of name: String) throws(StoreError) -> RecordVersion {
    let version = try inner.version(of: name)
    if let act = versioned.withLock({ Self.take(&$0) }) { try act() }
    return version
  }
  func sessionItems() throws(StoreError) -> [String: RecordVersion] { try inner.sessionItems() }
}

@Suite struct RefreshWindowTests {
  private let plain = MemoryStore<Plain>(), vault = InterruptedVault(), keys = Keys()

  private func sealed(_ text: String, _ seconds: Double) throws -> Sealed<Token> {
    try Sealed(Token(text: text, expiry: Date() + seconds))
  }

  private func other() throws -> StorageRouter {
    let other = try StorageRouter(plain: plain, vault: vault.inner, keys: keys)
    try other.set("ada", for: keys.user)
    try other.set(sealed("old", -60), for: keys.token)
    return other
  }

  @Test
  func `what is stored before a renewal begins is no login in its midst`() async throws {
    let other = try other(), mine = Keys()
    let app = try StorageRouter(plain: plain, vault: vault, keys: mine)
    let session = try Session(app, user: mine.user, credential: mine.token)
    #expect(try await session.state() == .expired)
    let late = try sealed("stored late, and expired", -1)
    vault.beforeLoad { [keys] () throws(StoreError) in try other.set(late, for: keys.token) }
    let new = try await session.refresh(mine.token) { old in
      #expect(old == nil)
      return try sealed("new", 3600)
    }
    #expect(try new.reveal().text == "new")
    #expect(try await session.state() == .loggedIn("ada"))
  }

  @Test
  func `a credential that another renews under its own name between two looks is found`() async throws {
    _ = try other()
    let mine = RenamedKeys(), theirs = RenamedKeys()
    let app = try StorageRouter(plain: plain, vault: vault, keys: mine)
    let session = try Session(app, user: mine.user, credential: mine.token)
    let renewed = try StorageRouter(plain: plain, vault: vault.inner, keys: theirs), fresh = try sealed("fresh", 3600)
    vault.afterVersion { () throws(StoreError) in try renewed.set(fresh, for: theirs.token) }
    let found = try await session.refresh(mine.token) { _ in throw CancellationError() }
    #expect(try found.reveal().text == "fresh" && vault.names() == ["access"])
  }
}
