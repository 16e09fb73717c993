internal import CofferPlatform
internal import CofferVault
internal import CofferVaultFormat
internal import CofferVaultRows
internal import SystemPackage

extension SyncRound {
  /// The vault of the newest head there: under the latest key, the one with the highest generation, as each put has a higher
  /// one than the heads that it joins.
  static func newest(
    _ round: SyncRound, _ listing: PieceListing, with credentials: consuming Credentials, _ options: VaultOptions
  ) throws(StoreError) -> UnlockedVault {
    guard !listing.heads.isEmpty else {
      throw StoreError(
        .notFound, "no vault lies there", place: round.remote, cure: "check the address, and sync first where the vault is")
    }
    try round.bring(listing.heads.map { .head($0) })
    var newest: (head: Head, epoch: UInt64)?
    for name in listing.heads {
      guard let bytes = try round.folder.read(.head(name)) else { throw round.incomplete("a head is missing there") }
      let head = try Head(bytes, named: name, at: round.remote)
      let epoch = try HeadVault.stated(SealedPieces(head, at: round.remote) { (_) throws(StoreError) in [] }).epoch
      let isNewer = newest.map { ($0.epoch, $0.head.name.generation) < (epoch, name.generation) } ?? true
      if isNewer { newest = (head, epoch) }
    }
    guard let newest else { throw round.incomplete("a head is missing there") }
    return try HeadVault.open(round.pieces(of: newest.head), with: credentials, options: options)
  }

  /// Makes a vault's file of an open head, if this machine has seen no put that is missing there.
  ///
  /// - Returns: nil for a trial.
  func clone(
    _ head: borrowing UnlockedVault, _ listing: PieceListing, to file: FilePath, _ vault: VaultOptions
  ) throws(StoreError) -> UnlockedVault? {
    var report = SyncReport(remote: remote)
    let joint = try joint(found(listing.heads, by: head, &report), nil)
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
