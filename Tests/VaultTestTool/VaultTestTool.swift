internal import CofferMemory
internal import CofferStorage
internal import CofferVault
internal import Foundation
internal import SystemPackage

/// Another process that works on a vault.
///
/// `VaultTestTool rotate VAULT KEYFILE` · `VaultTestTool write VAULT KEYFILE PREFIX STOPFILE` · `VaultTestTool fill VAULT KEYFILE COUNT`
@main
enum VaultTestTool {
  static func main() throws {
    let arguments = CommandLine.arguments
    let key = try Data(contentsOf: URL(fileURLWithPath: arguments[3])).bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
    let vault = try LockedVault.open(FilePath(arguments[2])).unlock(with: Credentials(keyFile: key))
    switch arguments[1] {
    case "rotate": print("rotated in \(try ContinuousClock().measure { try vault.rotate() })")
    case "fill": try fill(vault, Int(arguments[4]) ?? 0)
    default: try write(vault, arguments[4], until: arguments[5])
    }
    print("acknowledged")
  }

  /// Stores many items of 64 bytes in one transaction.
  private static func fill(_ vault: consuming UnlockedVault, _ count: Int) throws {
    var batch = Batch<Vault>()
    for number in 0..<count { batch.writes["item \(number)"] = .set(SecretForm(try SecretBytes.random(64))) }
    try VaultStore(service: "bench", vault: vault).commit(batch, decision: nil)
  }

  /// Writes one item after another until `stop` is there, and prints how many were acknowledged.
  private static func write(_ vault: borrowing UnlockedVault, _ prefix: String, until stop: String) throws {
    var count = 0
    while !FileManager.default.fileExists(atPath: stop) {
      let text = "\(prefix) \(count)"
      let value = try text.utf8Span.span.bytes.withUnsafeBytes { (bytes) throws(SecretMemoryError) in
        try SecretBytes(copying: bytes)
      }
      try vault.set(SecretForm(value), for: ItemName(service: prefix, account: "\(count)"))
      count += 1
      usleep(1_000)
    }
    print(count)
  }
}
