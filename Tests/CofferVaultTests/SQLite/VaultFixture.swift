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

/// A private folder for one test, optionally with a vault file; removed with this value.
final class VaultFixture {
  private let home: TestFolder
  var folder: FilePath { home.path }
  var vault: FilePath { folder.appending("vault.sqlite") }

  init() throws { home = try TestFolder("vault") }

  @discardableResult
  func create(records: Int = 3) throws -> VaultDatabase {
    try VaultDatabase.create(at: vault) { database throws(StoreError) in
      try database.putHeader(.first, bytes: .repeating(1, count: 300))
      try database.putHeader(.second, bytes: .repeating(1, count: 300))
      try database.putState(bytes: .repeating(2, count: 200))
      for number in 0..<records {
        try database.putRecord(index: .index(number), value: .repeating(UInt8(truncatingIfNeeded: number), count: 272))
      }
    }
  }

  func open(_ options: Connection.Options = .init()) throws(StoreError) -> VaultDatabase {
    try VaultDatabase.open(vault, options)
  }

  func openingError(_ options: Connection.Options = .init()) -> StoreError? {
    do throws(StoreError) {
      _ = try VaultDatabase.open(vault, options)
      return nil
    } catch { return error }
  }

  /// Runs `sql` with the C API and no defenses, as a foreign program would.
  func attack(_ sql: String) throws {
    var handle: OpaquePointer?
    defer { sqlite3_close(handle) }
    try #require(sqlite3_open(vault.string, &handle) == SQLITE_OK)
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    try #require(code == SQLITE_OK, "\(String(cString: sqlite3_errmsg(handle)))")
  }

  func side(_ suffix: String) -> String { vault.string + suffix }

  func write(_ bytes: [UInt8], to path: String, mode: Int = 0o600) throws {
    _ = FileManager.default.createFile(atPath: path, contents: Data(bytes), attributes: [.posixPermissions: mode])
  }

  var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: folder.string)) ?? []).sorted() }

  func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }
}

extension [UInt8] {
  static func repeating(_ byte: UInt8, count: Int) -> [UInt8] { [UInt8](repeating: byte, count: count) }

  /// The index of test record `number`: ascending, spread over the buckets.
  static func index(_ number: Int) -> [UInt8] {
    let top = UInt16(truncatingIfNeeded: number &* 64)
    return [UInt8(top >> 8), UInt8(top & 255)] + (0..<14).map { UInt8(truncatingIfNeeded: number >> (8 * (13 - $0) % 64)) }
  }

  func lent<Result>(_ body: (UnsafeRawBufferPointer) throws(StoreError) -> Result) throws(StoreError) -> Result {
    try span.bytes.withUnsafeBytes(body)
  }
}

extension VaultRows {
  func putHeader(_ copy: HeaderCopy, bytes: [UInt8]) throws(StoreError) {
    try bytes.lent { (lent) throws(StoreError) in try putHeader(copy, lent) }
  }

  func putState(bytes: [UInt8]) throws(StoreError) {
    try bytes.lent { (lent) throws(StoreError) in try putState(lent) }
  }

  func putRecord(index: [UInt8], in table: RecordTable = .present, value: [UInt8]?) throws(StoreError) {
    let (id, meta) = (RecordID([UInt8].repeating(7, count: 16)) ?? .zero, [UInt8].repeating(8, count: 144))
    let record = SealedRecord(index: RecordIndex(index) ?? .zero, id: id, meta: meta, value: value)
    try put(record, in: table, replacing: false)
  }

  func value(_ index: [UInt8]) throws(StoreError) -> [UInt8]? {
    try withRecord(at: RecordIndex(index) ?? .zero) { (row) throws(StoreError) in row.value.map { [UInt8]($0) } ?? [] }
  }

  func indices(inBucket bucket: Int) throws(StoreError) -> [[UInt8]] {
    var found: [[UInt8]] = []
    try forEachIndex(inBucket: bucket) { (idx, _) throws(StoreError) in found.append([UInt8](idx)) }
    return found
  }
}

/// Expects `body` to throw a ``StoreError`` of `kind`, with a cure.
func expectError(
  _ kind: StoreError.Kind, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws(StoreError) -> Void
) {
  do throws(StoreError) {
    try body()
    Issue.record("nothing was thrown", sourceLocation: sourceLocation)
  } catch {
    #expect(error.kind == kind, "\(error)", sourceLocation: sourceLocation)
    #expect(!error.cure.isEmpty, sourceLocation: sourceLocation)
  }
}

extension VaultRows {
  func withRecord<Result>(
    at index: RecordIndex, in table: RecordTable = .present, _ part: RecordPart = .all,
    _ body: (borrowing RecordColumns) throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    var result: Result?
    try index.withBytes { (bytes) throws(StoreError) in
      try lendRecord(at: bytes, in: table, part) { (columns) throws(StoreError) in result = try body(columns) }
    }
    return result
  }
}
