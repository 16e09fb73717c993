import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferPostgres

/// A superuser of the database changes anything. A changed answer is refused, or equals the original.
@Suite(.tags(.campaign, .process), .wholeRun) struct LyingServerCampaign {
  private func vault() throws -> SharedVault {
    let shared = try SharedVault()
    let vault = try shared.create(shared.pins)
    for number in 0..<12 { try vault.set(form("\(number)"), for: name("\(number)"), keeping: 2) }
    try vault.set(form("old"), for: name("0"))
    try shared.keepRows("older")
    try vault.set(form("new"), for: name("0"))
    try shared.keepRows("newest")
    return shared
  }

  private static let refusals: [StoreError.Kind] = [.tampered, .damaged, .rolledBack, .forked, .replaced, .notAVault, .noVault]

  private func expectRefusal(_ what: String, _ shared: SharedVault) {
    let found = kind {
      let reader = try shared.unlock(shared.pins)
      _ = try reader.verify()
      #expect(try text(reader.get(name("0"))) == "new", "\(what)")
    }
    #expect(found.map { Self.refusals.contains($0) } ?? false, "\(what): \(String(describing: found))")
  }

  @Test func `rows that were swapped, deleted, put back, changed or added are refused`() throws {
    let shared = try vault()
    let vault = try shared.unlock(shared.pins)
    let s = shared.schema
    let first = "(SELECT idx FROM \(s).rec ORDER BY idx LIMIT 1)",
      second = "(SELECT idx FROM \(s).rec ORDER BY idx OFFSET 1 LIMIT 1)"
    var attacks: [(String, String)] = [
      (
        "a value of another record",
        "UPDATE \(s).rec SET value = (SELECT value FROM \(s).rec WHERE idx = \(second)) WHERE idx = \(first)"
      ),
      (
        "the whole content of another record",
        "UPDATE \(s).rec a SET rid = b.rid, meta = b.meta, value = b.value FROM \(s).rec b WHERE a.idx = \(first) AND b.idx = \(second)"
      ),
      ("a deleted record", "DELETE FROM \(s).rec WHERE idx = \(first)"),
      (
        "a deleted record and its digest",
        "DELETE FROM \(s).digest WHERE bucket = (SELECT get_byte(idx, 0) * 4 + get_byte(idx, 1) / 64 FROM \(s).rec WHERE idx = \(first)); DELETE FROM \(s).rec WHERE idx = \(first)"
      ),
      ("a value taken away", "UPDATE \(s).rec SET value = NULL WHERE idx = \(first)"),
      ("an empty value", "UPDATE \(s).rec SET value = '' WHERE idx = \(first)"),
      (
        "a record at another place",
        "UPDATE \(s).rec SET idx = set_byte(idx, 15, (get_byte(idx, 15) + 1) % 256) WHERE idx = \(first)"
      ),
      (
        "an index that is too long",
        "INSERT INTO \(s).rec SELECT idx || '\\x00', rid, meta, value FROM \(s).rec WHERE idx = \(first)"
      ),
      (
        "an index that is too short",
        "INSERT INTO \(s).rec SELECT '\\xffffff', rid, meta, value FROM \(s).rec WHERE idx = \(first)"
      ),
      (
        "a record that was added",
        "INSERT INTO \(s).rec SELECT set_byte(idx, 3, 255 - get_byte(idx, 3)), rid, meta, value FROM \(s).rec WHERE idx = \(first)"
      ),
      ("an old record that was added", "INSERT INTO \(s).old SELECT * FROM \(s).rec WHERE idx = \(first)"),
      ("no history", "DELETE FROM \(s).old"),
      ("no log", "DELETE FROM \(s).log"),
      ("a log without its last row", "DELETE FROM \(s).log WHERE seq = (SELECT max(seq) FROM \(s).log)"),
      (
        "a row of the log that was added",
        "INSERT INTO \(s).log SELECT max(seq) + 1, (SELECT box FROM \(s).log LIMIT 1) FROM \(s).log"
      ),
      ("a row of the log of no number", "INSERT INTO \(s).log VALUES (-1, '\\x00')"),
      ("two rows of the log swapped", "UPDATE \(s).log a SET box = b.box FROM \(s).log b WHERE a.seq = 2 AND b.seq = 3"),
      ("no state", "DELETE FROM \(s).state"), ("a second state", "INSERT INTO \(s).state SELECT 2, bytes FROM \(s).state"),
      ("a state of a later generation", "UPDATE \(s).state SET bytes = set_byte(bytes, 0, 255)"),
      ("a long state", "UPDATE \(s).state SET bytes = decode(repeat('00', 100000), 'hex')"),
      ("headers of zeros", "UPDATE \(s).header SET bytes = '\\x00'; UPDATE \(s).header_copy SET bytes = '\\x00'"),
      ("a second header", "INSERT INTO \(s).header SELECT 7, bytes FROM \(s).header"),
      ("no copy of the header", "DELETE FROM \(s).header_copy"),
      (
        "digests swapped",
        "UPDATE \(s).digest a SET hash = b.hash FROM \(s).digest b WHERE a.bucket = (SELECT min(bucket) FROM \(s).digest) AND b.bucket = (SELECT max(bucket) FROM \(s).digest)"
      ),
      (
        "a digest of zeros",
        "INSERT INTO \(s).digest SELECT n, decode(repeat('00', 32), 'hex') FROM generate_series(0, 2047) n WHERE n NOT IN (SELECT bucket FROM \(s).digest) LIMIT 1"
      ),
      ("a digest of no bucket", "INSERT INTO \(s).digest VALUES (5000, decode(repeat('00', 32), 'hex'))"),
      ("an outcome of no kind", "INSERT INTO \(s).decided VALUES (decode(repeat('00', 16), 'hex'), 9, 1)"),
    ]
    for table in ["rec", "old", "header", "header_copy", "state", "log", "digest"] {
      let columns = ["rec": "value", "old": "meta", "log": "box", "digest": "hash"]
      let column = columns[table] ?? "bytes"
      for bit in Campaign.cases(128, short: 6) {
        attacks.append(
          (
            "bit \(bit) of \(table)",
            "UPDATE \(s).\(table) SET \(column) = set_bit(\(column), \(bit), 1 - get_bit(\(column), \(bit)))"
          ))
      }
    }
    for (what, sql) in attacks {
      try shared.server.sql(sql)
      expectRefusal(what, shared)
      #expect(kind { _ = try vault.verify() } != nil, "\(what), to who has it open")
      try shared.putBack("newest")
      #expect(kind { _ = try vault.verify() } == nil, "after \(what)")
    }
    #expect(kind { _ = try shared.unlock(shared.pins).verify() } == nil)
    print("forged on a server: \(attacks.count)")
  }

  @Test func `what was so before is not so again: not all of it, and not a part`() throws {
    let shared = try vault()
    let vault = try shared.unlock(shared.pins)
    try shared.putBack("older")
    expectRefusal("all of an older state", shared)
    #expect(kind { _ = try vault.get(name("0")) } == .rolledBack)
    #expect(kind { try vault.set(form("x"), for: name("1")) } == .rolledBack)
    try shared.putBack("newest")
    for table in PostgresSchema.names where !["decided", "header", "header_copy", "intents"].contains(table) {
      try shared.putBack("older", [table])
      expectRefusal("an older \(table)", shared)
      try shared.putBack("newest")
    }
    for first in ["rec", "digest", "log"] {
      try shared.putBack("older", ["state", first])
      expectRefusal("an older state and \(first)", shared)
      try shared.putBack("newest")
    }
    #expect(try text(vault.get(name("0"))) == "new" && text(shared.unlock(shared.pins).get(name("0"))) == "new")
  }

  @Test func `another vault at the place is refused, under every name of the place, and so are tables that are none`() throws {
    let shared = try vault()
    let vault = try shared.unlock(shared.pins)
    try shared.server.sql("ALTER SCHEMA \(shared.schema) RENAME TO \(shared.schema)_away")
    #expect(kind { _ = try vault.get(name("0")) } != nil)
    #expect(kind { _ = try shared.unlock(shared.pins) } == .noVault)
    _ = try shared.create()
    #expect(kind { _ = try shared.unlock(shared.pins) } == .replaced)
    let link = shared.folder.path.appending("link").string
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: shared.server.folder)
    let spelled = VaultPlace(
      "postgresql:///postgres?user=coffer&host=\(link)&port=\(shared.server.port)#\(shared.url.drop { $0 != "#" }.dropFirst())")
    #expect(kind { _ = try LockedVault.open(spelled, options: shared.pins).unlock(with: shared.credentials()) } == .replaced)
    try shared.server.sql(
      "DROP SCHEMA \(shared.schema) CASCADE; CREATE SCHEMA \(shared.schema); CREATE TABLE \(shared.schema).state (id int)")
    #expect(kind { _ = try shared.unlock(shared.pins) } == .notAVault)
    try shared.server.sql("DROP SCHEMA \(shared.schema) CASCADE; ALTER SCHEMA \(shared.schema)_away RENAME TO \(shared.schema)")
    #expect(try text(shared.unlock(shared.pins).get(name("0"))) == "new")
    try shared.server.sql("ALTER TABLE \(shared.schema).rec ALTER COLUMN value TYPE text USING encode(value, 'hex')")
    #expect(kind { _ = try shared.unlock(shared.pins) } == .notAVault)
    #expect(kind { _ = try vault.verify() } != nil)
  }

  @Test func `a reader's role reads, and writes nothing`() throws {
    let shared = try vault()
    let role = shared.schema + "_reader"
    try shared.server.sql("CREATE ROLE \(role) LOGIN")
    try shared.grant(role, .reader)
    let place = VaultPlace(shared.url.replacingOccurrences(of: "coffer@", with: "\(role)@"))
    let reader = try LockedVault.open(place, options: .withoutPins).unlock(with: shared.credentials())
    #expect(try text(reader.get(name("0"))) == "new" && reader.verify().items == 12)
    #expect(kind { try reader.set(form("x"), for: name("0")) } == .readOnly)
    #expect(try text(reader.get(name("0"))) == "new")
    try shared.server.sql("GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(shared.schema) TO \(role)")
    try reader.set(form("x"), for: name("0"))
    try shared.server.sql("REVOKE UPDATE ON ALL TABLES IN SCHEMA \(shared.schema) FROM \(role)")
    #expect(kind { try reader.set(form("y"), for: name("0")) } == .readOnly)
    try shared.server.sql("GRANT UPDATE ON ALL TABLES IN SCHEMA \(shared.schema) TO \(role)")
    try shared.server.sql("ALTER ROLE \(role) SET default_transaction_read_only = on")
    let careful = try LockedVault.open(place, options: .withoutPins).unlock(with: shared.credentials())
    #expect(try text(careful.get(name("0"))) == "x" && careful.verify().items == 12)
    #expect(kind { try careful.set(form("y"), for: name("0")) } == .readOnly)
  }

  /// A role's subset of a writer's rights; read-only by default if empty.
  private static let rights = [
    ["INSERT", "UPDATE", "DELETE"], ["INSERT", "UPDATE"], ["INSERT", "DELETE"], ["UPDATE", "DELETE"], ["INSERT"], ["UPDATE"],
    ["DELETE"], [],
  ]

  @Test func `whatever rights a server gives or takes, a machine remembers what it saw and what it wrote`() throws {
    let shared = try vault()
    let (server, s) = (shared.server, shared.schema)
    for (number, rights) in Self.rights.enumerated() {
      let role = "\(s)_\(number)"
      let place = VaultPlace(shared.url.replacingOccurrences(of: "coffer@", with: "\(role)@"))
      try server.sql(
        "CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA \(s) TO \(role); GRANT SELECT ON ALL TABLES IN SCHEMA \(s) TO \(role)")
      if rights.isEmpty {
        try server.sql("ALTER ROLE \(role) SET default_transaction_read_only = on")
      } else {
        try server.sql("GRANT \(rights.joined(separator: ", ")) ON ALL TABLES IN SCHEMA \(s) TO \(role)")
      }
      func open(_ pins: String) throws -> UnlockedVault {
        let options = VaultOptions(pins: shared.folder.path.appending("\(pins) \(number)"))
        return try LockedVault.open(place, options: options).unlock(with: shared.credentials())
      }
      try shared.putBack("newest")
      let reader = try open("reader")
      #expect(try text(reader.get(name("0"))) == "new" && reader.pinStatus() == .firstUse)
      try shared.unlock().set(form("newer"), for: name("0"))
      #expect(try text(reader.get(name("0"))) == "newer")
      for older in ["older", "newest"] {
        try shared.putBack(older)
        #expect(kind { _ = try reader.get(name("0")) } == .rolledBack, "\(rights): to who has it open")
        #expect(kind { _ = try open("reader") } == .rolledBack, "\(rights): to who opens it")
      }
      try server.sql("GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(s) TO \(role)")
      try server.sql("ALTER ROLE \(role) RESET default_transaction_read_only")
      let writer = try open("writer")
      try writer.set(form("mine"), for: name("0"))
      for right in ["INSERT", "UPDATE", "DELETE"] where !rights.contains(right) {
        try server.sql("REVOKE \(right) ON ALL TABLES IN SCHEMA \(s) FROM \(role)")
      }
      try shared.putBack("newest")
      for _ in 0..<3 { try shared.unlock().set(form("theirs"), for: name("0")) }
      #expect(kind { _ = try writer.get(name("0")) } == .forked, "\(rights): to who has it open")
      #expect(kind { _ = try open("writer") } == .forked, "\(rights): to who opens it")
    }
  }
}
