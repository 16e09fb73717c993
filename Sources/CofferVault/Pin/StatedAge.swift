internal import CofferPlatform
internal import CofferStorage

/// What a vault's file states of itself in the clear: enough to notice an older copy that was put back as it was. That the numbers are
/// those that were sealed is known once the vault is unlocked.
struct StatedAge {
  let vault: VaultID
  let generation: UInt64
  let epoch: UInt64

  /// Reads them, within a transaction.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/damaged`` for a vault without a header or a state.
  init(_ database: VaultDatabase) throws(StoreError) {
    let header = try VerifiedView.readHeader(database).header
    guard let generation = try VerifiedView.statedGeneration(database) else { throw VerifiedView.missing("state", database) }
    self.generation = generation
    vault = VaultID(bytes: header.vault.bytes)
    epoch = header.epoch
  }
}
