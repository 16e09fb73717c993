internal import CofferPlatform
internal import CofferVault
internal import CofferVaultFormat
internal import CofferVaultRows
internal import SystemPackage

extension SyncRound {
  /// The newest head there.
  func newest(_ listing: PieceListing) throws(StoreError) -> SealedPieces {
    guard let newest = try heads(listing.heads).first else {
      throw StoreError(
        .notFound, "no vault lies there\(listing.strangers > 0 ? ", only other files" : "")", place: remote,
        cure: "check the address, and sync first where the vault is")
    }
    return newest.rows
  }

  /// Makes a vault's file of an open head, if this machine has seen no put that is missing there.
  ///
  /// - Returns: nil for a trial.
  func clone(
    _ head: borrowing UnlockedVault, _ listing: PieceListing, to file: FilePath, _ vault: VaultOptions
  ) throws(StoreError) -> UnlockedVault? {
    var report = SyncReport(remote: remote)
    let joint = try joint(found(listing.heads, HeadSecrets(nil), by: head, &report), nil)
    try check(listing, joint, against: SyncRecord.read(salt, remote, in: pins), by: head)
    guard !options.isTrial else { return nil }
    return try HeadVault.makeFile(file, of: head, options: vault) { (machine) throws(StoreError) in
      try SyncMachine.making(machine, named: options.machine)
    }
  }
}
