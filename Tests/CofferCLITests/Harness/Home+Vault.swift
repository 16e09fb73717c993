import Coffer
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferCLI

extension Home {
  /// A home with a vault and its key file in the environment. Without a passphrase, so no Argon2id run, and made in this
  /// process, as most command tests begin with one.
  static func withVault() throws -> Home {
    let home = try Home()
    let places = Places(home: FilePath(home.path))
    var credentials = Credentials()
    credentials.keyFile = try NewKeyFile.write(to: home.path + "/key")
    _ = try UnlockedVault.create(at: places.vault, with: credentials, options: places.vaultOptions)
    home.environment["COFFER_KEY_FILE"] = home.path + "/key"
    return home
  }

  static func sound() throws -> Home {
    let home = try Home.withVault()
    try FileManager.default.createDirectory(atPath: home.path + "/run", withIntermediateDirectories: true)
    chmod(home.path + "/run", 0o700)
    try home.transcript("vault set a", in: "1")
    return home
  }

  func locked() { environment["COFFER_KEY_FILE"] = nil }
}
