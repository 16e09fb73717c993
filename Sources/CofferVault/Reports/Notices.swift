internal import CofferVaultFormat
internal import CofferVaultRows
internal import Logging

/// Messages of the vault besides errors. Never a name of an item, never a value.
enum Notices {
  private static let log = Logger(label: "coffer")

  /// Something that is as it should be, and worth knowing.
  static func note(_ text: String) { log.notice("\(text)") }

  /// Something that is not as it should be, and no reason to fail.
  static func warn(_ text: String) { log.warning("\(text)") }
}

/// Messages of a vault besides errors. The program decides where they go, by bootstrapping `LoggingSystem`.
enum VaultNotices {
  static func say(_ text: String) { Logger(label: "coffer.vault").notice("\(text)") }
}
