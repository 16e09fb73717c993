import CofferTestSupport
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

private struct ExpiringKeys: KeySpace {
  let user = StorageKey("user", of: String.self).endsWithSession()
  let token = StorageKey("token", secret: Token.self).expires { $0.expiry }.endsWithSession()
}

private struct VaultedKeys: KeySpace {
  let user = StorageKey("user", vaulted: String.self).endsWithSession()
  let token = StorageKey("token", secret: Token.self).expires { $0.expiry }.endsWithSession()
}

private struct RenamedKeys: KeySpace {
  let user = StorageKey("user", of: String.self).endsWithSession()
  let token = StorageKey("access", secret: Token.self).renamed(from: "token").expires { $0.expiry }.endsWithSession()
}

private struct RenamedTokenKeys: KeySpace {
  let user = StorageKey("user", of: String.self).endsWithSession()
  let token = StorageKey("access", secret: String.self).renamed(from: "token").endsWithSession()
}

private final class HandSetClock: Sendable {
  private let time = Mutex((date: Date(timeIntervalSince1970: 1_800_000_000), uptime: Duration.zero))
  var date: Date { time.withLock(\.date) }
  var clock: SessionClock {
    SessionClock(now: { [self] in date }, uptime: { [self] in time.withLock(\.uptime) })
  }
  func pass(_ seconds: Int) {
    time.withLock { time in
      time.date += Double(seconds)
      time.uptime += .seconds(seconds)
    }
  }
  func set(back seconds: Int) { time.withLock { $0.date -= Double(seconds) } }
}

@Suite struct SessionExpiryTests {
  private let keys = ExpiringKeys()

  private func login(_ session: Session<String>, until moment: Date?, text: String = "t") throws {
    try session.login(as: "ada") { try $0.set(Sealed(Token(text: text, expiry: moment)), for: keys.token) }
  }

  @Test
  func `a credential that has expired makes the session expired; a renewed one brings it back, and a logout ends it`()
    async throws
  {
    let clock = HandSetClock()
    let app = try StorageRouter(
      plain: MemoryStore<Plain>(), vault: MemoryStore<Vault>(now: { clock.date }), keys: keys)
    let session = try Session(app, user: keys.user, credential: keys.token, clock: clock.clock)
    try login(session, until: clock.date + 3600)
    #expect(try await session.state() == .loggedIn("ada"))
    clock.pass(3600)
    #expect(try await session.state() == .expired)
    let renewed = try await session.refresh(keys.token) { old in
      #expect(old == nil)
      return try Sealed(Token(text: "new", expiry: clock.date + 60))
    }
    #expect(try renewed.reveal().text == "new")
    #expect(try await session.state() == .loggedIn("ada"))
    clock.pass(60)
    #expect(try await session.state() == .expired)
    try await session.logout()
    #expect(try await session.state() == .loggedOut)
  }

  @Test
  func `a clock that is set back while the session lives lengthens no credential's life`() throws {
    let clock = HandSetClock()
    // This store trusts the clock, as if opened after it was set.
    let app = try StorageRouter(
      plain: MemoryStore<Plain>(), vault: MemoryStore<Vault>(now: { clock.date }), keys: keys)
    let session = try Session(app, user: keys.user, credential: keys.token, clock: clock.clock)
    try login(session, until: clock.date + 3600)
    clock.pass(3599)
    clock.set(back: 3000)
    #expect(try session.state() == .loggedIn("ada"))
    clock.pass(1)
    #expect(try session.state() == .expired)
    #expect(try app.value(for: keys.token) != nil)
  }

  @Test
  func `a clock a day behind the vault makes the session expired, and a renewal settles it`() async throws {
    let vault = ClocklessVault()
    let app = try StorageRouter(plain: MemoryStore<Plain>(), vault: vault, keys: keys)
    let session = try Session(app, user: keys.user, credential: keys.token)
    try login(session, until: Date() + 3600)
    vault.isBehind.withLock { $0 = true }
    #expect(try await session.state() == .expired)
    _ = try await session.refresh(keys.token) { old in
      #expect(old == nil)
      vault.isBehind.withLock { $0 = false }
      return try Sealed(Token(text: "new", expiry: Date() + 3600))
    }
    #expect(try await session.state() == .loggedIn("ada"))
  }

  @Test
  func `an expired credential without a user is nobody, whichever store the user is kept in`() throws {
    let clock = HandSetClock(), vaulted = VaultedKeys()
    let one = try StorageRouter(plain: MemoryStore<Plain>(), vault: MemoryStore<Vault>(now: { clock.date }), keys: keys)
    let two = try StorageRouter(plain: MemoryStore<Plain>(), vault: MemoryStore<Vault>(now: { clock.date }), keys: vaulted)
    let first = try Session(one, user: keys.user, credential: keys.token, clock: clock.clock)
    let second = try Session(two, user: vaulted.user, credential: vaulted.token, clock: clock.clock)
    try one.set(Sealed(Token(text: "t", expiry: clock.date + 60)), for: keys.token)
    try two.set(Sealed(Token(text: "t", expiry: clock.date + 60)), for: vaulted.token)
    #expect(try first.state() == .loggedOut && second.state() == .loggedOut)
    clock.pass(60)
    #expect(try first.state() == .loggedOut && second.state() == .loggedOut)
    try one.set("ada", for: keys.user)
    try two.set("ada", for: vaulted.user)
    #expect(try first.state() == .expired && second.state() == .expired)
  }

