internal import CofferValues
internal import CofferTestSupport
internal import Coffer
internal import CofferStorage
internal import Foundation
internal import Testing

private struct AuthToken: Codable, Equatable { var access = "hush-hush", expiry: Date? }
private struct WindowV1: Codable, PlainValue, Equatable { var w = 800 }
private struct Window: Codable, PlainValue, Equatable { var width = 1, height = 2 }
/// Reads anything but a number as none.
private struct Lenient: Codable, Equatable {
  var number: Int
  init(_ number: Int) { self.number = number }
  init(from decoder: any Decoder) throws { number = (try? decoder.singleValueContainer().decode(Int.self)) ?? 0 }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(number)
  }
}
private struct Pane: Codable, PlainValue, Equatable { var width: Lenient }

@Suite struct MigrationTests {
  @Test func `of several former names the first with a value is taken, and the others cannot come back`() throws {
    let bench = try Bench()
    let defaults = try bench.defaults()
    try defaults.setValue(2, forKey: "second")
    try defaults.setValue(3, forKey: "third")
    let key = StorageKey("now", default: 0).renamed(from: "first", "second").renamed(from: "third")
    let app = try bench.app(Space(key))
    #expect(app.migrations.done.map(\.change) == [.renamed(from: "second"), .superseded("third")])
    #expect(try app.value(for: key) == 2)
    #expect(try defaults.names() == ["now"])
    #expect(try bench.app(Space(key)).migrations.done == [])
    try app.remove(key)
    #expect(try bench.app(Space(key)).value(for: key) == 0)
  }

  @Test func `a value under the key's own name stands`() throws {
    let bench = try Bench()
    try bench.defaults().setValue(1, forKey: "now")
    try bench.defaults().setValue(2, forKey: "then")
    let key = StorageKey("now", default: 0).renamed(from: "then")
    let app = try bench.app(Space(key))
    #expect(try app.value(for: key) == 1)
    #expect(app.migrations.done.map(\.change) == [.superseded("then")])
  }

  @Test func `a former name is nobody else's`() throws {
    let one = Space(StorageKey("now", default: 0).renamed(from: "then")), two = Space(StorageKey("then", default: 0))
    let three = Space(StorageKey("other", default: 0).renamed(from: "then"))
    for spaces in [(one as any KeySpace, two as any KeySpace), (one, three)] {
      let error = try expect(.duplicateKey) {
        _ = try StorageRouter(plain: MemoryStore<Plain>(), vault: MemoryStore<Vault>(), spaces: [spaces.0, spaces.1])
      }
      #expect(error.what.contains(one.key.site.description))
    }
  }

  @Test func `a renamed secret moves with its description once the vault is unlocked`() throws {
    let bench = try Bench()
    let old = StorageKey("access_token", secret: String.self).labelled("API")
    try bench.app(Space(old)).set(Sealed("hush"), for: old)
    try bench.vault.lock()
    let key = StorageKey("token", secret: String.self).renamed(from: "access_token")
    let app = try bench.app(Space(key))
    #expect(app.migrations.pending.map(\.kind) == [.locked] && app.migrations.pending.map(\.key) == ["token"])
    try expect(.locked) { _ = try app.value(for: key) }
    try bench.unlock()
    #expect(try app.value(for: key)?.reveal() == "hush")
    #expect(try bench.vault.names() == ["token"])
    #expect(try bench.vault.load("token")?.metadata.label == "API")
    #expect(app.migrations.pending.isEmpty)
  }

  @Test func `a value of a former type is read at once and stored anew at open`() throws {
    let bench = try Bench()
    let defaults = try bench.defaults()
    try defaults.setValue(WindowV1(), forKey: "window")
    try defaults.setValue("41", forKey: "count")
    let window = StorageKey("window", default: Window()).upgraded(from: WindowV1.self) { Window(width: $0.w, height: 600) }
    let count = StorageKey("count", default: 0).upgraded(from: String.self) { text in
      guard let number = Int(text) else { throw CancellationError() }
      return number
    }
    #expect(try defaults.value(for: window) == Window(width: 800, height: 600))
    let app = try bench.app(Space(window), Space(count))
    #expect(app.migrations.done == [Migration(key: "count", .upgraded), Migration(key: "window", .upgraded)])
    #expect(try defaults.load("window") == .dictionary(["width": .integer(800), "height": .integer(600)]))
    #expect(try defaults.load("count") == .integer(41))
    #expect(try bench.app(Space(window), Space(count)).migrations.done == [])
  }

  @Test func `a value of a former type is seen also where the fields of the present one take whatever they get`() throws {
    let bench = try Bench()
    try bench.defaults().setValue(WindowV1(), forKey: "pane")
    let pane = StorageKey("pane", default: Pane(width: Lenient(1))).upgraded(from: WindowV1.self) { Pane(width: Lenient($0.w)) }
    let app = try bench.app(Space(pane))
    #expect(try app.value(for: pane) == Pane(width: Lenient(800)))
    #expect(app.migrations.done == [Migration(key: "pane", .upgraded)])
  }

