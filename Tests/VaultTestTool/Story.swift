internal import CofferMemory
internal import CofferStorage
internal import CofferVault
internal import Foundation
internal import SystemPackage

/// A vault's life in one process, told line by line as it is acknowledged, for whoever records its writes to disk.
enum Story {
  static func tell(_ path: FilePath, _ keyFile: String) throws {
    let options = VaultTestTool.options
    let vault = try UnlockedVault.create(at: path, with: VaultTestTool.credentials(keyFile), cost: .testing, options: options)
    VaultTestTool.say("created")
    try write(vault, 1)
    try delete(vault, 0)
    _ = try vault.lock()
    let again = try VaultTestTool.unlock(path, keyFile)
    try write(again, 2)
    try again.addSlot(Credentials(passphrase: VaultTestTool.secret("passphrase")), label: "one", cost: .testing)
    VaultTestTool.say("slots 2")
    try again.rotate()
    VaultTestTool.say("epoch 2")
    try write(again, 3)
    guard let slot = try again.slots().first(where: { $0.summary.kind == .passphrase }) else { exit(4) }
    try again.removeSlot(slot.summary.id)
    VaultTestTool.say("epoch 3")
    try write(again, 4)
    _ = try again.lock()
    let backup = FilePath(path.string + ".backup")
    _ = try LockedVault.open(path, options: options).backup(to: backup)
    VaultTestTool.say("backup")
    try write(VaultTestTool.unlock(path, keyFile), 5)
    _ = try RestorableBackup(backup, toRestoreAt: path).restore(with: VaultTestTool.credentials(keyFile), options: options)
    VaultTestTool.say("restored 4")
    try write(VaultTestTool.unlock(path, keyFile), 6)
  }

  private static func write(_ vault: borrowing UnlockedVault, _ round: Int) throws {
    for number in 0..<4 {
      try vault.set(
        SecretForm(VaultTestTool.secret("plaintext \(round)")), for: ItemName(service: "svc", account: "\(number)"))
      VaultTestTool.say("set \(number) \(round)")
    }
  }

  private static func delete(_ vault: borrowing UnlockedVault, _ number: Int) throws {
    try vault.delete(ItemName(service: "svc", account: "\(number)"))
    VaultTestTool.say("deleted \(number)")
  }
}
