internal import CCofferSQLite
internal import CCofferSodium

/// The versions of the vault format and of the loaded libraries, for a bug report.
package enum LibraryVersions {
  /// The format of a new vault; see VaultFormat.
  package static var format: Int { VaultFormat.version }
  package static var sqlite: String { String(cString: sqlite3_libversion()) }
  package static var sodium: String { String(cString: sodium_version_string()) }
}
