package import Logging
internal import Synchronization

/// Messages of the vault besides errors. Never the name of an item, never a value.
package enum Notices {
  private static let log = Mutex<Logger?>(nil)

  /// Sends all vaults' messages to `logger`, instead of the loggers `coffer` and `coffer.vault` of `LoggingSystem`.
  package static func send(to logger: Logger) { log.withLock { $0 = logger } }

  fileprivate static func logger(_ label: String) -> Logger { log.withLock { $0 } ?? Logger(label: label) }

  /// For normal events worth knowing.
  static func note(_ text: String) { logger("coffer").notice("\(text)") }

  /// For problems that are no reason to fail.
  static func warn(_ text: String) { logger("coffer").warning("\(text)") }
}

/// Messages of a vault besides errors. The program chooses their destination by bootstrapping `LoggingSystem`.
enum VaultNotices {
  static func say(_ text: String) { Notices.logger("coffer.vault").notice("\(text)") }
}
