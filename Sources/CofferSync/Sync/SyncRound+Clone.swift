internal import CofferPlatform
internal import CofferVault
internal import CofferVaultFormat
internal import CofferVaultRows
internal import SystemPackage

extension SyncRound {
  /// The newest head there: under the latest key, the one with the highest generation, as each put has a higher one than the
  /// heads that it joins.
  func newest(_ listing: PieceListing) throws(StoreError) -> SealedPieces {
    guard !listing.heads.isEmpty else {
      throw StoreError(
        .notFound, "no vault lies there", place: remote, cure: "check the address, and sync first where the vault is")
    }
    try bring(listing.heads.map { .head($0) })
    var newest: (rows: SealedPieces, epoch: UInt64, generation: UInt64)?
    for name in listing.heads {
      guard let bytes = try folder.read(.head(name)) else { throw incomplete("a head is missing there") }
      let rows = header(try Head(bytes, named: name, at: remote))
      let epoch = try HeadVault.stated(rows).epoch
      let isNewer = newest.map { ($0.epoch, $0.generation) < (epoch, name.generation) } ?? true
      if isNewer { newest = (rows, epoch, name.generation) }
    }
    guard let newest else { throw incomplete("a head is missing there") }
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
    let memory = try SyncRecord.read(salt, remote, in: pins)
    if !options.accepts, let memory, let lost = memory.seen.lacking(in: joint).first {
      throw rolledBack(try missing(lost, memory.seen, in: head))
    }
    guard !options.isTrial else { return nil }
    return try HeadVault.makeFile(file, of: head, options: vault) { (machine) throws(StoreError) in
      try SyncMachine.making(machine, named: options.machine)
    }
  }
}
