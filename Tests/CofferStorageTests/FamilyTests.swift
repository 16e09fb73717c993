import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Synchronization
import Testing

@Suite struct FamilyTests {
  struct Keys: KeySpace {
    let tokens = StorageKeyFamily("api", secret: String.self).endsWithSession()
    let limits = StorageKeyFamily("limit", default: 100)
    let notes = StorageKeyFamily("note", of: String.self).limited(toBytes: 8)
    let ids = StorageKeyFamily("id", vaulted: Int.self)
    let theme = StorageKey("theme", default: Theme.light)
  }
  let keys = Keys()

  @Test func `a member is a key: it is set, read, updated, removed, and takes part in transactions`() throws {
    let app = try StorageRouter.inMemory(keys: keys)
    let customer = "acme GmbH/Zürich"
    #expect(try app.value(for: keys.tokens[customer]) == nil && app.value(for: keys.limits[customer]) == 100)
    try app.transaction { tx in
      try tx.set(Sealed("tok"), for: keys.tokens[customer])
      try tx.update(keys.limits[customer]) { $0 += 1 }
    }
    try app.update(keys.limits[customer]) { $0 += 1 }
    let (token, limit) = try app.values(keys.tokens[customer], keys.limits[customer])
    #expect(try token?.reveal() == "tok" && limit == 102)
    #expect(try app.value(for: keys.limits["other"]) == 100)
    #expect(try app.vault.names() == ["api/" + customer] && app.plain.load("limit/" + customer) == .integer(102))
    try app.remove(keys.tokens[customer])
    #expect(try !app.contains(keys.tokens[customer]))
  }

  @Test func `what the family's declaration adds holds for each member`() throws {
    let app = try StorageRouter.inMemory(keys: keys)
    try app.set(Sealed("tok"), for: keys.tokens["a"])
    #expect(try app.vault.load("api/a")?.metadata.attributes["coffer:ends-with-session"] == nil)
    #expect(keys.tokens["a"].traits.endsWithSession && keys.tokens["a"].traits.isSecret)
    #expect(kind { try app.set("nine byte", for: keys.notes["a"]) } == .tooLarge(limit: 8))
    #expect(keys.notes["a"].site == keys.notes["b"].site)
  }

  @Test func `the members that have a value are listed, without opening one`() throws {
    let app = try StorageRouter.inMemory(keys: keys)
    for name in ["b", "a", "é", "a/b"] {
      try app.set(Sealed(name), for: keys.tokens[name])
      try app.set("n", for: keys.notes[name])
    }
    try app.set(.dark, for: keys.theme)
    #expect(try app.members(of: keys.tokens) == ["a", "a/b", "b", "é"])
    #expect(try app.members(of: keys.notes) == app.members(of: keys.tokens))
    #expect(try app.members(of: keys.limits) == [] && app.members(of: keys.ids) == [])
  }

  @Test func `an observer of a member is told of it alone`() async throws {
    let app = try StorageRouter.inMemory(keys: keys)
    var changes = try app.changes(of: keys.limits["a"]).makeAsyncIterator()
    #expect(try await changes.next()?.get() == 100)
    try await app.set(1, for: keys.limits["b"])
    try await app.set(2, for: keys.limits["a"])
    #expect(try await changes.next()?.get() == 2)
  }

  @Test func `a member has a name, of which no store has a doubt`() throws {
    let app = try StorageRouter.inMemory(keys: keys)
    for name in ["", "a\nb", String(repeating: "n", count: 1024)] {
      #expect(kind { try app.set(1, for: keys.limits[name]) } == .invalidName)
      #expect(kind { _ = try app.value(for: keys.tokens[name]) } == .invalidName)
    }
  }

  @Test func `the names of a family are its own: a key or a family among them is refused when the router is opened`() throws {
    struct Among: KeySpace { let one = StorageKey("limit/one", default: 1) }
    struct Former: KeySpace { let one = StorageKey("one", default: 1).renamed(from: "api/one") }
    struct Same: KeySpace { let limits = StorageKeyFamily("limit", default: 1) }
    struct Inner: KeySpace { let limits = StorageKeyFamily("limit/daily", default: 1) }
    struct Empty: KeySpace { let limits = StorageKeyFamily("", default: 1) }
    struct Beside: KeySpace {
      let limit = StorageKey("limit", default: 1)
      let limits = StorageKeyFamily("limits", default: 1)
    }
    let spaces: [any KeySpace] = [Among(), Former(), Same(), Inner()]
    for space in spaces {
      let error = #expect(throws: StoreError.self) { try StorageRouter.inMemory(keys: keys, space) }
      #expect(error?.kind == .duplicateKey, "\(space)")
      #expect(error?.description.contains("FamilyTests.swift") == true)
    }
    #expect(kind { _ = try StorageRouter.inMemory(keys: Empty()) } == .invalidName)
    #expect(kind { _ = try StorageRouter.inMemory(keys: keys, Beside()) } == nil)
  }

  @Test func `a member of a family that the router was not given is refused`() throws {
    struct Other: KeySpace { let limits = StorageKeyFamily("limit", default: "") }
    let app = try StorageRouter.inMemory(keys: keys)
    #expect(kind { _ = try app.value(for: Other().limits["a"]) } == .undeclared)
    #expect(kind { _ = try app.members(of: Other().limits) } == .undeclared)
    #expect(kind { _ = try app.value(for: StorageKeyFamily("none", default: 1)["a"]) } == .undeclared)
    #expect(kind { _ = try app.value(for: StorageKey("limit/a", default: 100)) } == .undeclared)
  }

