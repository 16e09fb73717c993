import Foundation
import Testing

extension Home {
  /// Whether this build has a vault behind its command line.
  static let hasVault: Bool = {
    do { return try Home().coffer("vault status").status == 78 } catch { return false }
  }()

  /// A home with a vault that a key file opens, which the environment names: no passphrase, so no Argon2id run.
  static func withVault() throws -> Home {
    let home = try Home()
    try home.transcript("vault init --quiet --new-key-file \(home.path)/key")
    home.environment["COFFER_KEY_FILE"] = home.path + "/key"
    return home
  }

  /// The same without the variable: locked.
  func locked() { environment["COFFER_KEY_FILE"] = nil }
}

extension Trait where Self == ConditionTrait {
  /// Runs only where there is a vault to talk to.
  static var needsVault: Self { .enabled(if: Home.hasVault, "this build has no vault behind its command line") }
}
