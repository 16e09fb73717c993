import CofferTestSupport
import Coffer
import CofferStorage
import Foundation
import Testing

@Suite struct SessionTests {
  @Test
  func `D1: a login stores the credential in the vault and preferences in the list, and a logout removes what it should`()
    throws
  {
    let home = try SessionHome()
    let (app, _) = try home.open()
    let session = try home.session(app)
    #expect(try session.state() == .loggedOut)
    try app.set(Sealed("this machine"), for: home.keys.device)
    try home.login(session, "ada")
    #expect(try session.state() == .loggedIn("ada"))
    #expect(try session.state().user == "ada")
    #expect(try app.value(for: home.keys.token)?.reveal() == "ada-token")
    try session.logout()
    #expect(try session.state() == .loggedOut)
    #expect(try app.value(for: home.keys.recent) == [] && app.value(for: home.keys.renewal) == nil)
    #expect(try app.value(for: home.keys.theme) == "theme of ada")
    #expect(try app.value(for: home.keys.device)?.reveal() == "this machine")
    try session.logout()
  }

  @Test
  func `a login without a credential changes nothing, nor does one whose closure throws`() throws {
    let (home, app, session) = try SessionHome.loggedIn()
    let error = #expect(throws: StoreError.self) { try session.login(as: "bob") { try $0.set("dark", for: home.keys.theme) } }
    #expect(error?.kind == .incomplete && error?.key == "token")
    struct Failed: Error {}
    #expect(throws: Failed.self) { try session.login(as: "bob") { _ in throw Failed() } }
    #expect(try session.state() == .loggedIn("ada") && app.value(for: home.keys.theme) == "theme of ada")
  }

  @Test
  func `a login in place of another leaves nothing of the former session`() throws {
    let (home, app, session) = try SessionHome.loggedIn()
    try session.login(as: "bob") { try $0.set(Sealed("bob-token"), for: home.keys.token) }
    #expect(try session.state() == .loggedIn("bob"))
    #expect(try app.value(for: home.keys.renewal) == nil && app.value(for: home.keys.recent) == [])
  }

  @Test
  func `a key of the session that a logout would leave behind is refused`() throws {
    struct Keys: KeySpace {
      let user = StorageKey("user", of: String.self)
      let token = StorageKey("token", secret: String.self).endsWithSession()
    }
    let keys = Keys()
    let app = try StorageRouter.inMemory(keys: keys)
    let error = #expect(throws: StoreError.self) { try Session(app, user: keys.user, credential: keys.token) }
    #expect(error?.kind == .incomplete && error?.key == "user")
    let stray = StorageKey("stray", secret: String.self).endsWithSession()
    #expect(throws: StoreError.self) { try Session(app, user: keys.user.endsWithSession(), credential: stray) }
  }

  @Test
  func `a logout removes what a program with other keys left: marked items, and the keys of the domain's list`() throws {
    let home = try SessionHome()
    struct Other: KeySpace {
      let cache = StorageKey("cache", secret: String.self).endsWithSession()
      let draft = StorageKey("draft", of: String.self).endsWithSession()
      let kept = StorageKey("kept", secret: String.self)
    }
    let other = Other()
    let (app, vault) = try home.open()
    let foreign = try StorageRouter.open("app", keys: other, vault: vault, places: home.places)
    try home.login(home.session(app), "ada")
    try foreign.set(Sealed("x"), for: other.cache)
    try foreign.set(Sealed("x"), for: other.kept)
    try foreign.set("x", for: other.draft)
    try app.plain.save(.array([.string("draft"), .string("recent")]), for: "coffer.session-keys")
    try home.session(app).logout()
    #expect(try foreign.value(for: other.cache) == nil && foreign.value(for: other.draft) == nil)
    #expect(try foreign.value(for: other.kept)?.reveal() == "x")
    #expect(try app.plain.load("coffer.session-keys") == nil)
  }

  @Test
  func `a domain's list that is no list is an error, and a logout then removes nothing`() throws {
    let (home, app, session) = try SessionHome.loggedIn()
    for bad in [PlainForm.string("token"), .array([.string("user"), .integer(1)])] {
      try app.plain.save(bad, for: "coffer.session-keys")
      let error = #expect(throws: StoreError.self) { try session.logout() }
      #expect(error?.key == "coffer.session-keys" && error?.kind == .undecodable(stored: bad.kindName))
      #expect(try session.state() == .loggedIn("ada"))
      let writes: [() throws -> Void] = [
        { try app.set(["x"], for: home.keys.recent) }, { try app.update(home.keys.recent) { $0 = ["x"] } },
        { try app.transaction { try $0.set(["x"], for: home.keys.recent) } },
        { try session.login(as: "bob") { try $0.set(Sealed("bob-token"), for: home.keys.token) } },
      ]
      for write in writes {
        let error = #expect(throws: StoreError.self) { try write() }
        #expect(error?.key == "coffer.session-keys" && error?.kind == .undecodable(stored: bad.kindName))
      }
      #expect(try app.plain.load("coffer.session-keys") == bad)
    }
    #expect(try home.agreement()?.user == "ada")
  }

  @Test
  func `while the vault is locked a live session is locked, and neither a login nor a logout changes anything`() throws {
    let home = try SessionHome()
    let (app, vault) = try home.open()
    let session = try home.session(app)
    try vault.lock()
    #expect(try session.state() == .loggedOut)
    try vault.unlock(with: home.credentials())
    try home.login(session, "ada")
    try vault.lock()
    #expect(try session.state() == .locked)
    #expect(#expect(throws: StoreError.self) { try session.logout() }?.kind == .locked)
    #expect(#expect(throws: StoreError.self) { try home.login(session, "bob") }?.kind == .locked)
    try vault.unlock(with: home.credentials())
    #expect(try session.state() == .loggedIn("ada"))
    #expect(try home.agreement()?.user == "ada")
  }

  @Test
  func `where there is no vault nobody can say who is logged in but that nobody is`() throws {
    let folder = FilePath(FileManager.default.temporaryDirectory.path).appending("coffer-session-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(atPath: folder.string) }
    try FileManager.default.createDirectory(
      atPath: folder.string, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    let keys = SessionKeySpace()
    let places = Places(home: folder)
    let app = try StorageRouter.open("app", keys: keys, places: places)
    let session = try app.session(user: keys.user, credential: keys.token)
    #expect(#expect(throws: StoreError.self) { try session.state() }?.kind == .noVault)
    #expect(#expect(throws: StoreError.self) { try session.logout() }?.kind == .noVault)
  }

  @Test
  func `half a session, made by something else than one, is nobody`() throws {
    let home = try SessionHome()
    let (app, _) = try home.open()
    let session = try home.session(app)
    try app.set("ada", for: home.keys.user)
    #expect(try session.state() == .loggedOut)
    try app.set(nil, for: home.keys.user)
    try app.set(Sealed("x"), for: home.keys.token)
    #expect(try session.state() == .loggedOut)
  }
}
