internal import CofferMemory
internal import CofferStorage
internal import CofferVault
internal import Foundation
internal import SystemPackage

/// A vault's life in one process, printed as acknowledged, for a recorder of its disk writes.
enum Story {
  static func tell(_ path: FilePath, _ keyFile: String) throws {
    let options = VaultVerbs.options
    let vault = try UnlockedVault.create(at: .file(path), with: VaultVerbs.credentials(keyFile), cost: .testing, options: options)
    VaultVerbs.say("created")
    try write(vault, 1)
    try delete(vault, 0)
    _ = try vault.lock()
    let again = try VaultVerbs.unlock(path, keyFile)
    try write(again, 2)
    try again.addSlot(Credentials(passphrase: VaultVerbs.secret("passphrase")), label: "one", cost: .testing)
    VaultVerbs.say("slots 2")
    try again.rotate()
    VaultVerbs.say("epoch 2")
    try write(again, 3)
    guard let slot = try again.slots().first(where: { $0.summary.kind == .passphrase }) else { exit(4) }
    try again.removeSlot(slot.summary.id)
    VaultVerbs.say("epoch 3")
    try write(again, 4)
    _ = try again.lock()
    let backup = FilePath(path.string + ".backup")
    _ = try LockedVault.open(.file(path), options: options).backup(to: backup)
    VaultVerbs.say("backup")
    try write(VaultVerbs.unlock(path, keyFile), 5)
    _ = try RestorableBackup(backup, toRestoreAt: .file(path)).restore(with: VaultVerbs.credentials(keyFile), options: options)
    VaultVerbs.say("restored 4")
    try write(VaultVerbs.unlock(path, keyFile), 6)
  }

  private static func write(_ vault: borrowing UnlockedVault, _ round: Int) throws {
    for number in 0..<4 {
      try vault.set(
        SecretForm(VaultVerbs.secret("plaintext \(round)")), for: ItemName(service: "svc", account: "\(number)"))
      VaultVerbs.say("set \(number) \(round)")
    }
  }

  private static func delete(_ vault: borrowing UnlockedVault, _ number: Int) throws {
    try vault.remove(ItemName(service: "svc", account: "\(number)"))
    VaultVerbs.say("deleted \(number)")
  }
}
