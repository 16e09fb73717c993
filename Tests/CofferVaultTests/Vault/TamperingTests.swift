import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Attacks by a writer of the file without a key. Each edits the database with SQLite, so only Coffer's seals can detect it.
@Suite struct TamperingTests {
  let names: [ItemName]

  init() throws { names = try ["a", "b", "c"].map { try ItemName(service: "svc", account: $0) } }

  /// Three items, of which `a` was written twice; `older` is the row of `a` before its second write.
  func prepared() throws -> (vault: TemporaryVault, older: String) {
    let place = try TemporaryVault()
    let vault = try place.create()
    try vault.set(form("old a"), for: names[0])
    let stale = try place.rows()
    for name in names { try vault.set(form("value \(name.account)"), for: name) }
    _ = try vault.lock()
    let row = try #require(stale.first)
    return (place, row)
  }

  func expectTampered(_ place: TemporaryVault, _ sourceLocation: SourceLocation = #_sourceLocation) throws {
    let vault = try place.unlock()
    #expect(kind { _ = try vault.verify() } == .tampered, sourceLocation: sourceLocation)
    let kinds = names.map { name in kind { _ = try vault.get(name) } }
    #expect(kinds.contains(.tampered), sourceLocation: sourceLocation)
    #expect(kinds.allSatisfy { $0 == nil || $0 == .tampered }, sourceLocation: sourceLocation)
    for name in names {
      // Never a wrong value: an answer, if any, is the right one.
      do {
        let answer = text(try vault.get(name))
        #expect(answer == "value \(name.account)", sourceLocation: sourceLocation)
      } catch { #expect(error.kind == .tampered, sourceLocation: sourceLocation) }
    }
  }

  @Test func `two values swapped`() throws {
    let (place, _) = try prepared()
    try place.attack(
      """
      CREATE TEMP TABLE t AS SELECT idx, rid, meta, value FROM rec ORDER BY idx LIMIT 2;
      UPDATE rec SET rid = (SELECT rid FROM t WHERE t.idx <> rec.idx), meta = (SELECT meta FROM t WHERE t.idx <> rec.idx),
        value = (SELECT value FROM t WHERE t.idx <> rec.idx) WHERE idx IN (SELECT idx FROM t);
      """)
    try expectTampered(place)
  }

  @Test func `two sealed values swapped under their own record ids`() throws {
    let (place, _) = try prepared()
    try place.attack(
      """
      CREATE TEMP TABLE t AS SELECT idx, value FROM rec ORDER BY idx LIMIT 2;
      UPDATE rec SET value = (SELECT value FROM t WHERE t.idx <> rec.idx) WHERE idx IN (SELECT idx FROM t);
      """)
    try expectTampered(place)
  }

  @Test func `one row deleted`() throws {
    let (place, _) = try prepared()
    try place.attack("DELETE FROM rec WHERE idx = (SELECT min(idx) FROM rec)")
    try expectTampered(place)
  }

  @Test func `one row put back to an older version`() throws {
    let (place, older) = try prepared()
    try place.attack(older)
    try expectTampered(place)
  }

  @Test func `a row with its digest deleted together`() throws {
    let (place, _) = try prepared()
    try place.attack("DELETE FROM rec; DELETE FROM digest;")
    #expect(kind { _ = try place.unlock() } == .tampered)
  }

  @Test func `an old row put back just before a write is not blessed`() throws {
    let (place, older) = try prepared()
    let vault = try place.unlock()
    #expect(text(try vault.get(names[0])) == "value a")
    try place.attack(older)
    #expect(kind { try vault.set(form("new"), for: names[0]) } == .tampered)
    #expect(kind { _ = try vault.remove(names[0]) } == .tampered)
    try expectTampered(place)
  }

  @Test func `a row added to a bucket makes writes to it refuse`() throws {
    let (place, _) = try prepared()
    let vault = try place.unlock()
    let indices = try names.map { name in try vault.core.run { (vault) throws(StoreError) in vault.items.index(of: name) } }
    let attacked = try #require(indices.min()).leadingBits
    try place.attack(
      """
      INSERT INTO rec SELECT CAST(substr(idx, 1, 15) || (CASE WHEN substr(idx, 16) = x'00' THEN x'01' ELSE x'00' END) AS BLOB),
        rid, meta, value FROM rec WHERE idx = (SELECT min(idx) FROM rec);
      """)
    let kinds = names.map { name in kind { try vault.set(form("new"), for: name) } }
    #expect(kinds == indices.map { $0.leadingBits == attacked ? .tampered : nil })
    #expect(kind { _ = try vault.verify() } == .tampered)
  }

  @Test func `state of an earlier commit put back`() throws {
    let (place, _) = try prepared()
    let before = try place.hex("SELECT quote(bytes) FROM state")
    try place.unlock().set(form("later"), for: names[1])
    try place.attack("UPDATE state SET bytes = \(before)")
    #expect(kind { _ = try place.unlock() } == .tampered)
  }

  @Test func `state or both headers gone`() throws {
    let (place, _) = try prepared()
    let copy = try place.copy()
    try copy.attack("DELETE FROM state")
    #expect(kind { _ = try copy.unlock() } == .damaged)
    try place.attack("DELETE FROM header; DELETE FROM header_copy")
    #expect(kind { _ = try place.unlock() } == .damaged)
  }

  @Test func `a damaged header is read from its copy and verify says so`() throws {
    let (place, _) = try prepared()
    try place.attack("UPDATE header SET bytes = \(changed("bytes", byte: 41))")
    let vault = try place.unlock()
    #expect(text(try vault.get(names[1])) == "value b")
    #expect(kind { _ = try vault.verify() } == .damaged)
  }

  @Test func `the header of another vault with the same key`() throws {
    let (place, _) = try prepared()
    let other = try TemporaryVault()
    _ = try other.create().lock()
    for table in ["header", "header_copy"] {
      try place.attack("UPDATE \(table) SET bytes = \(try other.hex("SELECT quote(bytes) FROM \(table)"))")
    }
    #expect(kind { _ = try place.unlock() } == .tampered)
  }

  @Test func `a vault that moves on stays whole across all of this`() throws {
    let (place, _) = try prepared()
    let vault = try place.unlock()
    #expect(try vault.verify().records == 3)
    #expect(try names.map { text(try vault.get($0)) } == ["value a", "value b", "value c"])
  }
}
