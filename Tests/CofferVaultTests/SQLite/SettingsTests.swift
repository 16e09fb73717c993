import CCofferSQLite
import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

@Suite struct SettingsTests {
  let fixture: VaultFixture
  init() throws {
    fixture = try VaultFixture()
    try fixture.create().close()
  }

  @Test func `every defence is on`() throws {
    let connection = try fixture.open().connection
    for (pragma, value) in [
      ("cell_size_check", 1), ("mmap_size", 0), ("secure_delete", 1), ("temp_store", 2), ("synchronous", 2),
      ("trusted_schema", 0), ("application_id", 0x5056_4C54), ("user_version", 1),
    ] { #expect(try connection.number("PRAGMA \(pragma)") == value, "\(pragma)") }
    for (option, value) in [
      (SQLITE_DBCONFIG_DEFENSIVE, 1), (SQLITE_DBCONFIG_ENABLE_TRIGGER, 0), (SQLITE_DBCONFIG_ENABLE_VIEW, 0),
      (SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0), (SQLITE_DBCONFIG_DQS_DML, 0), (SQLITE_DBCONFIG_DQS_DDL, 0),
    ] {
      var now: Int32 = -1
      _ = coffer_sqlite3_db_config_switch(connection.handle, option, -1, &now)
      #expect(now == value, "\(option)")
    }
    #expect(sqlite3_limit(connection.handle, SQLITE_LIMIT_LENGTH, -1) == Limits.rowBytes)
  }

  @Test func `with a rollback journal a commit also synchronizes the folder`() throws {
    try fixture.attack("PRAGMA journal_mode=DELETE")
    let vault = try fixture.open()
    #expect(!vault.connection.usesWriteAheadLog)
    #expect(try vault.connection.number("PRAGMA synchronous") == 3)
    try vault.write { () throws(StoreError) in try vault.putState(bytes: [4]) }
    #expect(try vault.withState { $0[0] } == 4)
  }

  @Test func `the schema cannot be written`() throws {
    let vault = try fixture.open()
    #expect(throws: StoreError.self) {
      try vault.connection.execute("PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql='x'")
    }
  }

  @Test func `vacuum and emptying the log leave no deleted bytes`() throws {
    let vault = try fixture.open()
    let index = [UInt8].index(1)
    let mark = [UInt8]("a mark that must go away".utf8)
    try vault.write { () throws(StoreError) in try vault.putRecord(index: index, value: mark) }
    try vault.write { () throws(StoreError) in try vault.deleteRecord(at: RecordIndex(index) ?? .zero) }
    try vault.vacuum()
    try vault.emptyLog()
    #expect(try Stat(FilePath(fixture.side("-wal"))).size == 0)
    for name in fixture.names {
      let bytes = try #require(FileManager.default.contents(atPath: fixture.folder.appending(name).string))
      #expect(bytes.range(of: Data(mark)) == nil, "\(name)")
    }
    try vault.recheckSchema()
    vault.close()
    #expect(try fixture.open().value(.index(2)) != nil)
  }

  @Test func `a log that someone reads is not said to be empty`() throws {
    let vault = try fixture.open(.init(busyMilliseconds: 20))
    let reader = try fixture.open()
    try vault.write { () throws(StoreError) in try vault.putState(bytes: [4]) }
    try reader.read { () throws(StoreError) in
      _ = try reader.withState { $0[0] }
      try vault.write { () throws(StoreError) in try vault.putState(bytes: [5]) }
      expectError(.busy) { () throws(StoreError) in try vault.emptyLog() }
    }
    try vault.emptyLog()
  }

  @Test func `a backup holds the state and nothing under it is replaced`() throws {
    let vault = try fixture.open()
    try vault.write { () throws(StoreError) in try vault.putState(bytes: [8]) }
    let target = fixture.folder.appending("backups").appending("copy.sqlite")
    try vault.backUp(to: target) { _, _ in }
    let copy = try VaultDatabase.open(target)
    #expect(try copy.withState { $0[0] } == 8)
    #expect(try copy.value(.index(2)) == .repeating(2, count: 272))
    #expect(copy.connection.usesWriteAheadLog)
    copy.close()
    expectError(.alreadyExists) { () throws(StoreError) in try vault.backUp(to: target) { _, _ in } }
  }
}
