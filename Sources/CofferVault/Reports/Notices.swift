internal import CofferVaultFormat
internal import CofferVaultRows
internal import Logging

/// Messages of the vault besides errors. Never the name of an item, never a value.
enum Notices {
  private static let log = Logger(label: "coffer")

  /// For normal events worth knowing.
  static func note(_ text: String) { log.notice("\(text)") }

  /// For problems that are no reason to fail.
  static func warn(_ text: String) { log.warning("\(text)") }
}

/// Messages of a vault besides errors. The program chooses their destination by bootstrapping `LoggingSystem`.
enum VaultNotices {
  static func say(_ text: String) { Logger(label: "coffer.vault").notice("\(text)") }
}
