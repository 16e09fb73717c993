import Coffer
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Synchronization
import Testing

private struct Token: Codable, Sendable, Equatable {
  var text: String
  var expiry: Date?
}

private struct Keys: KeySpace {
  let names = StorageKeyFamily("name", of: String.self).endsWithSession()
  let tokens = StorageKeyFamily("token", secret: Token.self).expires { $0.expiry }.endsWithSession()
  let renewals = StorageKeyFamily("renewal", secret: String.self).endsWithSession()
  let themes = StorageKeyFamily("theme", default: "light")
  let service = StorageKey("service", secret: String.self)
  let admin = StorageKey("operator", of: String.self).endsWithSession()
}

@Suite struct SessionFamilyTests {
  private let keys = Keys()

  private func sealed(_ text: String, _ seconds: Double = 3600) throws -> Sealed<Token> {
    try Sealed(Token(text: text, expiry: Date() + seconds))
  }

  private func login(_ sessions: SessionFamily<String>, _ user: String, _ keys: Keys, seconds: Double = 3600) throws {
    try sessions[user].login(as: "Name of \(user)") { transaction in
      try transaction.set(sealed("\(user)-token", seconds), for: keys.tokens[user])
      try transaction.set(Sealed("\(user)-renewal"), for: keys.renewals[user])
      try transaction.set("theme of \(user)", for: keys.themes[user])
    }
  }

  private func make() throws -> (app: StorageRouter, sessions: SessionFamily<String>) {
    let app = try StorageRouter.inMemory(keys: keys)
    let sessions = try app.sessions(user: keys.names, credential: keys.tokens)
    for user in ["ada", "bob", "bob/2"] { try login(sessions, user, keys) }
    return (app, sessions)
  }

  @Test func `each user has a login, and a logout of one leaves the others alone`() throws {
    let (app, sessions) = try make()
    try app.set(Sealed("of the service"), for: keys.service)
    #expect(try sessions.users() == ["ada", "bob", "bob/2"])
    #expect(try sessions["ada"].state() == .loggedIn("Name of ada") && sessions["eve"].state() == .loggedOut)
    try sessions["bob"].logout()
    #expect(try sessions["bob"].state() == .loggedOut && sessions.users() == ["ada", "bob/2"])
    #expect(try app.value(for: keys.names["bob"]) == nil && app.value(for: keys.renewals["bob"]) == nil)
    #expect(try app.value(for: keys.themes["bob"]) == "theme of bob")
    #expect(try sessions["ada"].state() == .loggedIn("Name of ada"))
    #expect(try app.value(for: keys.renewals["ada"])?.reveal() == "ada-renewal")
    try sessions["bob"].logout()
  }

  @Test func `a logout of all leaves what belongs to no user`() async throws {
    let (app, sessions) = try make()
    try await app.set(Sealed("of the service"), for: keys.service)
    try await app.set("root", for: keys.admin)
    try await sessions.logout()
    #expect(try await sessions.users() == [])
    #expect(try await sessions["ada"].state() == .loggedOut)
    #expect(try app.vault.names() == ["service"])
    #expect(try app.value(for: keys.admin) == "root" && app.value(for: keys.themes["ada"]) == "theme of ada")
  }

