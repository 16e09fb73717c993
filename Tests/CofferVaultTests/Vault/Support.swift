import CCofferSQLite
import CofferTestSupport
import CofferMemory
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// A vault with a key-file slot in a temporary private folder, removed with this value.
final class TemporaryVault {
  private let home: TestFolder
  var folder: FilePath { home.path }
  let path: FilePath
  static let keyFile = "PVKEY1-" + String(repeating: "00", count: 32) + TemporaryVault.zeroKeyCheck + "\n"
  /// First 8 hex digits of BLAKE2b-256 of 32 zero bytes, from Python's hashlib.
  static let zeroKeyCheck = "89eb0d6a"

  init() throws {
    home = try TestFolder("vault")
    path = home.path.appending("vault.sqlite")
  }

  static func credentials() throws -> Credentials { Credentials(keyFile: try secret(keyFile)) }

  func create() throws -> UnlockedVault { try UnlockedVault.create(at: path, with: Self.credentials()) }
  func unlock() throws -> UnlockedVault { try LockedVault.open(path).unlock(with: Self.credentials()) }

  func copy() throws -> TemporaryVault {
    let copy = try TemporaryVault()
    for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: path.string + suffix) {
      try FileManager.default.copyItem(atPath: path.string + suffix, toPath: copy.path.string + suffix)
    }
    return copy
  }

  /// Runs SQL as an attacker with write access would: with SQLite, and no defenses.
  func attack(_ sql: String) throws {
    var db: OpaquePointer?
    guard sqlite3_open(path.string, &db) == SQLITE_OK else { throw AttackFailed(sql: sql, message: "open") }
    defer { sqlite3_close(db) }
    sqlite3_busy_timeout(db, 5000)
    guard sqlite3_exec(db, sql, nil, nil, nil) == SQLITE_OK else {
      throw AttackFailed(sql: sql, message: String(cString: sqlite3_errmsg(db)))
    }
  }

  struct AttackFailed: Error { let sql: String, message: String }
}

func secret(_ text: String) throws -> SecretBytes {
  try secret(Array(text.utf8))
}

func secret(_ bytes: [UInt8]) throws -> SecretBytes {
  try bytes.span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
}

func form(_ text: String, _ metadata: ItemMetadata = ItemMetadata()) throws -> SecretForm {
  SecretForm(try secret(text), metadata: metadata)
}

func text(_ form: SecretForm?) -> String? {
  form.map { form in form.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}

extension TemporaryVault {
  func hex(_ sql: String) throws -> String {
    var db: OpaquePointer?
    var statement: OpaquePointer?
    guard sqlite3_open(path.string, &db) == SQLITE_OK else { throw AttackFailed(sql: sql, message: "open") }
    defer { sqlite3_close(db) }
    guard sqlite3_prepare_v2(db, sql, -1, &statement, nil) == SQLITE_OK, sqlite3_step(statement) == SQLITE_ROW,
      let text = sqlite3_column_text(statement, 0)
    else { throw AttackFailed(sql: sql, message: String(cString: sqlite3_errmsg(db))) }
    defer { sqlite3_finalize(statement) }
    return String(cString: text)
  }

  /// Every row of `rec` as the statement that puts it back.
  func rows() throws -> [String] {
    let all = try hex(
      """
      SELECT coalesce(group_concat('REPLACE INTO rec VALUES(' || quote(idx) || ',' || quote(rid) || ',' || quote(meta) || ','
        || quote(value) || ')', ';'), '') FROM rec
      """)
    return all.isEmpty ? [] : all.components(separatedBy: ";")
  }
}

/// SQL for the blob in `column` with a different `byte`, counted from one.
func changed(_ column: String, byte: Int) -> String {
  let here = "CASE substr(\(column), \(byte), 1) WHEN x'00' THEN x'01' ELSE x'00' END"
  return "CAST(substr(\(column), 1, \(byte - 1)) || \(here) || substr(\(column), \(byte + 1)) AS BLOB)"
}
