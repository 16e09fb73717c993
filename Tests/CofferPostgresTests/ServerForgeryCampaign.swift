import CofferPlatform
import CofferTestSupport
import CofferVault
import Testing

@testable import CofferPostgres

/// A superuser of the database changes random rows of all sealed tables.
@Suite(.tags(.campaign), .wholeRun) struct ServerForgeryCampaign {
  private static let tables: [(name: String, key: String, columns: [String])] = [
    ("rec", "idx", ["rid", "meta", "value"]), ("old", "idx", ["rid", "meta", "value"]), ("digest", "bucket", ["hash"]),
    ("log", "seq", ["box"]), ("state", "id", ["bytes"]), ("header", "id", ["bytes"]), ("header_copy", "id", ["bytes"]),
  ]

  private static func forgery(
    _ schema: String, _ table: (name: String, key: String, columns: [String]), _ random: inout Random
  ) -> String {
    let (all, key) = ("\(schema).\(table.name)", table.key)
    let column = table.columns.randomElement(using: &random) ?? table.columns[0]
    let number = Int.random(in: 0..<1 << 30, using: &random)
    func row(_ choice: Int) -> String {
      "(SELECT \(key) FROM \(all) ORDER BY \(key) OFFSET \(choice) % (SELECT count(*) FROM \(all)) LIMIT 1)"
    }
    let (one, other) = (row(Int.random(in: 0..<1000, using: &random)), row(Int.random(in: 0..<1000, using: &random)))
    func change(_ value: String) -> String { "UPDATE \(all) SET \(column) = \(value) WHERE \(key) = \(one)" }
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return change("substring(\(column) FROM 1 FOR \(number) % octet_length(\(column)))")
    case 1: return change("\(column) || int4send(\(number))")
    case 2: return change("(SELECT \(column) FROM \(all) WHERE \(key) = \(other))")
    case 3: return change("(SELECT \(column) FROM \(schema)_older.\(table.name) x WHERE x.\(key) = \(other))")
    case 4: return "DELETE FROM \(all) WHERE \(key) = \(one)"
    case 5:
      let moved = key == "idx" ? "set_byte(idx, \(number) % 16, \(number / 16 % 256))" : "\(key) + \(number % 5000 - 2500)"
      return "UPDATE \(all) SET \(key) = \(moved) WHERE \(key) = \(one)"
    default:
      let bit = "\(number)::bigint % (octet_length(\(column)) * 8)"
      return change("set_bit(\(column), \(bit), 1 - get_bit(\(column), \(bit)))")
    }
  }

  @Test func `whatever is changed in a row at random is refused, or changed nothing`() throws {
    let shared = try SharedVault()
    let vault = try shared.create(shared.pins)
    for number in 0..<30 { try vault.set(form("\(number)"), for: name("\(number)"), keeping: 2) }
    let superuser = PostgresSession(try PostgresPlace(shared.url), patience: nil)
    func run(_ statements: [String]) throws(StoreError) {
      let connection = try superuser.open()
      for sql in statements { try connection.perform(sql, until: superuser.deadline) }
      _ = try connection.answers(until: superuser.deadline)
    }
    func keep(_ name: String) throws {
      let copy = "\(shared.schema)_\(name)"
      try run(
        ["CREATE SCHEMA \(copy)"]
          + Self.tables.map { "CREATE TABLE \(copy).\($0.name) AS SELECT * FROM \(shared.schema).\($0.name)" })
    }
    try keep("older")
    for number in 0..<30 { try vault.set(form("new \(number)"), for: name("\(number)"), keeping: 2) }
    try keep("newest")
    var random = Random(campaign: "forgeries on a server")
    var (refused, kinds) = (0, [String: Int]())
    let count = Campaign.size(short: 100, long: 10_000 / Campaign.share)
    for _ in 0..<count {
      guard let table = Self.tables.randomElement(using: &random) else { continue }
      let sql = Self.forgery(shared.schema, table, &random)
      let (all, kept) = ("\(shared.schema).\(table.name)", "\(shared.schema)_newest.\(table.name)")
      // The server refuses two rows in one place.
      if let refusal = kind({ try run([sql]) }) { #expect(refusal != .unreachable, "\(sql)") }
      let connection = try superuser.open()
      try connection.ask(
        "SELECT count(*) FROM ((TABLE \(all) EXCEPT TABLE \(kept)) UNION ALL (TABLE \(kept) EXCEPT TABLE \(all))) x",
        until: superuser.deadline)
      let isChanged = try connection.answers(until: superuser.deadline)[0].number(0, 0) > 0
      let found = kind { _ = try vault.verify() }
      let isRefused = found.map { [.tampered, .damaged, .rolledBack, .forked, .replaced, .notAVault].contains($0) }
      #expect(isRefused ?? !isChanged, "\(sql): \(String(describing: found))")
      if isChanged {
        refused += 1
        kinds["\(found.map { "\($0)" } ?? "taken")", default: 0] += 1
        try run(["BEGIN", "DELETE FROM \(all)", "INSERT INTO \(all) SELECT * FROM \(kept)", "COMMIT"])
      }
    }
    _ = try vault.verify()
    _ = try shared.unlock(shared.pins).verify()
    print("forged on a server: \(count), of which \(refused) changed something, \(kinds.sorted { $0.key < $1.key })")
    #expect(refused > count / 2)
  }
}