  @Test func `members that were preferences move into the vault, and leave nothing behind`() throws {
    let plain = MemoryStore<Plain>(), vault = MemoryStore<Vault>()
    for name in ["a", "b"] { try plain.save(.string("tok " + name), for: "api/" + name) }
    try plain.save(.string("tok c"), for: "apical")
    let app = try StorageRouter(plain: plain, vault: vault, keys: keys)
    #expect(try plain.names() == ["apical"] && vault.names() == ["api/a", "api/b"])
    #expect(try app.value(for: keys.tokens["a"])?.reveal() == "tok a")
    #expect(app.migrations.done.map(\.key) == ["api/a", "api/b"] && app.migrations.pending.isEmpty)
  }

  @Test func `plain families of text whose names read like those of credentials are reported`() throws {
    struct Doubtful: KeySpace { let tokens = StorageKeyFamily("token", of: String.self) }
    let app = try StorageRouter.inMemory(keys: keys, Doubtful())
    #expect(app.credentialLikeKeys.map(\.name) == ["token/"])
  }

  /// Data as an older program with only one kind of store left it.
  private static let former: [String: PlainForm] = ["api/a": .string("one"), "api/b": .string("two"), "limit/a": .integer(7)]

  @Test func `members that could not be moved when the router was opened are listed, once the vault opens`() throws {
    let plain = MemoryStore<Plain>(), vault = LockableVault()
    for (name, form) in Self.former { try plain.save(form, for: name) }
    vault.isLocked.store(true, ordering: .relaxed)
    let app = try StorageRouter(plain: plain, vault: vault, keys: keys)
    #expect(app.migrations.pending.map(\.key) == ["api/a", "api/b"])
    vault.isLocked.store(false, ordering: .relaxed)
    #expect(try app.members(of: keys.tokens) == ["a", "b"])
    #expect(app.migrations.pending.isEmpty && app.migrations.done.count == 2)
    #expect(try plain.names() == ["limit/a"])
  }

  @Test func `the end of a session takes members along that were never marked, and what lies in the plain store`() throws {
    let ending = EndingKeys()
    let plain = MemoryStore<Plain>(), vault = LockableVault()
    let older = try StorageRouter(plain: plain, vault: vault, keys: keys)
    try older.set(3, for: keys.limits["a"])
    try older.set(4, for: keys.ids["a"])
    try plain.save(.string("in the clear"), for: "api/late")
    vault.isLocked.store(true, ordering: .relaxed)
    let app = try StorageRouter(plain: plain, vault: vault, keys: ending)
    vault.isLocked.store(false, ordering: .relaxed)
    try app.transaction { try $0.endSession() }
    app.finishScrubbing()
    #expect(try plain.names() == [] && vault.names() == [])
    #expect(try app.value(for: ending.tokens["late"]) == nil)
  }

  @Test func `the list of what ends with a session has one entry for a family, however many members come and go`() throws {
    let ending = EndingKeys()
    let app = try StorageRouter.inMemory(keys: ending)
    for number in 0..<100 { try app.set(number, for: ending.limits["\(number)"]) }
    try app.transaction { try $0.set(1, for: ending.limits["in a transaction"]) }
    guard case .array(let list)? = try app.plain.load("coffer.session-keys") else { throw CancellationError() }
    #expect(list == [.dictionary(["prefix": .string("limit/")])])
    let other = try StorageRouter(plain: app.plain, vault: app.vault, spaces: [])
    try other.transaction { try $0.endSession() }
    #expect(try app.plain.names() == [])
  }

  struct EndingKeys: KeySpace {
    let tokens = StorageKeyFamily("api", secret: String.self).endsWithSession()
    let limits = StorageKeyFamily("limit", default: 100).endsWithSession()
    let ids = StorageKeyFamily("id", vaulted: Int.self).endsWithSession()
  }

  struct Composed: KeySpace {
    let a = StorageKeyFamily("\u{e9}", default: 0), b = StorageKeyFamily("e\u{301}", default: 0)
  }

  struct Long: KeySpace {
    let a = StorageKeyFamily(String(repeating: "x", count: 1023), default: 0)
  }

  @Test func `families that Unicode holds for one, and a family whose name leaves its members none, are refused`() {
    #expect(kind { _ = try StorageRouter.inMemory(keys: Composed()) } == .duplicateKey)
    #expect(kind { _ = try StorageRouter.inMemory(keys: Long()) } == .invalidName)
  }
}

private final class LockableVault: DecidingStore {
  private let store = MemoryStore<Vault>()
  let isLocked = Atomic(false)
  var place: String { store.place }

  private func check() throws(StoreError) {
    if isLocked.load(ordering: .relaxed) { throw StoreError(.locked, "locked", cure: "unlock it") }
  }

  func load(_ name: String) throws(StoreError) -> SecretForm? {
    try check()
    return try store.load(name)
  }
  func load(_ names: [String]) throws(StoreError) -> [Reading<Vault>] {
    try check()
    return try store.load(names)
  }
  func names() throws(StoreError) -> [String] {
    try check()
    return try store.names()
  }
  func update(_ name: String, _ body: (SecretForm?) throws(StoreError) -> SecretForm?) throws(StoreError) {
    try check()
    try store.update(name, body)
  }
  func commit(_ batch: Batch<Vault>, decision: Decision?) throws(StoreError) {
    try check()
    try store.commit(batch, decision: decision)
  }
}
