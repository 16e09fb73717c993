internal import CCofferSQLite
internal import CCofferSodium
internal import CofferVaultFormat

/// The versions of the format and the libraries, for a bug report.
package enum LibraryVersions {
  package static var format: Int { VaultFormat.version }
  package static var sqlite: String { String(cString: sqlite3_libversion()) }
  package static var sodium: String { String(cString: sodium_version_string()) }
}
