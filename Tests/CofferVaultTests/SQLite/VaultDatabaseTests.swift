import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

@Suite struct VaultDatabaseTests {
  let fixture: VaultFixture
  init() throws { fixture = try VaultFixture() }

  @Test func `a new vault has what its creator put in`() throws {
    try fixture.create(records: 5).close()
    let vault = try fixture.open()
    #expect(try vault.withHeader(.first) { [UInt8]($0) } == .repeating(1, count: 300))
    #expect(try vault.withHeader(.second) { [UInt8]($0) } == .repeating(1, count: 300))
    #expect(try vault.withState { [UInt8]($0) } == .repeating(2, count: 200))
    #expect(try vault.value(.index(4)) == .repeating(4, count: 272))
    #expect(try vault.value(.index(5)) == nil)
    #expect(vault.connection.usesWriteAheadLog)
    #expect(vault.path == fixture.vault)
  }

  @Test func `creating over something changes nothing`() throws {
    try fixture.create().close()
    let before = FileManager.default.contents(atPath: fixture.vault.string)
    expectError(.alreadyExists) { () throws(StoreError) in
      _ = try VaultDatabase.create(at: fixture.vault) { _ in }
    }
    #expect(FileManager.default.contents(atPath: fixture.vault.string) == before)
    #expect(fixture.names == ["vault.sqlite"])
  }

  @Test(arguments: SideFiles.suffixes)
  func `creating beside a left over side file is refused`(suffix: String) throws {
    try fixture.write([1, 2, 3], to: fixture.side(suffix))
    expectError(.alreadyExists) { () throws(StoreError) in
      _ = try VaultDatabase.create(at: fixture.vault) { _ in }
    }
    #expect(fixture.names == ["vault.sqlite\(suffix)"])
  }

  @Test func `a failed creation leaves nothing`() throws {
    expectError(.conflict) { () throws(StoreError) in
      _ = try VaultDatabase.create(at: fixture.vault) { (database) throws(StoreError) in
        try database.putState(bytes: .repeating(3, count: 10))
        throw StoreError(.conflict, "a test", cure: "none")
      }
    }
    #expect(fixture.names.isEmpty)
  }

