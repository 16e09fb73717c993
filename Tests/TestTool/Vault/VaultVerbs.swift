internal import CofferMemory
internal import CofferStorage
internal import CofferVault
internal import Foundation
internal import SystemPackage

/// Another process with a vault.
///
/// `TestTool rotate VAULT KEYFILE` · `write-items VAULT KEYFILE PREFIX STOPFILE` · `fill VAULT KEYFILE COUNT` · `step VAULT
/// KEYFILE STEP` · `story VAULT KEYFILE` · `members VAULT KEYFILE COUNT` · `crowd VAULT KEYFILE SEED COUNT` · `canary VAULT
/// KEYFILE`. `COFFER_TEST_PINS` in the environment is the folder of pins.
enum VaultVerbs {
  /// Runs `verb`; false if it is not a vault verb.
  static func run(_ verb: String, _ arguments: [String]) throws -> Bool {
    guard arguments.count > 1 else { return false }
    if try SharedVerbs.run(verb, arguments) { return true }
    let path = FilePath(arguments[0]), keyFile = arguments[1], rest = Array(arguments.dropFirst(2))
    switch verb {
    case "rotate":
      let vault = try unlock(path, keyFile)
      print("rotated in \(try ContinuousClock().measure { try vault.rotate() })\nacknowledged")
    case "fill":
      try fill(unlock(path, keyFile), Int(rest[0]) ?? 0)
      print("acknowledged")
    case "write-items":
      try write(unlock(path, keyFile), rest[0], until: rest[1])
      print("acknowledged")
    case "step": Step.run(rest[0], path, keyFile)
    case "story": try Story.tell(path, keyFile)
    case "members": try changeMembers(unlock(path, keyFile), Int(rest[0]) ?? 0)
    case "crowd": try Crowd.join(path, keyFile, UInt64(rest[0]) ?? 0, Int(rest[1]) ?? 0)
    case "canary": try Canary.sing(path, keyFile)
    default: return false
    }
    return true
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
    try LockedVault.open(.file(path), options: options).unlock(with: credentials(keyFile))
  }

  static func secret(_ text: String) throws -> SecretBytes {
    try text.utf8Span.span.bytes.withUnsafeBytes { (bytes) throws(SecretMemoryError) in try SecretBytes(copying: bytes) }
  }

  static func text(_ form: SecretForm?) -> String? {
    form.map { form in form.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
  }

  /// Prints a line at once: its reader may kill this process next, or at its next call.
  static func say(_ line: String) {
    var rest = Array((line + "\n").utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.write(1, $0.baseAddress, $0.count) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Adds a recipient and removes it again, with a new key each time; then adds one that stays. Others may change members
  /// meanwhile, so a removal's result is looked up by the recipient's id.
  private static func changeMembers(_ vault: consuming UnlockedVault, _ count: Int) throws {
    for round in 0..<count {
      let member = try vault.addSlot(Identity.recipient(of: Identity.generate()), label: "guest")
      say("added \(member.id)")
      guard round < count - 1 else { break }
      try vault.removeSlot(member.id)
      say("removed \(member.id)")
    }
    say("acknowledged")
  }

  private static func fill(_ vault: consuming UnlockedVault, _ count: Int) throws {
    var batch = Batch<Vault>()
    for number in 0..<count { batch.writes["item \(number)"] = .set(SecretForm(try SecretBytes.random(64))) }
    try VaultStore(service: "bench", vault: vault).commit(batch, decision: nil)
  }

  /// Writes items until the file `stop` exists, and prints the count of acknowledged ones.
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
