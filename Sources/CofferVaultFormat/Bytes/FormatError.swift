package import CofferMemory
package import CofferPlatform

/// Why bytes of a vault were rejected. Names the part, never its content.
package enum FormatError: Error, Equatable {
  /// `part` does not have the layout of the format.
  case damaged(_ part: String, _ why: String)
  /// The seal of `part` is invalid: other bytes, or another key, place or time.
  case unauthentic(_ part: String)
  /// Made by a version that this one cannot read.
  case newer(found: Int)
  /// The vault's key does not descend from a known one.
  case contradicted(Contradiction)
  /// A counter has reached its maximum, which only someone with the key can have caused.
  case spent(_ number: String)
  /// Guarded memory ran out.
  case memory(SecretMemoryError)

  /// An unauthentic part is tampering only if the key is known to be right: the caller of a slot's box decides otherwise.
  package func storeError(place: String? = nil, key: String? = nil) -> StoreError {
    switch self {
    case .damaged(let part, let why):
      StoreError(
        .damaged, "the vault's \(part) is damaged: \(why)", key: key, place: place, cure: "restore the vault from a backup")
    case .unauthentic(let part):
      StoreError(
        .tampered, "the vault's \(part) was changed without the key", key: key, place: place,
        cure: "restore the vault from a backup you trust, and find out who wrote to the file")
    case .newer(let found):
      StoreError(
        .newerFormat(found: found, supported: VaultFormat.version),
        "the vault asks for a reader of format version \(found), and this one reads \(VaultFormat.version)", key: key,
        place: place,
        cure: "update coffer")
    case .contradicted(let contradiction): contradiction.error(place: place)
    case .spent(let number):
      StoreError(
        .damaged,
        "the vault's \(number) has reached its maximum: someone with the key set it, and nothing can follow it",
        key: key, place: place, cure: "copy the items to a new vault with UnlockedVault.export, and remove this one",
        remedy: .leaveVault)
    case .memory(let error):
      StoreError(
        .memory, "guarded memory ran out", key: key, place: place, cure: "free memory or raise the process's limits",
        underlying: error)
    }
  }
}

/// The version of the format that this code writes, and the highest it reads.
package enum VaultFormat {
  package static let version = 1
  /// Bytes that a later version may add to the end of a description, a state or a log row.
  static let longestExtension = 4096
}
