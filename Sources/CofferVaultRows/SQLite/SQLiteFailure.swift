internal import CCofferSQLite
internal import CofferPlatform
internal import CofferStorage
package import SystemPackage

/// The extended result code of a failed call and its fixed text.
///
/// Not `sqlite3_errmsg`: it quotes the file's schema, which the file's author chose.
struct SQLiteFailure: Error, CustomStringConvertible {
  let code: Int32

  var description: String {
    "SQLite \(code), \(sqlite3_errstr(code).map { String(cString: $0) } ?? "unknown")"
  }
}

extension StoreError {
  /// - Parameter code: an extended result code (sqlite.org/rescode.html).
  package init(sqlite code: Int32, _ doing: String, on connection: OpaquePointer?, place: FilePath) {
    let system = sqlite3_system_errno(connection)
    let primary = code & 0xff
    if (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN) && system != 0 {
      self.init(errno: system, doing, place: place)
      return
    }
    let (kind, cure) = Self.decision(primary)
    self.init(kind, "could not \(doing)", place: place.string, cure: cure, underlying: SQLiteFailure(code: code))
  }

  private static func decision(_ primary: Int32) -> (Kind, String) {
    switch primary {
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: (.busy, "another process is using the vault: try again")
    case SQLITE_FULL: (.noSpace, "free some space on that file system and try again; nothing was changed")
    case SQLITE_READONLY: (.readOnly, "check that the file, its folder and its file system can be written")
    case SQLITE_PERM, SQLITE_AUTH, SQLITE_CANTOPEN: (.denied, "check the owner and mode of the file and its folder")
    case SQLITE_NOMEM: (.memory, "free some memory and try again")
    // A too long value is rejected before SQLite sees it: see RecordLimits.
    case SQLITE_TOOBIG: (.damaged, "restore a backup")
    case SQLITE_IOERR: (.io(Errno.ioError.rawValue), "check the disk; nothing was changed")
    // A statement does not fit the file's tables. All statements are fixed, so the file is wrong.
    default: (.damaged, "restore a backup")
    }
  }
}