  @Test func `of many creators one succeeds`() async throws {
    let path = fixture.vault
    let outcomes = await withTaskGroup(of: StoreError.Kind?.self) { group in
      for _ in 0..<8 {
        group.addTask {
          do throws(StoreError) {
            try VaultDatabase.create(at: path) { _ in }.close()
            return nil
          } catch { return error.kind }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outcomes.count { $0 == nil } == 1)
    #expect(outcomes.count { $0 == .alreadyExists } == 7)
    #expect(fixture.names == ["vault.sqlite"])
  }

  @Test func `the file is its owner's alone and so is what stands beside it`() throws {
    let vault = try fixture.create()
    try vault.write { () throws(StoreError) in try vault.putState(bytes: [1]) }
    for name in fixture.names {
      #expect(try Stat(fixture.folder.appending(name)).permissions == FilePermissions(rawValue: 0o600), "\(name)")
    }
    #expect(fixture.names.count == 3)
  }

  @Test func `a scan of the buckets sees each record once and in order`() throws {
    let vault = try fixture.create(records: 3000)
    try vault.putRecord(index: .index(7), in: .old, value: .repeating(7, count: 16))
    var all: [[UInt8]] = []
    try vault.forEachRecord(in: .present) { (idx, row) throws(StoreError) in
      all.append([UInt8](idx))
      #expect(row.rid.count == 16 && row.meta.count == 144 && row.value?.count == 272)
    }
    #expect(all.count == 3000)
    var byBucket: [[UInt8]] = []
    for bucket in RecordTable.present.buckets {
      let found = try vault.indices(inBucket: bucket)
      #expect(found.allSatisfy { Int($0[0]) * 4 + Int($0[1] >> 6) == bucket })
      byBucket += found
    }
    #expect(byBucket == all)
    #expect(try RecordTable.old.buckets.flatMap { try vault.indices(inBucket: $0) } == [.index(7)])
    #expect(try vault.indices(inBucket: 1024 + 7) == [.index(7)])
  }

  @Test func `a record is replaced and removed`() throws {
    let vault = try fixture.create(records: 2)
    let index = [UInt8].index(1)
    try vault.putRecord(index: index, value: .repeating(9, count: 16))
    #expect(try vault.value(index) == .repeating(9, count: 16))
    try vault.putRecord(index: index, value: nil)
    let place = try #require(RecordIndex(index))
    #expect(try vault.withRecord(at: place) { $0.value == nil } == true)
    try vault.deleteRecord(at: place)
    #expect(try vault.value(index) == nil)
  }

  @Test func `the two tables of records have nothing of each other's`() throws {
    let vault = try fixture.create(records: 1)
    let place = try #require(RecordIndex([UInt8].index(0)))
    try vault.putRecord(index: .index(0), in: .old, value: .repeating(5, count: 20))
    #expect(try vault.value(.index(0)) == .repeating(0, count: 272))
    #expect(try vault.withRecord(at: place, in: .old) { $0.value.map { [UInt8]($0) } } == .repeating(5, count: 20))
    try vault.deleteRecord(at: place, in: .old)
    #expect(try vault.withRecord(at: place, in: .old) { _ in true } == nil)
    #expect(try vault.value(.index(0)) != nil)
  }

  @Test func `metadata is read without the value`() throws {
    let vault = try fixture.create()
    let place = try #require(RecordIndex([UInt8].index(1)))
    let seen = try vault.withRecord(at: place, .metadata) { ($0.rid.count, $0.meta.count, $0.value == nil) }
    #expect(try #require(seen) == (16, 144, true))
  }

  @Test func `digests are kept by bucket`() throws {
    let vault = try fixture.create()
    for bucket in [1023, 0, 7, 2047] {
      try [UInt8].repeating(UInt8(bucket & 255), count: 32).lent { (hash) throws(StoreError) in
        try vault.putDigest(hash, bucket: bucket)
      }
    }
    try vault.deleteDigest(bucket: 7)
    var seen: [Int: UInt8] = [:]
    try vault.forEachDigest(in: nil) { (bucket, hash) in seen[bucket] = hash[31] }
    #expect(seen == [0: 0, 1023: 255, 2047: 255])
    seen = [:]
    try vault.forEachDigest(in: [0, 7, 2047]) { (bucket, hash) in seen[bucket] = hash[31] }
    #expect(seen == [0: 0, 2047: 255])
  }

  @Test func `the log grows at its end and is trimmed at its head`() throws {
    let vault = try fixture.create()
    let box = [UInt8].repeating(5, count: 20)
    for seq in UInt64(1)...5 { try box.lent { (box) throws(StoreError) in try vault.log.append(box, seq: seq) } }
    expectError(.damaged) { () throws(StoreError) in
      try box.lent { (box) throws(StoreError) in try vault.log.append(box, seq: 5) }
    }
    try vault.log.trim(before: 3)
    var seen: [UInt64] = []
    try vault.log.forEach(from: 0) { (seq, _) in seen.append(seq) }
    #expect(seen == [3, 4, 5])
  }

  @Test func `a decision is remembered until it is forgotten`() throws {
    let vault = try fixture.create()
    let transaction = TransactionID.random()
    #expect(try vault.outcomes.outcome(of: transaction) == nil)
    try vault.outcomes.commit(transaction, now: 1)
    try vault.outcomes.commit(transaction, now: 2)
    #expect(try vault.outcomes.outcome(of: transaction) == .committed)
    #expect(try vault.outcomes.settle(transaction, now: 3) == .committed)
    try vault.outcomes.forget(transaction)
    #expect(try vault.outcomes.outcome(of: transaction) == nil)
  }

  @Test func `a row beyond the limit is refused`() throws {
    let vault = try fixture.create()
    expectError(.damaged) { () throws(StoreError) in
      try vault.putRecord(index: .index(1), value: .repeating(0, count: Limits.rowBytes))
    }
    #expect(try vault.value(.index(1))?.count == 272)
  }
}