  @Test func `a login in place of another leaves nothing of the same user's former session`() throws {
    let (app, sessions) = try make()
    try sessions["ada"].login(as: "Ada") { try $0.set(sealed("next"), for: keys.tokens["ada"]) }
    #expect(try sessions["ada"].state() == .loggedIn("Ada") && app.value(for: keys.renewals["ada"]) == nil)
    #expect(try app.value(for: keys.renewals["bob"])?.reveal() == "bob-renewal")
    let error = #expect(throws: StoreError.self) {
      try sessions["eve"].login(as: "Eve") { try $0.set(sealed("next"), for: keys.tokens["ada"]) }
    }
    #expect(error?.kind == .incomplete && error?.key == "token/eve")
  }

  @Test func `an expired credential is one user's`() async throws {
    let (_, sessions) = try make()
    try login(sessions, "ada", keys, seconds: -1)
    #expect(try await sessions["ada"].state() == .expired)
    #expect(try await sessions["bob"].state() == .loggedIn("Name of bob"))
    #expect(try await sessions.users() == ["ada", "bob", "bob/2"])
    let token = try await sessions["ada"].refresh(keys.tokens["ada"]) { old in
      #expect(old == nil)
      return try sealed("renewed")
    }
    #expect(try token.reveal().text == "renewed")
    #expect(try await sessions["ada"].state() == .loggedIn("Name of ada"))
  }

  @Test(.tags(.process), .defaultRun, arguments: [true, false])
  func `of tasks that ask for one user by sessions of their own, one renews, and another user waits for none of them`(
    withFiles: Bool
  ) async throws {
    let home = try SessionHome()
    let open = { () throws -> StorageRouter in
      let vault = try VaultStore(service: "app", vault: home.places.openVault())
      try vault.unlock(with: home.credentials())
      return try StorageRouter.open("app", keys: keys, vault: vault, places: home.places)
    }
    let app = withFiles ? try open() : try StorageRouter.inMemory(keys: keys)
    // Another process has other routers over the same files.
    let other = withFiles ? try open() : app
    for user in ["ada", "bob"] { try login(app.sessions(user: keys.names, credential: keys.tokens), user, keys) }
    let stale = try #require(try await app.value(for: keys.tokens["ada"]))
    let bob = try #require(try await app.value(for: keys.tokens["bob"]))
    let (asked, renewals, gate) = (Counter(), Counter(), Gate())
    async let tokens = withThrowingTaskGroup(of: String.self) { [keys] group in
      for number in 0..<20 {
        let sessions = try (number % 2 == 0 ? app : other).sessions(user: keys.names, credential: keys.tokens)
        group.addTask {
          asked.next()
          return try await sessions["ada"].refresh(keys.tokens["ada"], replacing: stale, within: .seconds(600)) { _ in
            renewals.next()
            await gate.pass()
            return try Sealed(Token(text: "renewed", expiry: Date() + 3600))
          }.reveal().text
        }
      }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    try await poll("all have asked") { asked.value == 20 && renewals.value == 1 }
    let sessions = try app.sessions(user: keys.names, credential: keys.tokens)
    let bobs = try await sessions["bob"].refresh(keys.tokens["bob"], replacing: bob) { _ in try sealed("bob's") }
    #expect(try bobs.reveal().text == "bob's" && renewals.value == 1)
    gate.open()
    #expect(try await tokens == ["renewed"] && renewals.value == 1)
  }

  @Test func `the key of another user is refused`() async throws {
    let (_, sessions) = try make()
    for key in [keys.tokens["bob"], keys.tokens["ada/2"]] {
      let error = await #expect(throws: StoreError.self) {
        try await sessions["ada"].refresh(key) { _ in throw CancellationError() }
      }
      #expect(error?.kind == .refused && error?.key == key.name)
    }
  }

  @Test func `a user's changes are heard, and no other's`() async throws {
    let (_, sessions) = try make()
    let states = StateLog()
    try sessions["ada"].observe(states) { states.add($0) }
    try await sessions["bob"].logout()
    try await sessions["ada"].logout()
    try await poll("hears of the logout") { states.texts == ["loggedIn Name of ada", "loggedOut"] }
  }

  @Test func `a family that a logout would leave behind, an unknown one and a name that is none are refused`() async throws {
    let app = try StorageRouter.inMemory(keys: keys)
    let stray = StorageKeyFamily("stray", secret: String.self).endsWithSession()
    let kind = { (body: () throws -> Void) -> StoreError.Kind? in
      (#expect(throws: StoreError.self) { try body() })?.kind
    }
    #expect(kind { _ = try app.sessions(user: keys.names, credential: stray) } == .undeclared)
    struct Kept: KeySpace {
      let names = StorageKeyFamily("name", of: String.self)
      let tokens = StorageKeyFamily("token", secret: String.self).endsWithSession()
    }
    let kept = Kept(), other = try StorageRouter.inMemory(keys: kept)
    #expect(kind { _ = try other.sessions(user: kept.names, credential: kept.tokens) } == .incomplete)
    let sessions = try app.sessions(user: keys.names, credential: keys.tokens)
    for name in ["", "a\nb", String(repeating: "a", count: StoredName.longest)] {
      #expect(kind { try login(sessions, name, keys) } == .invalidName)
      let error = await #expect(throws: StoreError.self) {
        try await sessions[name].refresh(keys.tokens[name]) { _ in throw CancellationError() }
      }
      #expect(error?.kind == .invalidName, "\(name.prefix(5))")
    }
  }
}
