internal import CofferMemory
internal import CofferStorage
internal import CofferVault
internal import Foundation
internal import SystemPackage

/// Uses a vault with a passphrase and a value from standard input, in guarded memory, then locks it and waits for
/// inspection. Both have 32 bytes.
enum Canary {
  static func sing(_ path: FilePath, _ keyFile: String) throws {
    let passphrase = try read()
    let value = try read()
    let name = try ItemName(service: "svc", account: "canary")
    try use(path, keyFile, passphrase, value, name)
    let vault = try LockedVault.open(.file(path), options: .withoutPins).unlock(with: Credentials(passphrase: passphrase))
    let length = try vault.get(name).map { form in form.bytes.withBytes { $0.byteCount } }
    VaultVerbs.say("open \(length ?? 0)")
    wait()
    _ = try vault.lock()
    VaultVerbs.say("locked")
    wait()
  }

  private static func use(
    _ path: FilePath, _ keyFile: String, _ passphrase: borrowing SecretBytes, _ value: consuming SecretBytes, _ name: ItemName
  ) throws {
    let vault = try VaultVerbs.unlock(path, keyFile)
    try vault.addSlot(Credentials(passphrase: passphrase.duplicate()), label: "canary", cost: .testing)
    try vault.set(SecretForm(value), for: name)
    _ = try vault.lock()
  }

  private static func read() throws -> SecretBytes {
    var secret = try SecretBytes.random(32)
    let count = secret.withUnsafeMutableBytes { Foundation.read(0, $0.baseAddress, $0.count) }
    guard count == 32 else { exit(4) }
    return secret
  }

  private static func wait() {
    var byte: UInt8 = 0
    _ = Foundation.read(0, &byte, 1)
  }
}
