import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

@Suite struct OutcomeTests {
  private let place: TemporaryVault
  private let id = TransactionID.random()
  private static let day = OutcomeTable.droppedMemory

  init() throws {
    place = try TemporaryVault()
    _ = try place.create().lock()
  }

  private func batch(_ value: String, deciding id: TransactionID?) throws -> Batch<Vault> {
    var batch = Batch<Vault>()
    batch.writes = ["token": .set(try form(value))]
    batch.decides = id
    return batch
  }

  private func rows() throws -> Int { Int(try place.hex("SELECT count(*) FROM decided")) ?? -1 }

  @Test func `a commit that comes after its transaction was dropped is refused and changes nothing`() throws {
    let vault = try place.unlock()
    try vault.commit(batch("old", deciding: nil), service: "app")
    #expect(try DecidedTransactions.settle(id, in: .file(place.path)) == .dropped)
    #expect(kind { try vault.commit(batch("new", deciding: id), service: "app") } == .givenUp)
    #expect(try text(vault.get(ItemName(service: "app", account: "token"))) == "old")
    #expect(try DecidedTransactions.outcome(of: id, in: .file(place.path)) == .dropped)
    #expect(try DecidedTransactions.settle(id, in: .file(place.path)) == .dropped)
  }

  @Test func `a transaction that was committed is settled as such, until it is forgotten`() throws {
    let vault = try place.unlock()
    #expect(try DecidedTransactions.outcome(of: id, in: .file(place.path)) == nil)
    try vault.commit(batch("new", deciding: id), service: "app")
    #expect(try DecidedTransactions.outcome(of: id, in: .file(place.path)) == .committed)
    #expect(try DecidedTransactions.settle(id, in: .file(place.path)) == .committed)
    try DecidedTransactions.forget([.random(), id, .random()], in: .file(place.path))
    #expect(try DecidedTransactions.outcome(of: id, in: .file(place.path)) == nil && rows() == 0)
  }

  /// Content recovered from a dead process's log may not be on the disk.
  @Test func `settling always commits, and forgetting what is not there never`() throws {
    let watcher = try VaultDatabase.open(place.path)
    var version = try watcher.dataVersion()
    for _ in 1...3 {
      #expect(try DecidedTransactions.settle(id, in: .file(place.path)) == .dropped)
      #expect(try watcher.dataVersion() != version)
      version = try watcher.dataVersion()
    }
    try DecidedTransactions.forget([.random()], in: .file(place.path))
    #expect(try watcher.dataVersion() == version)
  }

  @Test func `settling without a write-ahead log does the same`() throws {
    try place.attack("PRAGMA journal_mode=DELETE")
    let vault = try place.unlock()
    let other = TransactionID.random()
    try vault.commit(batch("new", deciding: other), service: "app")
    #expect(try DecidedTransactions.settle(other, in: .file(place.path)) == .committed)
    #expect(try DecidedTransactions.settle(id, in: .file(place.path)) == .dropped)
    #expect(kind { try vault.commit(batch("newer", deciding: id), service: "app") } == .givenUp)
  }

  @Test func `without a write-ahead log the state tells whether a failed commit was made only where the commit put one`() throws {
    try place.attack("PRAGMA journal_mode=DELETE")
    let database = try VaultDatabase.open(place.path)
    let before = try database.read { () throws(StoreError) in try database.stateBytes() }
    try database.write { () throws(StoreError) in _ = try database.outcomes.settle(id, now: Self.day) }
    let settled = try database.read { () throws(StoreError) in try database.hasWritten(since: before) }
    #expect(settled == nil)
    database.writtenState = [1]
    let put = try database.read { () throws(StoreError) in try database.hasWritten(since: before) }
    #expect(put == false)
  }

