internal import Logging

/// What a vault has to say besides errors: the program decides where it goes, by bootstrapping `LoggingSystem`.
enum VaultNotices {
  static func say(_ text: String) { Logger(label: "coffer.vault").notice("\(text)") }
}