  @Test func `a conversion that fails leaves what is stored`() throws {
    let bench = try Bench()
    try bench.defaults().setValue("many", forKey: "count")
    let count = StorageKey("count", default: 0).upgraded(from: String.self) { _ in throw CancellationError() }
    let app = try bench.app(Space(count))
    let error = try expect(.undecodable(stored: "String")) { _ = try app.value(for: count) }
    #expect(!"\(error)".contains("many"))
    #expect(try bench.defaults().load("count") == .string("many"))
    try app.set(5, for: count)
    #expect(try app.value(for: count) == 5)
  }

  @Test func `a value that cannot be converted stays where its key reads as the default, and a renamed one moves as it is`()
    throws
  {
    let bench = try Bench()
    let defaults = try bench.defaults()
    try defaults.setValue("150 %", forKey: "zoom")
    try defaults.setValue("wide", forKey: "old_width")
    let convert: @Sendable (String) throws -> Double = { text in
      guard let number = Double(text) else { throw CancellationError() }
      return number
    }
    let zoom = StorageKey("zoom", default: 1.0).upgraded(from: String.self, using: convert).whenUndecodable(.useDefault)
    let width = StorageKey("width", default: 2.0).renamed(from: "old_width").upgraded(from: String.self, using: convert)
      .whenUndecodable(.useDefault)
    let app = try bench.app(Space(zoom), Space(width))
    #expect(app.migrations.done == [Migration(key: "width", .renamed(from: "old_width"))] && app.migrations.pending.isEmpty)
    #expect(try app.value(for: zoom) == 1 && app.value(for: width) == 2)
    #expect(try defaults.load("zoom") == .string("150 %") && defaults.load("width") == .string("wide"))
    #expect(try defaults.names() == ["width", "zoom"])
  }

  @Test func `a secret of a former type is sealed anew`() throws {
    let bench = try Bench()
    let old = StorageKey("token", secret: String.self).labelled("API")
    try bench.app(Space(old)).set(Sealed("hush"), for: old)
    let key = StorageKey("token", secret: AuthToken.self).upgraded(from: String.self) { AuthToken(access: $0) }.endsWithSession()
    let app = try bench.app(Space(key))
    #expect(app.migrations.done.map(\.change) == [.upgraded])
    #expect(try app.value(for: key)?.reveal() == AuthToken(access: "hush"))
    #expect(try bench.vault.load("token")?.metadata.label == "API")
  }

  @Test func `a preference that became a secret moves into the vault, and no byte of it stays behind`() throws {
    let bench = try Bench()
    let defaults = try bench.defaults()
    try defaults.setValue("hush-hush", forKey: "token")
    try defaults.synchronize()
    try defaults.setValue("hush-hush-2", forKey: "token")
    try defaults.synchronize()
    let key = StorageKey("token", secret: String.self).labelled("API").endsWithSession()
    try bench.vault.lock()
    let app = try bench.app(Space(key))
    try expect(.locked) { _ = try app.value(for: key) }
    #expect(try defaults.load("token") == .string("hush-hush-2"))
    try bench.unlock()
    let report = try bench.app(Space(key)).migrations
    #expect(report.done == [Migration(key: "token", .movedIntoVault(from: "token"))] && report.pending.isEmpty)
    #expect(try app.value(for: key)?.reveal() == "hush-hush-2")
    #expect(try bench.vault.load("token")?.metadata.label == "API")
    #expect(try defaults.names() == [])
    #expect(try !bench.plainBytes().contains(Data("hush".utf8)))
  }

  @Test func `a preference can be renamed, of a former type, and a secret now, all at once`() throws {
    let bench = try Bench()
    try bench.defaults().setValue("hush", forKey: "access_token")
    let key = StorageKey("token", secret: AuthToken.self).renamed(from: "access_token")
      .upgraded(from: String.self) { AuthToken(access: $0) }
    let app = try bench.app(Space(key))
    #expect(app.migrations.done.map(\.change) == [.movedIntoVault(from: "access_token")])
    #expect(try app.value(for: key)?.reveal().access == "hush")
    #expect(try bench.defaults().names() == [])
    let id = StorageKey("user_id", vaulted: Int.self)
    try bench.defaults().setValue(7, forKey: "user_id")
    #expect(try bench.app(Space(id)).value(for: id) == 7)
  }

  @Test func `a plain copy that is no such secret stays, is said, and goes when the secret is set`() throws {
    let bench = try Bench()
    try bench.defaults().setValue(5, forKey: "token")
    let key = StorageKey("token", secret: AuthToken.self)
    let app = try bench.app(Space(key))
    try expect(.undecodable(stored: "integer")) { _ = try app.value(for: key) }
    #expect(try bench.defaults().load("token") == .integer(5))
    try app.set(Sealed(AuthToken()), for: key)
    #expect(try app.value(for: key)?.reveal() == AuthToken())
    #expect(try bench.defaults().names() == [])
  }

