internal import CCofferSQLite
internal import CCofferSodium
internal import CofferVaultFormat

/// The versions of the libraries beneath a vault in this process, for a bug report.
package enum LibraryVersions {
  /// The format of a vault that is made now; see VaultFormat.
  package static var format: Int { VaultFormat.version }
  /// Of SQLite, as it runs.
  package static var sqlite: String { String(cString: sqlite3_libversion()) }
  /// Of libsodium, as it runs.
  package static var sodium: String { String(cString: sodium_version_string()) }
}
