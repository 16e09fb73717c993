import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVaultRows
import Foundation
import SystemPackage
import Testing

@testable import CofferSync
@testable import CofferVault
@testable import CofferVaultFormat

/// A vault made from pieces is the vault.
@Suite struct RoundTripTests {
  private let place: PutVault
  init() throws { place = try PutVault() }

  private static func name(_ number: Int) -> ItemName { ItemName(sealed: "svc", "\(number)") }

  private static func fill(_ vault: borrowing UnlockedVault, items: Int) throws {
    let added = try (0..<items).map { ImportedItem(name: name($0), form: try form("value \($0)")) }
    _ = try vault.add(added)
  }

  /// Previous versions, a deleted item, fields, a value of 2 MiB, an empty one.
  private static func fillWithAll(_ vault: borrowing UnlockedVault) throws {
    try fill(vault, items: 20)
    for round in 0..<4 { try vault.set(form("round \(round)"), for: name(3), keeping: 3) }
    try vault.set(form("user"), for: name(5).field(named: "user"))
    try vault.set(form("pin"), for: name(5).field(named: "pin"), keeping: 2)
    try vault.set(form("pin 2"), for: name(5).field(named: "pin"))
    _ = try vault.remove(name(7), keptUntil: .distantFuture)
    _ = try vault.remove(name(8))
    try vault.set(form(""), for: name(9))
    let large = (0..<2 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    try vault.set(SecretForm(secret(large), metadata: ItemMetadata()), for: name(10))
  }

  private static func rows(_ path: FilePath) throws -> [String: [[UInt8]]] {
    let database = try VaultDatabase.open(path)
    defer { database.close() }
    return try database.read { () throws(StoreError) in
      var rows: [String: [[UInt8]]] = [:]
      for table in RecordTable.allCases {
        try database.forEachRecord(in: table) { (index, columns) throws(StoreError) in
          rows["\(table)", default: []].append(
            [UInt8](index) + columns.rid + columns.meta + [columns.value == nil ? 0 : 1]
              + (columns.value.map { [UInt8]($0) } ?? []))
        }
      }
      try database.forEachDigest(in: nil) { (bucket, hash) throws(StoreError) in
        rows["digest", default: []].append([UInt8(bucket >> 8), UInt8(bucket & 255)] + hash)
      }
      for copy in [HeaderCopy.first, .second] {
        try database.lendHeader(copy) { (bytes) throws(StoreError) in rows["\(copy)"] = [[UInt8](bytes)] }
      }
      return rows
    }
  }

  private func expectSame(_ vault: borrowing UnlockedVault) throws {
    let put = try Put.make(vault)
    let head = try HeadVault.open(put.pieces(), by: vault)
    _ = try head.verify()
    #expect(try head.list() == vault.list())
    #expect(try head.deleted() == vault.deleted())
    for item in try vault.list() {
      #expect(try head.revisions(of: item.name) == vault.revisions(of: item.name))
      #expect(try head.fields(of: item.name) == vault.fields(of: item.name))
      #expect(try text(head.get(item.name)) == text(vault.get(item.name)))
    }
    let (copied, backup) = (place.home.path.appending("copied"), place.home.path.appending("backup"))
    try HeadVault.read(head) { (rows) throws(StoreError) in try rows.rows.backUp(to: copied) { _, _ in } }
    _ = try LockedVault.open(.file(place.path), options: .withoutPins).backup(to: backup)
    #expect(try Self.rows(copied) == Self.rows(backup))
    let opened = try LockedVault.open(.file(copied), options: .withoutPins).unlock(with: PutVault.credentials())
    _ = try opened.verify()
    #expect(try opened.list() == vault.list())
    try opened.set(form("later"), for: Self.name(0))
    _ = try opened.verify()
    #expect(try opened.log().count == 2, "the next commit begins a log: the unlock and the write")
  }

  @Test(arguments: [0, 1, 30])
  func `a vault made from its pieces equals a backup row for row`(items: Int) throws {
    let vault = try place.create()
    try Self.fill(vault, items: items)
    try expectSame(vault)
  }

  @Test func `a vault with fields, previous versions, deleted items and a value of 2 MiB comes back from its pieces`() throws {
    let vault = try place.create()
    try Self.fillWithAll(vault)
    try expectSame(vault)
  }

  @Test func `equal rows make equal groups on two machines, and their heads are of one vault`() throws {
    let vault = try place.create()
    try Self.fillWithAll(vault)
    let there = try PutVault()
    try place.copy(to: there)
    let other = try there.unlock()
    let (first, second) = (try Put.make(vault), try Put.make(other))
    #expect(first.head.groups == second.head.groups)
    #expect(first.head.groupCount == 128, "2 MiB of rows are at most 128 groups of 32 KiB")
    #expect(first.head.name != second.head.name, "the commit of each put is its own")
  }

  @Test func `a change of one item lends one group, and only its pair is read`() throws {
    let vault = try place.create()
    try Self.fill(vault, items: 300)
    let before = try Put.make(vault)
    let digests = try Put.digests(vault)
    try vault.set(form("changed"), for: Self.name(17), keeping: 1)
    let after = try Put.digests(vault)
    let changed = Set((0..<1024).filter { digests[$0] != after[$0] })
    #expect(changed.count == 1)
    let put = try Put.make(vault, generation: 2, since: before, changed: changed)
    #expect(put.lent.count == 1)
    #expect(try put.head.groups == Put.make(vault).head.groups)
    // All pairs are read, and the same group is found to have changed.
    #expect(try Put.make(vault, generation: 2, since: before).lent == put.lent)
    let unchanged = try Put.make(vault, generation: 3, since: put, changed: [])
    #expect(unchanged.lent.isEmpty && unchanged.head.groups == put.head.groups)
    // What is known of equal groups need not be brought to open the head.
    var known: [Int: Digest32] = [:]
    for pair in 0..<1024 where !changed.contains(pair) { (known[pair], known[1024 + pair]) = (after[pair][0], after[pair][1]) }
    var few = put
    few.groups = put.groups.filter { $0.key == put.lent[0] }
    let head = try HeadVault.open(few.pieces(digests: known), by: vault)
    #expect(try text(head.get(Self.name(17))) == "changed")
    #expect(try kind { _ = try head.verify() } == .unreachable)
  }

  @Test func `the number of groups follows the size of the vault, up and down`() throws {
    let vault = try place.create()
    try Self.fill(vault, items: 3)
    let small = try Put.make(vault)
    #expect(small.head.groupCount == 1)
    let large = (0..<300_000).map { UInt8(truncatingIfNeeded: $0) }
    try vault.set(SecretForm(secret(large), metadata: ItemMetadata()), for: Self.name(1))
    let grown = try Put.make(vault, generation: 2, since: small)
    #expect(grown.head.groupCount == 16)
    #expect(try grown.head.groups == Put.make(vault).head.groups)
    try vault.set(form("short"), for: Self.name(1))
    let shrunk = try Put.make(vault, generation: 3, since: grown, changed: [])
    #expect(shrunk.head.groupCount == 16, "nothing was said to have changed")
    #expect(try Put.make(vault, generation: 3, since: grown).head.groups == Put.make(vault).head.groups)
  }

  @Test func `a record that was changed without the key is never put`() throws {
    let vault = try place.create()
    try Self.fill(vault, items: 1)
    _ = try vault.lock()
    let database = try VaultDatabase.open(place.path)
    try database.write { () throws(StoreError) in
      var row: (index: [UInt8], id: [UInt8], meta: [UInt8], value: [UInt8])?
      try database.forEachRecord(in: .present) { (index, columns) throws(StoreError) in
        row = ([UInt8](index), [UInt8](columns.rid), [UInt8](columns.meta), columns.value.map { [UInt8]($0) } ?? [])
      }
      guard var row else { return }
      row.value[20] ^= 1
      let record = SealedRecord(
        index: RecordIndex(row.index) ?? .zero, id: RecordID(row.id) ?? .zero, meta: row.meta, value: row.value)
      try database.put(record, replacing: true)
    }
    database.close()
    let opened = try place.unlock()
    #expect(try kind { _ = try Put.make(opened) } == .tampered)
  }

  @Test func `a vault larger than the memory for groups is read group by group`() throws {
    let vault = try place.create()
    try Self.fill(vault, items: 500)
    let put = try Put.make(vault)
    #expect(put.head.groupCount > 4)
    let head = try HeadVault.open(put.pieces(mostKept: 0), by: vault)
    _ = try head.verify()
    #expect(try head.list() == vault.list())
    let copied = place.home.path.appending("copied")
    try HeadVault.read(head) { (rows) throws(StoreError) in try rows.rows.backUp(to: copied) { _, _ in } }
    #expect(try Self.rows(copied)["present"]?.count == 500)
  }

  @Test func `an error names the remote as it was given`() throws {
    let vault = try place.create()
    try Self.fill(vault, items: 1)
    var put = try Put.make(vault)
    put.groups[put.head.groups[0].hash]?[40] ^= 1
    do {
      _ = try HeadVault.open(put.pieces(), by: vault)
      Issue.record("it was opened")
    } catch { #expect(error.place == "https://host/vault.git") }
  }

  @Test func `nothing is written to a remote's rows`() throws {
    let vault = try place.create()
    try Self.fill(vault, items: 2)
    let head = try HeadVault.open(Put.make(vault).pieces(), by: vault)
    #expect(try kind { try head.set(form("x"), for: Self.name(0)) } == .readOnly)
    #expect(try kind { _ = try head.rotate() } == .readOnly)
    #expect(try head.log().isEmpty)
  }
}
