import Coffer
import CofferMemory
import CofferVault
import Foundation
import SystemPackage

extension Home {
  /// A home with a passphrase vault, the passphrase also in the file `pass`, at the least cost that the program keeps; and a
  /// recovery code.
  static func withPassphrase(_ passphrase: String) throws -> (home: Home, code: String) {
    let home = try Home()
    _ = try home.file("pass", passphrase)
    let places = Places(home: FilePath(home.path))
    var credentials = Credentials()
    credentials.passphrase = try secret(passphrase)
    let vault = try UnlockedVault.create(at: places.vault, with: credentials, cost: .testing, options: places.vaultOptions)
    let code = try RecoveryCode.generate()
    var second = Credentials()
    second.recoveryCode = try code.duplicate()
    try vault.addSlot(second, label: "paper")
    return (home, code.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
  }
}
