internal import CCofferSodium
internal import CofferMemory
internal import CofferPlatform

/// Argon2id 1.3 with one lane. Source: RFC 9106; libsodium `crypto_pwhash`.
enum PassphraseHash {
  /// A passphrase is typed or generated: longer input is a file given by mistake.
  static let longestPassphrase = 1024

  // The costs that a file may ask of its reader, chosen by the file's writer.
  /// 64 passes over 256 MiB take about 7 s here.
  static let passes: ClosedRange<UInt32> = 1...64
  /// Below 8 MiB the hash is hardly memory-hard; above 2 GiB ordinary machines cannot run it.
  static let mebibytes: ClosedRange<UInt32> = 8...2048
  /// Passes times memory, in MiB: 16 GiB of traffic, about 7 s here.
  static let mostWork: UInt64 = 16 * 1024

  /// - Parameter memory: bytes that may be used; see ``MemoryLimit``.
  /// - Throws: `.kdfMemory`, before anything runs, for a cost out of bounds or above `memory`; `.memory`.
  static func derive(
    _ passphrase: UnsafeRawBufferPointer, salt: SlotSalt, cost: PassphraseCost, memory: Int
  ) throws(StoreError) -> SecretBytes {
    try check(cost, memory: memory)
    _ = Sodium.ready
    let needs = bytes(of: cost)
    return try SecretBytes(count: 32, memory: { FormatError.memory($0).storeError() }) { (out) throws(StoreError) in
      let status = salt.withBytes { salt in
        crypto_pwhash(
          out.u8, UInt64(out.count), UnsafeRawPointer(passphrase.u8).assumingMemoryBound(to: CChar.self),
          UInt64(passphrase.count), salt.u8, UInt64(cost.passes), needs, crypto_pwhash_ALG_ARGON2ID13)
      }
      // Within the bounds, it fails only if the system refuses the memory.
      guard status == 0 else { throw tooMuch(cost, has: memory) }
    }
  }

  /// - Throws: `.kdfMemory` if `cost` may not run here.
  static func check(_ cost: PassphraseCost, memory: Int) throws(StoreError) {
    guard passes.contains(cost.passes), mebibytes.contains(cost.mebibytes),
      UInt64(cost.passes) * UInt64(cost.mebibytes) <= mostWork
    else {
      throw StoreError(
        .kdfMemory(needs: bytes(of: cost), has: memory),
        "a slot asks for \(cost.passes) passes over \(cost.mebibytes) MiB, beyond what any vault needs",
        cure: "restore the vault from a backup, or unlock it with another slot")
    }
    guard bytes(of: cost) <= memory else { throw tooMuch(cost, has: memory) }
  }

  private static func bytes(of cost: PassphraseCost) -> Int { Int(cost.mebibytes) << 20 }

  private static func tooMuch(_ cost: PassphraseCost, has memory: Int) -> StoreError {
    StoreError(
      .kdfMemory(needs: bytes(of: cost), has: memory),
      "a passphrase slot needs \(cost.mebibytes) MiB of memory, and \(memory >> 20) MiB are available",
      cure: "free memory or raise the limit, or unlock with a key file, recovery code or recipient key")
  }
}