  @Test func `a secret's plain copy written by an older program is dropped in favour of the vault's`() throws {
    let bench = try Bench()
    let key = StorageKey("token", secret: String.self)
    try bench.app(Space(key)).set(Sealed("vault"), for: key)
    try bench.defaults().setValue("plain-copy", forKey: "token")
    let app = try bench.app(Space(key))
    #expect(app.migrations.done.map(\.change) == [.superseded("token")])
    #expect(try app.value(for: key)?.reveal() == "vault")
    #expect(try !bench.plainBytes().contains(Data("plain-copy".utf8)))
  }

  @Test func `a scrubbing that was cut short is finished by the next to open`() throws {
    let bench = try Bench()
    try bench.defaults().save(.bool(true), for: "coffer.scrub-pending")
    let app = try bench.app(Space(StorageKey("token", secret: String.self)))
    #expect(try bench.defaults().names() == [] && app.migrations.pending.isEmpty)
  }

  @Test func `a plain key that ends with the session is listed in its domain`() throws {
    let bench = try Bench()
    let one = StorageKey("account", of: String.self).endsWithSession()
    let two = StorageKey("host", default: "").endsWithSession()
    let app = try bench.app(Space(one), Space(two))
    #expect(try bench.defaults().names() == [])
    try app.set("Ada", for: one)
    try app.transaction { try $0.set("example.com", for: two) }
    try app.update(one) { $0 = "Bob" }
    let listed = try bench.defaults().load("coffer.session-keys")
    #expect(listed == .array([.string("account"), .string("host")]))
    for name in ["coffer.session-keys", "coffer.scrub-pending"] {
      try expect(.invalidName) { _ = try bench.app(Space(StorageKey(name, default: 0))) }
    }
  }

  @Test func `a renamed value of the session goes with the logout of a program that does not know its key`() throws {
    let bench = try Bench()
    let account = StorageKey("account", of: String.self).endsWithSession()
    let seen = StorageKey("seen", of: String.self)
    let access = StorageKey("access_token", secret: String.self)
    let first = try bench.app(Space(account), Space(seen), Space(access))
    try first.set("ada", for: account)
    try first.set("7", for: seen)
    try first.set(Sealed("hush"), for: access)
    let user = StorageKey("user_account", of: String.self).renamed(from: "account").endsWithSession()
    let count = StorageKey("seen", of: Int.self).upgraded(from: String.self) { Int($0) }.endsWithSession()
    let token = StorageKey("token", secret: String.self).renamed(from: "access_token").endsWithSession()
    let app = try bench.app(Space(user), Space(count), Space(token))
    #expect(app.migrations.done.count == 3)
    #expect(try bench.vault.load("token")?.metadata.isSessionItem == true)
    let other = try bench.app(Space(StorageKey("theme", default: "light")))
    try other.transaction { try $0.endSession() }
    #expect(try app.value(for: user) == nil && app.value(for: count) == nil && app.value(for: token) == nil)
    #expect(try bench.defaults().names() == [] && bench.vault.names() == [])
  }

  @Test func `a set that the list of session keys stops leaves what an older program stored, and a removal needs no list`() throws
  {
    let bench = try Bench()
    let defaults = try bench.defaults()
    try defaults.setValue("ada", forKey: "account")
    try defaults.save(.string("no list"), for: "coffer.session-keys")
    let user = StorageKey("user", of: String.self).renamed(from: "account").endsWithSession()
    let theme = StorageKey("theme", default: "light")
    let app = try bench.app(Space(user), Space(theme))
    try app.transaction { transaction in
      let error = #expect(throws: StoreError.self) { try transaction.set("bob", for: user) }
      #expect(error?.key == "coffer.session-keys")
      try transaction.set("dark", for: theme)
    }
    #expect(try defaults.load("account") == .string("ada") && app.value(for: theme) == "dark")
    try app.transaction { try $0.remove(user) }
    #expect(try defaults.names() == ["coffer.session-keys", "theme"])
  }

  @Test func `plain text whose name reads like a credential is reported at open`() throws {
    struct Keys: KeySpace {
      let token = StorageKey("github_token", of: String.self)
      let apiKey = StorageKey("apiKey", default: Data())
      let width = StorageKey("tokenWidth", default: 3)
      let theme = StorageKey("theme", default: "light")
      let real = StorageKey("password", secret: String.self)
    }
    #expect(try StorageRouter.inMemory(keys: Keys()).credentialLikeKeys.map(\.name) == ["apiKey", "github_token"])
    for name in ["API_KEY", "smtp.password", "clientSecret", "private-key"] { #expect(StoredName.looksLikeCredential(name)) }
    for name in ["theme", "monkey", "keyboard", "tokenizer", "passage"] { #expect(!StoredName.looksLikeCredential(name)) }
  }

  @Test func `a failing read of one migration does not keep other keys from working`() throws {
    let bench = try Bench()
    try bench.vault.lock()
    let secret = StorageKey("token", secret: String.self).renamed(from: "old"), plain = StorageKey("n", default: 1)
    let app = try bench.app(Space(secret), Space(plain))
    try app.set(2, for: plain)
    #expect(try app.value(for: plain) == 2)
    try bench.unlock()
    #expect(app.migrate().pending.isEmpty)
  }
}
