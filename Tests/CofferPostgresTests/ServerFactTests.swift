import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferPostgres

/// Changes that a server omits, too many rows and notices, and warnings.
@Suite(.tags(.process), .wholeRun) struct ServerFactTests {
  /// The server omits one kind of change to a table, but reports success.
  private func leaveOut(_ change: String, of table: String, _ shared: SharedVault, _ body: () throws -> Void) throws {
    let (server, s) = (shared.server, shared.schema)
    try server.sql(
      """
      CREATE FUNCTION \(s).nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
      CREATE TRIGGER nothing BEFORE \(change) ON \(s).\(table) FOR EACH ROW EXECUTE FUNCTION \(s).nothing()
      """)
    try body()
    try server.sql("DROP FUNCTION \(s).nothing CASCADE")
  }

  @Test func `a change of which the server leaves out a row fails, and the vault is as it was`() throws {
    let shared = try SharedVault()
    let vault = try shared.create(shared.pins)
    for number in 0..<3 { try vault.set(form("\(number)"), for: name("\(number)"), keeping: 2) }
    try vault.set(form("new"), for: name("0"), keeping: 2)
    let changes: [(table: String, change: String, body: () throws -> Void)] = [
      ("state", "UPDATE", { try vault.set(form("x"), for: name("1")) }),
      ("rec", "UPDATE", { try vault.set(form("x"), for: name("1")) }),
      ("rec", "INSERT", { try vault.set(form("x"), for: name("another")) }),
      ("rec", "DELETE", { try vault.remove(name("1")) }),
      ("old", "INSERT", { try vault.set(form("x"), for: name("1")) }),
      ("old", "DELETE", { try vault.prune(.allBut(0)) }),
      ("digest", "UPDATE", { try vault.set(form("x"), for: name("1")) }),
      ("digest", "DELETE", { for number in 0..<3 { try vault.remove(name("\(number)")) } }),
      ("log", "INSERT", { try vault.set(form("x"), for: name("1")) }),
      ("header", "UPDATE", { try vault.rotate() }), ("header_copy", "UPDATE", { try vault.rotate() }),
      ("rec", "UPDATE", { try vault.rotate() }), ("state", "UPDATE", { try vault.rotate() }),
    ]
    try shared.keepRows("kept")
    for (table, change, body) in changes {
      try leaveOut(change, of: table, shared) { #expect(kind(body) == .tampered, "\(change) of \(table)") }
      let reader = try shared.unlock(shared.pins)
      #expect(kind { _ = try reader.verify() } == nil, "after \(change) of \(table)")
      #expect(try text(reader.get(name("1"))) == "1" && text(vault.get(name("0"))) == "new", "after \(change) of \(table)")
    }
    try vault.set(form("x"), for: name("1"))
    #expect(try text(shared.unlock(shared.pins).get(name("1"))) == "x")
  }

  @Test func `a change of settings of which the server leaves out a row fails, and they are as they were`() throws {
    let shared = try SharedVault()
    let settings = try PostgresDefaults.open(domain: "app", at: shared.place)
    try settings.save(.integer(1), for: "a")
    let changes: [(table: String, change: String, body: () throws -> Void)] = [
      ("plain", "UPDATE", { try settings.save(.integer(2), for: "a") }),
      ("plain", "INSERT", { try settings.save(.integer(2), for: "b") }),
      ("plain", "DELETE", { try settings.update("a") { (_) throws(StoreError) in nil } }),
      ("plain_domain", "UPDATE", { try settings.save(.integer(2), for: "a") }),
      ("plain_commit", "INSERT", { try settings.save(.integer(2), for: "a") }),
    ]
    for (table, change, body) in changes {
      try leaveOut(change, of: table, shared) { #expect(kind(body) == .tampered, "\(change) of \(table)") }
      #expect(try settings.load("a") == .integer(1) && settings.names() == ["a"], "after \(change) of \(table)")
    }
    try settings.save(.integer(2), for: "a")
  }

  /// The vault of `shared` behind a proxy that counts the server's bytes, for a role that does not own its tables.
  private func counted(_ shared: SharedVault) throws -> (proxy: SocketProxy, place: VaultPlace, role: String) {
    let (role, server) = (shared.schema + "_reader", shared.server)
    try server.sql("CREATE ROLE \(role) LOGIN")
    try shared.grant(role, .reader)
    let proxy = try SocketProxy(server.folder, target: server.port)
    let url = shared.url.replacingOccurrences(of: ":\(server.port)/", with: ":\(proxy.port)/")
    return (proxy, VaultPlace(url.replacingOccurrences(of: "coffer@", with: "\(role)@")), role)
  }

  @Test func `of a column that is longer than one can be, no more comes than shows it`() throws {
    let shared = try SharedVault()
    let vault = try shared.create()
    try vault.set(form("1"), for: name("a"))
    let (proxy, place, _) = try counted(shared)
    defer { proxy.end() }
    try shared.keepRows("kept")
    let open = try LockedVault.open(place, options: .withoutPins).unlock(with: shared.credentials())
    let long = "decode(repeat('00', 40000000), 'hex')"
    for (table, column) in [
      ("rec", "value"), ("rec", "meta"), ("rec", "rid"), ("state", "bytes"), ("header", "bytes"), ("digest", "hash"),
      ("log", "box"),
    ] {
      try shared.server.sql("UPDATE \(shared.schema).\(table) SET \(column) = \(long)")
      _ = proxy.count()
      #expect(
        kind { _ = try open.get(name("a")) } != nil || !["rec", "state"].contains(table), "\(table).\(column), of one item")
      let found = kind {
        let vault = try LockedVault.open(place, options: .withoutPins).unlock(with: shared.credentials())
        _ = try vault.verify()
        _ = try vault.log()
      }
      #expect(found != nil, "\(table).\(column)")
      #expect(proxy.count().down < 20 << 20, "\(table).\(column)")
      try shared.putBack("kept")
    }
    #expect(try text(open.get(name("a"))) == "1")
  }

  @Test func `rows without an end are refused where there are more than there can be`() throws {
    let shared = try SharedVault()
    let vault = try shared.create()
    try vault.set(form("1"), for: name("a"))
    let (proxy, place, _) = try counted(shared)
    defer { proxy.end() }
    try shared.keepRows("kept")
    let s = shared.schema
    let more =
      "substring(idx FROM 1 FOR 4) || int4send(n) || int8send(n), rid, meta, value FROM \(s).rec, generate_series(1, 300000) n"
    for (what, sql) in [
      ("records", "INSERT INTO \(s).rec SELECT \(more)"),
      ("outcomes", "INSERT INTO \(s).decided SELECT int8send(n) || int8send(n), 1, 1 FROM generate_series(1, 300000) n"),
      (
        "states",
        "ALTER TABLE \(s).state DROP CONSTRAINT state_pkey; INSERT INTO \(s).state SELECT 1, bytes FROM \(s).state, generate_series(1, 100000)"
      ),
    ] {
      try shared.server.sql(sql)
      _ = proxy.count()
      let found = kind {
        let vault = try LockedVault.open(place, options: .withoutPins).unlock(with: shared.credentials())
        #expect(try text(vault.get(name("a"))) == "1")
        _ = try vault.verify()
      }
      // Equal states reveal nothing.
      #expect(found == .tampered || found == .damaged || what == "states", "\(what): \(String(describing: found))")
      #expect(proxy.count().down < 12 << 20, "\(what)")
      try shared.putBack("kept")
    }
  }

  @Test func `what a server says without an end is taken up to the most that an answer has`() throws {
    let shared = try SharedVault()
    try shared.create().set(form("1"), for: name("a"))
    let (proxy, place, role) = try counted(shared)
    defer { proxy.end() }
    let s = shared.schema
    // It runs at each read of the state by a role that does not own it.
    try shared.server.sql(
      """
      CREATE FUNCTION \(s).flood() RETURNS boolean LANGUAGE plpgsql AS
        'BEGIN FOR n IN 1..40000 LOOP RAISE WARNING ''%'', repeat(''x'', 20000); END LOOP; RETURN true; END';
      GRANT EXECUTE ON FUNCTION \(s).flood TO \(role);
      ALTER TABLE \(s).state ENABLE ROW LEVEL SECURITY; CREATE POLICY flooded ON \(s).state USING (\(s).flood())
      """)
    _ = proxy.count()
    #expect(kind { _ = try LockedVault.open(place, options: .withoutPins).unlock(with: shared.credentials()) } == .damaged)
    // 800 MB were on their way. Half of the bytes that arrive while libpq reads may go uncounted.
    #expect(proxy.count().down < 3 * PostgresLink.mostReceived)
    try shared.server.sql("DROP POLICY flooded ON \(s).state; ALTER TABLE \(s).state DISABLE ROW LEVEL SECURITY")
    let vault = try LockedVault.open(place, options: .withoutPins).unlock(with: shared.credentials())
    #expect(try text(vault.get(name("a"))) == "1")
  }

  @Test func `a warning of anything but the standby leaves a commit as certain as it is`() throws {
    let shared = try SharedVault()
    let vault = try shared.create()
    let s = shared.schema
    try shared.server.sql(
      """
      CREATE FUNCTION \(s).warn() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN RAISE WARNING ''canceling wait for synchronous replication due to user request''; RETURN NULL; END';
      CREATE CONSTRAINT TRIGGER warn AFTER UPDATE ON \(s).state DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION \(s).warn()
      """)
    try vault.set(form("1"), for: name("a"))
    #expect(try text(vault.get(name("a"))) == "1")
  }

  @Test func `a statement that the server ended is not said to be another machine's doing`() {
    let error = StoreError(PostgresFailure("57014"), "read the vault", place: "p")
    #expect(error.kind == .busy && !error.cure.contains("another machine") && error.cure.contains("coffer_timeout"))
  }
}
