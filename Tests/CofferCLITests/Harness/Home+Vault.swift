import Foundation
import Testing

extension Home {
  /// A home with a vault that a key file opens, which the environment names: no passphrase, so no Argon2id run.
  static func withVault() throws -> Home {
    let home = try Home()
    try home.transcript("vault init --quiet --new-key-file \(home.path)/key")
    home.environment["COFFER_KEY_FILE"] = home.path + "/key"
    return home
  }

  /// A home with all that a sound one has: doctor finds nothing.
  static func sound() throws -> Home {
    let home = try Home.withVault()
    try FileManager.default.createDirectory(atPath: home.path + "/run", withIntermediateDirectories: true)
    chmod(home.path + "/run", 0o700)
    try home.transcript("vault set a", in: "1")
    return home
  }

  /// The same without the variable: locked.
  func locked() { environment["COFFER_KEY_FILE"] = nil }
}
