import Coffer
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferTesting
import CofferVault
import Foundation
import Testing

@testable import CofferPostgres

@Suite(.tags(.process), .wholeRun) struct PostgresDefaultsTests {
  @Test(arguments: ConformanceCheck.allCases) func `settings on a server conform`(check: ConformanceCheck) async throws {
    let server = try DatabaseServer.shared
    var abilities = StoreConformance<Plain>.Abilities()
    abilities.prepares = false
    abilities.decides = false
    abilities.largestValue = 1 << 20
    let store = StoreConformance<Plain>("PostgresDefaults", abilities: abilities) {
      let place = VaultPlace(server.place())
      let store = try PostgresDefaults.open(domain: "app", at: place)
      return .init(store, reopen: { try PostgresDefaults.open(domain: "app", at: place) }, close: { try store.close() })
    }
    try await store.run(check)
  }

  @Test func `names, values and sizes are those of the plain store in files, and names are told apart by their bytes`() throws {
    let server = try DatabaseServer.shared
    let place = VaultPlace(server.place())
    for bad in ["", ".", "..", "a/b", "a\nb", String(repeating: "d", count: 201)] {
      #expect(kind { _ = try PostgresDefaults.open(domain: bad, at: place) } == .invalidName)
    }
    let store = try PostgresDefaults.open(domain: "a'; DROP SCHEMA x; --", at: place)
    #expect(kind { try store.save(.bool(true), for: "a\u{FFFE}") } == .invalidName)
    #expect(kind { try store.save(.string("\u{1}"), for: "a") } == .unencodable)
    var deep = PlainForm.integer(1)
    for _ in 0..<33 { deep = .array([deep]) }
    #expect(kind { try store.save(deep, for: "a") } == .unencodable)
    let date = PlainForm.date(Date(timeIntervalSinceReferenceDate: 0.25))
    for (name, form) in [("e\u{301}", date), ("\u{e9}", .real(.nan)), ("%_\\'", .unsigned(7))] { try store.save(form, for: name) }
    #expect(try store.load("e\u{301}") == date && store.load("\u{e9}") == .real(.nan) && store.load("%_\\'") == .integer(7))
    #expect(try store.names().map(\.utf8.count).sorted() == [2, 3, 4])
    #expect(try PostgresDefaults.open(domain: "other", at: place).names() == [], "a domain is not another")

    let full = try PostgresDefaults.open(domain: "full", at: place)
    try full.save(.string("a"), for: "a")
    // As though there were sixteen megabytes.
    let domain = "\(full.table.schema).plain_domain WHERE domain = 'full'"
    try server.sql("UPDATE \(domain.replacing(" WHERE", with: " SET weight = \((16 << 20) - 40) WHERE"))")
    #expect(kind { try full.save(.string("much!"), for: "more") } == .tooLarge(limit: 16 << 20))
    try full.save(.string("ab"), for: "a")
    try full.save(nil, for: "a")
    try full.save(.string("much!"), for: "more")
    #expect(try server.sql("SELECT \(16 << 20) - weight, names, version FROM \(domain)") == "33|1|4")
    #expect(try full.names() == ["more"])
    // Only its last commits are remembered.
    try server.sql("UPDATE \(domain.replacing(" WHERE", with: " SET version = 1030 WHERE"))")
    try full.save(.string("less"), for: "more")
    #expect(try server.sql("SELECT version FROM \(full.table.schema).plain_commit WHERE domain = 'full'") == "1031")
  }

  @Test func `what is no place for settings is refused, with its reason`() throws {
    let server = try DatabaseServer.shared
    #expect(kind { _ = try PostgresDefaults.open(domain: "a", at: "/srv/vault.sqlite") } == .unsupported)
    let error = #expect(throws: StoreError.self) {
      _ = try PostgresDefaults.open(domain: "a", at: "postgresql://u:hidden@host/db#main")
    }
    #expect(error?.kind == .invalidName && error.map { !"\($0)".contains("hidden") } == true)
    let foreign = server.place()
    let schema = "coffer_\(foreign.drop { $0 != "#" }.dropFirst())"
    try server.sql("CREATE SCHEMA \(schema); CREATE TABLE \(schema).plain (a text)")
    #expect(kind { _ = try PostgresDefaults.open(domain: "a", at: VaultPlace(foreign)) } == .damaged)
    let early = server.place("e\(UInt64.random(in: 0 ... .max))", "options=-csynchronous_commit%3Doff")
    #expect(kind { _ = try PostgresDefaults.open(domain: "a", at: VaultPlace(early)) } == .refused, "its tables are not made")
    let allowing = try PostgresDefaults.open(
      domain: "a", at: VaultPlace(early.replacing("#", with: "&coffer_allow_async=1#")))
    try allowing.save(.bool(true), for: "a")
    let refusing = try PostgresDefaults.open(domain: "a", at: VaultPlace(early))
    #expect(kind { try refusing.save(.bool(false), for: "a") } == .refused)
    #expect(try refusing.load("a") == .bool(true))
    try server.sql("UPDATE \(refusing.table.schema).plain SET form = '\\x01'")
    #expect(try refusing.load("a") == .bool(false))
    try server.sql("UPDATE \(refusing.table.schema).plain SET form = '\\x63'")
    #expect(kind { _ = try refusing.load("a") } == .damaged)
  }

  @Test func `a server that is away is to be read by a mirror where a vault is asked for, and not where settings are`() throws {
    let server = try DatabaseServer.make()
    let shared = try SharedVault(on: server)
    let vault = try shared.create()
    let settings = try PostgresDefaults.open(domain: "app", at: shared.place)
    func remedy(_ body: () throws -> Void) throws -> StoreError.Remedy? {
      let error = try #require(throws: StoreError.self) { try body() }
      #expect(error.kind == .unreachable && !error.cure.isEmpty, "\(error)")
      return error.remedy
    }
    server.stop(SIGINT)
    eventually("the server has ended") { server.pid == 0 }
    #expect(try remedy { _ = try vault.get(name("a")) } == .readMirror)
    #expect(try remedy { _ = try shared.unlock() } == .readMirror)
    #expect(try remedy { _ = try settings.load("a") } == nil)
    #expect(try remedy { try settings.save(.bool(true), for: "a") } == nil)
    #expect(try remedy { _ = try settings.changes.subscribe { _ in } } == nil)
    #expect(try remedy { _ = try PostgresDefaults.open(domain: "app", at: shared.place) } == nil)
  }

  @Test func `settings and a vault share a schema, whichever was there first, and neither takes the other away`() throws {
    let first = try SharedVault()
    let second = try SharedVault()
    let before = try PostgresDefaults.open(domain: "app", at: first.place)
    try before.save(.string("kept"), for: "a")
    #expect(kind { _ = try first.unlock() } == .noVault)
    let vault = try first.create()
    try vault.set(form("1"), for: name("a"))
    #expect(kind { try first.create() } == .alreadyExists)
    #expect(try before.load("a") == .string("kept") && vault.verify().items == 1)

    let other = try second.create()
    let after = try PostgresDefaults.open(domain: "app", at: second.place)
    try after.save(.string("kept"), for: "a")
    try other.set(form("2"), for: name("a"))
    try other.rotate()
    let file = second.folder.path.appending("backup.sqlite")
    _ = try LockedVault.open(second.place, options: .withoutPins).backup(to: file)
    #expect(try after.load("a") == .string("kept") && second.unlock().verify().items == 1)
  }

  @Test func `a reader's role reads and observes settings, a writer's writes them, whenever the tables were made`() throws {
    let shared = try SharedVault()
    let keys = SettingsKeys()
    let role = "r\(UInt64.random(in: 0 ... .max))"
    _ = try shared.create()
    try shared.server.sql("CREATE ROLE \(role) LOGIN")
    try shared.server.sql("CREATE ROLE w\(role) LOGIN")
    try shared.grant(role, .reader)
    try shared.grant("w\(role)", .writer)
    let place = { (role: String) in VaultPlace(shared.url.replacing("//coffer@", with: "//\(role)@")) }
    #expect(kind { _ = try PostgresDefaults.open(domain: "app", at: place("w\(role)")) } == .denied, "who may make no tables")
    let owner = try PostgresDefaults.open(domain: "app", at: shared.place)
    try owner.save(.string("light"), for: "theme")
    let reader = try PostgresDefaults.open(domain: "app", at: place(role))
    let told = Collected<String>()
    let subscription = try reader.changes.subscribe { event in
      if case .changes(let changes) = event { for change in changes { told.add(change.name) } }
    }
    defer { subscription.cancel() }
    let writer = try PostgresDefaults.open(domain: "app", at: place("w\(role)"))
    try writer.save(.string("dark"), for: "theme")
    eventually("the reader is told") { told.all == ["theme"] }
    #expect(try reader.load("theme") == .string("dark"))
    #expect(kind { try reader.save(.string("x"), for: "theme") } == .readOnly)
    let vault = try LockedVault.open(place(role), options: .withoutPins).unlock(with: shared.credentials())
    let router = try StorageRouter(plain: reader, vault: VaultStore(service: "app", vault: vault), keys: keys)
    #expect(try router.values(keys.theme, keys.token).0 == "dark")
  }

  @Test func `changes of others are told once each, over broken connections and a server that was started again`() throws {
    let server = try DatabaseServer.make()
    let place = VaultPlace(server.place())
    let store = try PostgresDefaults.open(domain: "app", at: place)
    try store.save(.integer(0), for: "there before")
    let told = Collected<Change>()
    let events = Collected<ChangeFeed.Event>()
    let subscription = try store.changes.subscribe { event in
      events.add(event)
      if case .changes(let changes) = event { for change in changes { told.add(change) } }
    }
    let other = try PostgresDefaults.open(domain: "app", at: place)
    try other.save(.integer(1), for: "first")
    try store.save(.integer(1), for: "own")
    try other.save(nil, for: "first")
    try PostgresDefaults.open(domain: "another", at: place).save(.integer(1), for: "elsewhere")
    eventually("they are told") { told.all.last == Change("first", .removed, by: .otherProcess(id: nil)) }
    #expect(told.all.filter { $0.name == "own" } == [Change("own", .set, by: .thisProcess)])
    #expect(told.all.filter { $0.name == "first" }.count <= 2 && told.all.allSatisfy { $0.name == "own" || $0.name == "first" })

    for number in 0..<40 {
      if number % 16 == 8 {
        try server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'coffer'")
      }
      eventually("the other writes") { kind { try other.save(.integer(1), for: "n\(number)") } == nil }
    }
    let names = Set((0..<40).map { "n\($0)" })
    eventually("all are told") { names.isSubset(of: told.all.map(\.name)) }
    #expect(told.all.filter { names.contains($0.name) }.count == names.count, "each once")
    try server.crash()
    eventually("the other writes again") { kind { try other.save(.integer(1), for: "after a crash") } == nil }
    try other.save(nil, for: "n7")
    eventually("both are told") { Set(told.all.suffix(2).map(\.name)) == ["after a crash", "n7"] }
    #expect(told.all.filter { $0.name == "after a crash" }.count == 1 && !events.all.contains(.access))

    // A restored backup: the known commit is not in its history.
    try server.sql("UPDATE \(store.table.schema).plain_domain SET version = version - 1 WHERE domain = 'app'")
    try server.sql("UPDATE \(store.table.schema).plain_commit SET id = decode(md5('x'), 'hex')")
    try other.save(.integer(2), for: "anew")
    eventually("reads may give something else") { events.all.contains(.access) }
    try other.save(.integer(3), for: "anew")
    eventually("what comes next is told") { told.all.last == Change("anew", .set, by: .otherProcess(id: nil)) }
    subscription.cancel()
  }

  @Test func `no call waits without an end, and a server that is away is said to be`() throws {
    let server = try DatabaseServer.make()
    let place = VaultPlace(server.place("main", "coffer_timeout=3"))
    let store = try PostgresDefaults.open(domain: "app", at: place)
    try store.save(.integer(1), for: "a")
    let slow = try PostgresDefaults.open(domain: "app", at: VaultPlace(server.place("main")))
    try slow.update("a") { (old) throws(StoreError) in
      let done = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        #expect(kind { try store.save(.integer(2), for: "a") } == .busy)
        #expect((try? store.load("a")) == .integer(1), "a read waits for no writer")
        done.signal()
      }
      done.wait()
      return .integer(2)
    }
    try store.save(.integer(3), for: "a")
    try server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'coffer'")
    #expect(try store.load("a") == .integer(3), "nothing was asked of the connection that was ended")
    server.stop(SIGINT)
    eventually("the server is gone") { kind { _ = try store.load("a") } == .unreachable }
    #expect(kind { _ = try PostgresDefaults.open(domain: "app", at: place) } == .unreachable)
  }
}

struct SettingsKeys: KeySpace {
  let theme = StorageKey("theme", default: "absent")
  let size = StorageKey("size", default: "absent")
  let token = StorageKey("token", secret: String.self)
  let other = StorageKey("other", secret: String.self)
}
