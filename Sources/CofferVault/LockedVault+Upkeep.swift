public import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
public import FoundationEssentials
public import SystemPackage

/// A backup just made.
public struct BackupReport: Sendable, Equatable {
  /// The id of the vault.
  public let id: VaultID
  /// The commit it holds, according to the file; authenticated once the backup is unlocked.
  public let generation: UInt64
}

extension LockedVault {
  /// Copies the vault's current state to a new file at `target`, while others may write. Every record stays sealed, the same
  /// slots open the copy, and no secret is needed.
  ///
  /// The copy is one file, private to its owner, in any folder that this user can write. It appears under its name once
  /// complete, durable, and found to be this vault.
  ///
  /// - Parameters:
  ///   - target: the new file.
  ///   - progress: receives the number of copied pages and the total.
  /// - Throws: `StoreError` `.alreadyExists` (nothing is replaced), `.denied`, `.noSpace`, `.readOnly`, `.busy`, `.damaged`,
  ///   `.io`, and the errors of ``checkAge()``, because a backup of an older copy could pass for one of the vault. Leaves
  ///   nothing behind.
  public func backup(
    to target: FilePath, progress: (Int, Int) -> Void = { _, _ in }
  ) throws(StoreError) -> BackupReport {
    let pins = try pinWatch()
    let copy = try NewCopy.begin(for: target, of: place.path)
    let rows = try place.rowsToRead()
    let stated = try copy.making { (draft) throws(StoreError) in
      try rows.backUp(to: draft, progress: progress)
      return try Self.age(of: draft)
    }
    do throws(StoreError) { try check(stated, pins) } catch { throw rows.behind(error) }
    try copy.publish()
    return BackupReport(id: stated.vault, generation: stated.generation)
  }

  private static func age(of copy: FilePath) throws(StoreError) -> StatedAge {
    let database = try VaultDatabase.open(copy)
    defer { database.close() }
    return try database.read { () throws(StoreError) in try StatedAge(database) }
  }
}

/// This machine's memory of a vault and its place.
public struct PinMemory: Sendable, Equatable {
  /// The vault expected at this path; nil if none was seen here.
  public let expected: VaultID?
  /// The newest generation seen of the vault at this place; nil if it was never seen.
  public let seen: UInt64?
  /// The newest generation that this machine wrote; nil if it wrote none.
  public let own: UInt64?
  /// The newest key seen of the vault, as an invitation for others; nil if it was never seen.
  public let invitation: Invitation?
  /// When a mirror was last known to hold the vault's newest commit; nil for other vaults.
  public let refreshed: Date?
}

extension LockedVault {
  /// The content of the pins in the options' folder. Changes nothing.
  ///
  /// - Throws: `StoreError` `.damaged` for an unreadable pin, `.denied` for one that is not this user's private file,
  ///   `.incomplete` if the options name no folder.
  public func pinMemory() throws(StoreError) -> PinMemory {
    guard let pins = options.pins else {
      throw StoreError(.incomplete, "there is no folder for pins", place: place.description, cure: "name one in the options")
    }
    let folder = try PinFolder(pins, calls: SystemCalls())
    let mirror = try place.isMirror ? folder.pin(ofMirrorAt: place)?.readAny() : nil
    let expected = try folder.expected(at: place).lazy.compactMap(\.self).first ?? mirror?.vault
    guard let vault = VaultSalt(id.bytes),
      let record = place.isMirror
        ? mirror : try folder.pin(of: vault, at: place, isExpected: expected == vault).file?.read(of: vault),
      record.vault == vault
    else {
      return PinMemory(expected: expected.map { VaultID(bytes: $0.bytes) }, seen: nil, own: nil, invitation: nil, refreshed: nil)
    }
    return PinMemory(
      expected: expected.map { VaultID(bytes: $0.bytes) }, seen: record.seen.generation,
      own: record.own == .never ? nil : record.own.generation, invitation: Invitation(vault: id, key: record.key),
      refreshed: place.isMirror ? Milliseconds.date(record.refreshed) : nil)
  }

  /// Compares the vault with this machine's memory, as far as possible without a key. Detects an older copy put back in
  /// place unless it was written to since. Changes nothing.
  ///
  /// - Throws: `StoreError` `.rolledBack`, `.replaced`, `.damaged` for an unreadable pin or a vault without a state,
  ///   `.denied`, `.io`.
  public func checkAge() throws(StoreError) {
    let pins = try pinWatch()
    let database = try place.rowsToRead()
    defer { database.close() }
    let stated = try database.read { () throws(StoreError) in try StatedAge(database) }
    do throws(StoreError) { try check(stated, pins) } catch { throw database.behind(error) }
  }

  /// Has SQLite check every page of the file, without a key. Only ``UnlockedVault/verify(progress:)`` checks the content of
  /// sound pages. Changes nothing.
  ///
  /// - Throws: `StoreError` `.damaged`; the errors of ``open(_:options:)``.
  package func checkPages() throws(StoreError) {
    let database = try place.rowsToRead()
    defer { database.close() }
    try database.read { () throws(StoreError) in
      try database.checkStorage("pages of the vault's file are damaged")
    }
  }

  /// Nil if the options name no folder of pins. Must be called before the file is read.
  func pinWatch() throws(StoreError) -> PinWatch? {
    guard let folder = options.pins, let vault = VaultSalt(id.bytes) else { return nil }
    guard !place.isMirror else {
      let watch = try PinWatch(folder, ofMirrorAt: place)
      try watch.checkMirrored(vault)
      return watch
    }
    return try PinWatch(folder, vault: vault, place: place)
  }

  /// Checks the plaintext numbers of the vault's file or of a new copy.
  func check(_ stated: StatedAge, _ pins: PinWatch?) throws(StoreError) {
    try VaultOptions(pins: nil, expected: id).check(stated.vault, at: place)
    try options.check(generation: stated.generation, at: place)
    try options.check(epoch: stated.epoch, at: place)
    try pins?.check(stated)
  }
}

extension LockedVault {
  /// Repairs a copy of the header from the other one, and a missing or unreadable state from the records that open. Keeps
  /// the old vault in a file beside it if anything may be lost.
  ///
  /// - Parameters:
  ///   - credentials: the vault's secrets.
  ///   - rebuilding: whether to rebuild a readable state that does not fit the records: keeps records that open, drops the
  ///     others. An intact vault is left alone.
  ///   - acceptingOlderKey: whether to accept a header older than one known to this machine or to the header's own copy.
  ///     Secrets removed since then open the vault again.
  ///   - confirm: asked before any change unless `acceptingOlderKey` is true; receives the slots that come back.
  /// - Throws: `StoreError` `.rolledBack` for such a header if not accepted; `.tampered` if records, digests or log do not
  ///   fit a readable state and `rebuilding` is false; the errors of `unlock(with:)`; `.damaged` if too little is left.
  public func repair(
    with credentials: consuming Credentials, rebuilding: Bool = false, acceptingOlderKey: Bool = false,
    confirm: ([VaultStatus.Slot]) -> Bool = { _ in false }
  ) throws(StoreError) -> RepairReport {
    let database = try place.rows()
    let invitations = try credentials.invitations()
    let slot = try VaultRepair.slot(in: database, with: credentials, options)
    let repair = try VaultRepair(database, slot: slot, options: options, invitations: invitations)
    return try repair.run(rebuilding: rebuilding) { slots in acceptingOlderKey || confirm(slots) }
  }
}
