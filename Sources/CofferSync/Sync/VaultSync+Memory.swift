public import CofferPlatform
public import CofferVault
internal import FoundationEssentials
public import SystemPackage

// None of these reaches the remote.
extension VaultSync {
  /// The remotes of a vault that this machine remembers in `pins`, by name.
  ///
  /// - Throws: `StoreError` `.damaged` for an unreadable memory, `.denied`, `.io`.
  public static func remotes(of vault: VaultID, pins: FilePath) throws(StoreError) -> [SyncStatus] {
    try SyncRecord.all(of: vault.salt, in: pins).map { SyncStatus($0) }
  }

  /// This machine's memory of the remote, if there is one, with the vault's commits since. Needs no key.
  ///
  /// - Throws: the errors of ``remotes(of:pins:)`` and of reading the vault.
  public func status(of vault: LockedVault) throws(StoreError) -> SyncStatus? {
    guard let record = try SyncRecord.read(vault.id.salt, remote, in: pins) else { return nil }
    return try SyncStatus(record, of: vault)
  }

  /// Forgets the remote, also if its memory is unreadable: the next sync with it is a first one, which refuses no older
  /// copy. Nothing changes there.
  ///
  /// - Returns: whether it was remembered.
  public func forget(_ vault: VaultID) throws(StoreError) -> Bool {
    try withTurn(vault) { () throws(StoreError) in
      let cache = SyncRound.cache(of: name, in: caches)
      do { if try FileStatus(ofLinkAt: cache) != nil { try FileManager.default.removeItem(atPath: cache.string) } } catch {
        throw StoreError(.io(EIO), "the cache cannot be removed", place: cache.string, cure: "remove it", underlying: error)
      }
      return try SyncRecord.remove(vault.salt, remote, in: pins)
    }
  }

  /// Remembers whether the agent syncs unasked.
  ///
  /// - Throws: `StoreError` `.notFound` for a remote without a sync so far; the errors of ``remotes(of:pins:)``.
  public func setAutomatic(_ on: Bool, for vault: VaultID) throws(StoreError) {
    try withTurn(vault) { () throws(StoreError) in
      guard var record = try SyncRecord.read(vault.salt, remote, in: pins) else {
        throw StoreError(.notFound, "the vault was never synced with it here", place: remote, cure: "sync once by hand")
      }
      record.isAutomatic = on
      try record.write(in: pins)
    }
  }
}
