internal import CofferMemory
internal import CofferStorage
internal import CofferVault
internal import Foundation
internal import SystemPackage

/// Another process that works on a vault.
///
/// `VaultTestTool rotate VAULT KEYFILE` · `VaultTestTool write VAULT KEYFILE PREFIX COUNT` · `VaultTestTool fill VAULT KEYFILE COUNT`
@main
enum VaultTestTool {
  static func main() throws {
    let arguments = CommandLine.arguments
    let key = try Data(contentsOf: URL(fileURLWithPath: arguments[3])).bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
    let vault = try LockedVault.open(FilePath(arguments[2])).unlock(with: Credentials(keyFile: key))
    switch arguments[1] {
    case "rotate": print("rotated in \(try ContinuousClock().measure { try vault.rotate() })")
    case "fill": try fill(vault, Int(arguments[4]) ?? 0)
    default: try write(vault, arguments[4], Int(arguments[5]) ?? 0)
    }
    print("acknowledged")
  }

  /// Stores many items of 64 bytes in one transaction.
  private static func fill(_ vault: consuming UnlockedVault, _ count: Int) throws {
    var batch = Batch<Vault>()
    for number in 0..<count { batch.writes["item \(number)"] = .set(SecretForm(try SecretBytes.random(64))) }
    try VaultStore(service: "bench", vault: vault).commit(batch, decision: nil)
  }

  /// Writes one item after another, and says so after each.
  private static func write(_ vault: borrowing UnlockedVault, _ prefix: String, _ count: Int) throws {
    for number in 0..<count {
      let value = try "\(prefix) \(number)".utf8Span.span.bytes.withUnsafeBytes { bytes in
        Result { try SecretBytes(copying: bytes) }.mapError { $0 as any Error }
      }.get()
      try vault.set(SecretForm(value), for: ItemName(service: prefix, account: "\(number)"))
      print(number)
    }
  }
}
