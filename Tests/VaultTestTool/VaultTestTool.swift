internal import CofferMemory
internal import CofferStorage
internal import CofferVault
internal import Foundation
internal import SystemPackage

/// Another process that works on a vault.
///
/// `VaultTestTool rotate VAULT KEYFILE` · `VaultTestTool write VAULT KEYFILE PREFIX STOPFILE` · `VaultTestTool fill VAULT KEYFILE COUNT` ·
/// `VaultTestTool step VAULT KEYFILE STEP` · `VaultTestTool story VAULT KEYFILE` · `VaultTestTool crowd VAULT KEYFILE SEED COUNT` ·
/// `VaultTestTool canary VAULT KEYFILE`. With `COFFER_TEST_PINS` in the environment, that is the folder of pins.
@main
enum VaultTestTool {
  static func main() throws {
    let arguments = CommandLine.arguments
    let path = FilePath(arguments[2])
    switch arguments[1] {
    case "rotate":
      let vault = try unlock(path, arguments[3])
      print("rotated in \(try ContinuousClock().measure { try vault.rotate() })")
    case "fill": try fill(unlock(path, arguments[3]), Int(arguments[4]) ?? 0)
    case "step": return Step.run(arguments[4], path, arguments[3])
    case "story": return try Story.tell(path, arguments[3])
    case "crowd": return try Crowd.join(path, arguments[3], UInt64(arguments[4]) ?? 0, Int(arguments[5]) ?? 0)
    case "canary": return try Canary.sing(path, arguments[3])
    default: try write(unlock(path, arguments[3]), arguments[4], until: arguments[5])
    }
    print("acknowledged")
  }

  static var options: VaultOptions {
    let pins = ProcessInfo.processInfo.environment["COFFER_TEST_PINS"] ?? ""
    return VaultOptions(pins: pins.isEmpty ? nil : FilePath(pins))
  }

  static func credentials(_ keyFile: String) throws -> Credentials {
    Credentials(
      keyFile: try Data(contentsOf: URL(fileURLWithPath: keyFile)).bytes.withUnsafeBytes { try SecretBytes(copying: $0) })
  }

  static func unlock(_ path: FilePath, _ keyFile: String) throws -> UnlockedVault {
    try LockedVault.open(path, options: options).unlock(with: credentials(keyFile))
  }

  static func secret(_ text: String) throws -> SecretBytes {
    try text.utf8Span.span.bytes.withUnsafeBytes { (bytes) throws(SecretMemoryError) in try SecretBytes(copying: bytes) }
  }

  static func text(_ form: SecretForm?) -> String? {
    form.map { form in form.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
  }

  /// Says a line at once: whoever reads it may kill this process next, or have it killed at its next call.
  static func say(_ line: String) {
    var rest = Array((line + "\n").utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.write(1, $0.baseAddress, $0.count) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
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
      try vault.set(SecretForm(try secret("\(prefix) \(count)")), for: ItemName(service: prefix, account: "\(count)"))
      count += 1
      usleep(1_000)
    }
    print(count)
  }
}
