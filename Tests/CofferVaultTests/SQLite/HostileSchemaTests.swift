import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault

@Suite struct HostileSchemaTests {
  let fixture: VaultFixture
  init() throws {
    fixture = try VaultFixture()
    try fixture.create().close()
  }

  @Test(arguments: [
    "CREATE TABLE extra (x)",
    "CREATE TABLE extra (x UNIQUE)",
    "CREATE VIEW extra AS SELECT * FROM rec",
    "CREATE INDEX extra ON rec (rid)",
    "CREATE TRIGGER extra AFTER INSERT ON rec BEGIN DELETE FROM log; END",
    "CREATE VIRTUAL TABLE extra USING fts5(x)",
    "CREATE TABLE s (x INTEGER PRIMARY KEY AUTOINCREMENT)",
    "ANALYZE",
    "DROP TABLE digest; CREATE TABLE digest (bucket INTEGER PRIMARY KEY, hash BLOB NOT NULL)",
    "DROP TABLE log; CREATE VIEW log AS SELECT 1 AS seq, x'00' AS box",
    "ALTER TABLE log ADD COLUMN more BLOB",
    "ALTER TABLE log RENAME TO logg",
    """
    PRAGMA writable_schema=ON;
    UPDATE sqlite_schema SET rootpage=(SELECT rootpage FROM sqlite_schema WHERE name='header') WHERE name='header_copy'
    """,
    "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql=replace(sql, 'STRICT', 'strict') WHERE name='log'",
  ])
  func `what no vault has is refused`(sql: String) throws {
    try fixture.attack(sql)
    let error = try #require(fixture.openingError())
    #expect(error.kind == .tampered, "\(error)")
    #expect(!error.description.contains("extra"))
  }

  @Test func `a missing table is damage`() throws {
    try fixture.attack("DROP TABLE digest")
    #expect(fixture.openingError()?.kind == .damaged)
  }

  @Test(arguments: [
    "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql='CREATE TABLE log(' WHERE name='log'",
    "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET rootpage=99999 WHERE name='log'",
    "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql=NULL WHERE name='log'",
  ])
  func `a schema that SQLite cannot read is damage`(sql: String) throws {
    try fixture.attack(sql)
    #expect(fixture.openingError()?.kind == .damaged)
  }

  @Test func `a newer format is named with both numbers`() throws {
    try fixture.attack("PRAGMA user_version=7; CREATE TABLE later (x)")
    #expect(fixture.openingError()?.kind == .newerFormat(found: 7, supported: 1))
  }

  @Test(arguments: [0, -1]) func `a format that never was is damage`(version: Int) throws {
    try fixture.attack("PRAGMA user_version=\(version)")
    #expect(fixture.openingError()?.kind == .damaged)
  }

  @Test func `another program's database is no vault`() throws {
    try fixture.attack("PRAGMA application_id=1")
    #expect(fixture.openingError()?.kind == .notAVault)
  }

  @Test func `another connection's change of the tables is noticed`() throws {
    let vault = try fixture.open()
    try vault.recheckSchema()
    try fixture.attack("CREATE INDEX extra ON rec (rid)")
    expectError(.tampered) { () throws(StoreError) in
      try vault.read { () throws(StoreError) in try vault.recheckSchema() }
    }
  }

  /// A STRICT table refuses these, but a file can hold them.
  @Test(arguments: ["'text'", "5", "1.5", "x''"])
  func `a value of the wrong type is damage`(value: String) throws {
    let strict = "CREATE TABLE state (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT"
    try fixture.attack(
      "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql=replace(sql, ' STRICT', '') WHERE name='state'")
    try fixture.attack("UPDATE state SET bytes=\(value)")
    try fixture.attack("PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql='\(strict)' WHERE name='state'")
    let vault = try fixture.open()
    expectError(.damaged) { () throws(StoreError) in _ = try vault.withState { _ in true } }
  }

  @Test(arguments: [
    ("x''", 0), ("x'00'", 0), ("x'01'", 3), ("x'0100'", 4), ("zeroblob(15)", 0), ("zeroblob(17)", 0), ("x'ffffff'", 1023),
    ("x'ffffffffffffffffffffffffffffffffffffffff'", 1023),
  ])
  func `an index of another length is seen by a bucket's scan`(index: String, bucket: Int) throws {
    try fixture.attack("INSERT INTO rec VALUES (\(index), zeroblob(16), zeroblob(144), NULL)")
    let vault = try fixture.open()
    expectError(.damaged) { () throws(StoreError) in _ = try vault.indices(inBucket: bucket) }
    expectError(.damaged) { () throws(StoreError) in try vault.forEachRecord(in: .present) { _, _ in } }
  }

  @Test(arguments: [
    "UPDATE rec SET rid=zeroblob(15)", "UPDATE rec SET meta=zeroblob(15)", "UPDATE rec SET value=zeroblob(15)",
  ])
  func `a column of the wrong length is damage`(sql: String) throws {
    try fixture.attack(sql)
    let vault = try fixture.open()
    expectError(.damaged) { () throws(StoreError) in _ = try vault.value(.index(1)) }
  }

  @Test(arguments: ["(2048, zeroblob(32))", "(-1, zeroblob(32))", "(5, zeroblob(31))"])
  func `a digest that cannot be is damage`(row: String) throws {
    try fixture.attack("INSERT INTO digest VALUES \(row)")
    let vault = try fixture.open()
    expectError(.damaged) { () throws(StoreError) in try vault.forEachDigest(in: nil) { _, _ in } }
  }

  @Test func `a negative number in the log is not taken for a large one`() throws {
    try fixture.attack("INSERT INTO log VALUES (-1, zeroblob(20))")
    var count = 0
    try fixture.open().log.forEach(from: 0) { _, _ in count += 1 }
    #expect(count == 0)
  }
}