  @Test
  func `a refresh finds the credential that an older program stored under another name, once the vault is unlocked`() async throws
  {
    let home = try SessionHome(), renamed = RenamedTokenKeys()
    let (app, vault) = try home.open()
    try home.login(home.session(app), "ada")
    try await vault.lock()
    let next = try StorageRouter.open("app", keys: renamed, vault: vault, places: home.places)
    let session = try next.session(user: renamed.user, credential: renamed.token)
    #expect(try await session.state() == .locked)
    try await vault.unlock(with: home.credentials())
    let present = try await session.refresh(renamed.token) { _ in throw CancellationError() }
    #expect(try present.reveal() == "ada-token")
    #expect(try await session.state() == .loggedIn("ada"))
  }

  @Test
  func `a credential that has expired under a former name is renewed under its own`() async throws {
    let clock = HandSetClock(), renamed = RenamedKeys()
    let plain = MemoryStore<Plain>(), vault = MemoryStore<Vault>(now: { clock.date })
    let first = try StorageRouter(plain: plain, vault: vault, keys: keys)
    try login(Session(first, user: keys.user, credential: keys.token, clock: clock.clock), until: clock.date + 60)
    clock.pass(60)
    let app = try StorageRouter(plain: plain, vault: vault, keys: renamed)
    let session = try Session(app, user: renamed.user, credential: renamed.token, clock: clock.clock)
    #expect(try await session.state() == .expired)
    let new = try await session.refresh(renamed.token) { old in
      #expect(old == nil)
      return try Sealed(Token(text: "new", expiry: clock.date + 60))
    }
    #expect(try new.reveal().text == "new")
    #expect(try await session.state() == .loggedIn("ada"))
    #expect(try vault.names() == ["access"])
  }

  @Test
  func `an observer hears that the credential has expired, and of nothing else meanwhile`() async throws {
    let home = try SessionHome()
    let vault = try VaultStore(service: "expiring", vault: home.places.openVault())
    try await vault.unlock(with: home.credentials())
    let app = try StorageRouter.open("expiring", keys: keys, vault: vault, places: home.places)
    let session = try app.session(user: keys.user, credential: keys.token)
    try login(session, until: Date() + 3600)
    let states = StateLog()
    try session.observe(states) { states.add($0) }
    try await poll("hears the present state") { states.texts == ["loggedIn ada"] }
    try login(session, until: Date() + 0.3)
    try await poll("hears of the expiry") { states.texts.last == "expired" }
    // The login is reported too, unless its credential had already expired.
    #expect(states.texts.dropFirst().dropLast().allSatisfy { $0 == "loggedIn ada" } && states.texts.count <= 3)
    let token = try await session.refresh(keys.token) { _ in try Sealed(Token(text: "new", expiry: Date() + 3600)) }
    #expect(token.expires != nil)
    try await poll("hears of the renewal") { states.texts.suffix(2) == ["expired", "loggedIn ada"] }
  }
}

/// A memory vault whose clock is behind on demand: it opens no value then.
private final class ClocklessVault: DecidingStore {
  let isBehind = Mutex(false)
  private let inner = MemoryStore<Vault>()
  var place: String { inner.place }

  private func check() throws(StoreError) {
    guard isBehind.withLock({ $0 }) else { return }
    throw StoreError(.clockBehind, "the clock is behind", place: place, cure: "set it")
  }
  func load(_ name: String) throws(StoreError) -> SecretForm? {
    do { try check() } catch { throw error.about(key: name) }
    return try inner.load(name)
  }
  func load(_ names: [String]) throws(StoreError) -> [Reading<Vault>] {
    if let name = names.first { do { try check() } catch { throw error.about(key: name) } }
    return try inner.load(names)
  }
  func names() throws(StoreError) -> [String] { try inner.names() }
  func version(of name: String) throws(StoreError) -> RecordVersion { try inner.version(of: name) }
  func sessionItems() throws(StoreError) -> [String: RecordVersion] { try inner.sessionItems() }
  func update(_ name: String, _ body: (SecretForm?) throws(StoreError) -> SecretForm?) throws(StoreError) {
    try inner.update(name, body)
  }
  func commit(_ batch: Batch<Vault>, decision: Decision?) throws(StoreError) { try inner.commit(batch, decision: decision) }
}

final class StateLog: Sendable {
  private let log = Mutex<[String]>([])
  var texts: [String] { log.withLock { $0 } }
  func add(_ state: Result<Session<String>.State, StoreError>) {
    let text =
      switch state {
      case .success(.loggedIn(let user)): "loggedIn \(user)"
      case .success(let state): "\(state)"
      case .failure(let error): "error \(error.kind)"
      }
    log.withLock { $0.append(text) }
  }
}
