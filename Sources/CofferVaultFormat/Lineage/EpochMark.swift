internal import CCofferSodium

/// The public name of one epoch's key, which reveals nothing of the key.
package struct EpochMark: Hashable, Sendable {
  package let epoch: UInt64
  package let mark: KeyMark

  package init(epoch: UInt64, mark: KeyMark) {
    self.epoch = epoch
    self.mark = mark
  }

  /// The format's F(L, "PV1 lineage", vault_id, LE64 epoch, 32) of the epoch's secret L.
  package init(of secret: UnsafeRawBufferPointer, vault: VaultSalt, epoch: UInt64) {
    self.epoch = epoch
    mark = KeyedHash.digest(secret, .lineage, salt: vault) { $0.update(epoch) }
  }

  /// Whether `other` names the same key; in constant time for marks of one epoch.
  package func names(_ other: EpochMark) -> Bool {
    guard epoch == other.epoch else { return false }
    return mark.withBytes { mine in other.mark.withBytes { sodium_memcmp(mine.u8, $0.u8, 32) == 0 } }
  }
}