  @Test func `where the vault cannot be written or is missing nothing is settled`() throws {
    #expect(kind { _ = try DecidedTransactions.settle(id, in: .file(place.folder.appending("none.sqlite"))) } == .noVault)
    let holder = try VaultDatabase.open(place.path)
    try holder.write { () throws(StoreError) in
      do throws(StoreError) {
        _ = try DecidedTransactions.settle(id, in: .file(place.path))
        Issue.record("settled under another's lock")
      } catch { #expect(error.kind == .busy) }
    }
    #expect(try rows() == 0)
  }

  @Test func `what was dropped is forgotten a day later along with another record, and what was committed is not`() throws {
    let database = try VaultDatabase.open(place.path)
    let (now, dropped, committed) = (10 * Self.day, TransactionID.random(), TransactionID.random())
    try database.write { () throws(StoreError) in
      _ = try database.outcomes.settle(dropped, now: now)
      try database.outcomes.commit(committed, now: now)
      try database.outcomes.commit(.random(), now: now + Self.day)
      #expect(try database.outcomes.outcome(of: dropped) == .dropped)
      try database.outcomes.commit(.random(), now: now + Self.day + 1)
      #expect(try database.outcomes.outcome(of: dropped) == nil)
      #expect(try database.outcomes.outcome(of: committed) == .committed)
      // A clock that was ahead: the day starts when that is noticed.
      _ = try database.outcomes.settle(dropped, now: now + 100 * Self.day)
      try database.outcomes.commit(.random(), now: now)
      try database.outcomes.commit(.random(), now: now + Self.day)
      #expect(try database.outcomes.outcome(of: dropped) == .dropped)
      try database.outcomes.commit(.random(), now: now + Self.day + 2)
      #expect(try database.outcomes.outcome(of: dropped) == nil)
    }
  }

  @Test func `no more than 256 are dropped within a minute, and the next one waits`() throws {
    let database = try VaultDatabase.open(place.path)
    try database.write { () throws(StoreError) in
      for _ in 0..<256 { _ = try database.outcomes.settle(.random(), now: Self.day) }
      #expect(try database.outcomes.settle(id, now: Self.day) == nil)
      #expect(try database.outcomes.outcome(of: id) == nil)
      try database.outcomes.check()
      #expect(try database.outcomes.settle(id, now: Self.day + 60_001) == .dropped)
      #expect(try database.outcomes.settle(.random(), now: Self.day + 60_001) == .dropped, "a crash loop waits no day")
    }
  }

  /// Nobody else writes the table while it is full, so the program must measure the time itself.
  @Test func `256 rows of a clock that was ahead make room a minute after the first refusal`() throws {
    let now = UInt64(Date().timeIntervalSince1970 * 1000)
    try place.attack(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 256)
      INSERT INTO decided SELECT randomblob(16), 2, \(now + 100 * Self.day) FROM n;
      """)
    #expect(kind { _ = try DecidedTransactions.settle(id, in: .file(place.path)) } == .busy)
    #expect(try DecidedTransactions.outcome(of: id, in: .file(place.path)) == nil && rows() == 256)
    let database = try VaultDatabase.open(place.path)
    let later = UInt64(Date().timeIntervalSince1970 * 1000) + 60_002
    #expect(try database.write { () throws(StoreError) in try database.outcomes.settle(id, now: later) } == .dropped)
    #expect(try rows() == 1)
  }

  @Test(arguments: [
    "(x'\(String(repeating: "07", count: 16))', 3, 1)", "(x'\(String(repeating: "07", count: 16))', 1, -1)",
    "(x'\(String(repeating: "07", count: 16))', 1, 9007199254740993)", "(x'0707', 1, 1)",
  ])
  func `a row that no version writes is damage to whoever reads it`(row: String) throws {
    try place.attack("INSERT INTO decided VALUES \(row)")
    let vault = try place.unlock()
    #expect(kind { _ = try vault.verify() } == .damaged)
    let forged = try #require(TransactionID([UInt8](repeating: 7, count: 16)))
    guard !row.hasPrefix("(x'0707',") else { return }
    #expect(kind { _ = try DecidedTransactions.outcome(of: forged, in: .file(place.path)) } == .damaged)
    #expect(kind { _ = try DecidedTransactions.settle(forged, in: .file(place.path)) } == .damaged)
    #expect(kind { try vault.commit(batch("new", deciding: forged), service: "app") } == .damaged)
  }

  @Test func `a forged crowd of dropped rows is found by verify, and keeps nobody from committing`() throws {
    try place.attack(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
      INSERT INTO decided SELECT randomblob(16), 2, \(UInt64(Date().timeIntervalSince1970 * 1000)) FROM n;
      """)
    let vault = try place.unlock()
    #expect(kind { _ = try vault.verify() } == .damaged)
    #expect(kind { _ = try DecidedTransactions.settle(id, in: .file(place.path)) } == .busy)
    try vault.commit(batch("new", deciding: id), service: "app")
    #expect(try DecidedTransactions.outcome(of: id, in: .file(place.path)) == .committed)
    _ = try LockedVault.open(place.path).repair(with: TemporaryVault.credentials(), rebuilding: true)
    #expect(try DecidedTransactions.outcome(of: id, in: .file(place.path)) == .committed && rows() == 1)
    _ = try place.unlock().verify()
  }

  @Test func `an outcome stays in backups and rotations, and a restored backup settles by its own`() throws {
    var vault = try place.unlock()
    _ = try LockedVault.open(place.path).backup(to: place.folder.appending("before"))
    try vault.commit(batch("new", deciding: id), service: "app")
    _ = try LockedVault.open(place.path).backup(to: place.folder.appending("after"))
    try vault.rotate()
    _ = try vault.lock()
    #expect(try DecidedTransactions.outcome(of: id, in: .file(place.path)) == .committed)
    #expect(try DecidedTransactions.outcome(of: id, in: .file(place.folder.appending("after"))) == .committed)
    let backup = try RestorableBackup(place.folder.appending("before"), toRestoreAt: place.path)
    _ = try backup.restore(with: TemporaryVault.credentials())
    #expect(try DecidedTransactions.settle(id, in: .file(place.path)) == .dropped)
    vault = try place.unlock()
    #expect(try vault.get(ItemName(service: "app", account: "token")) == nil)
    _ = try vault.verify()
  }
}
