public import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
public import SystemPackage

/// A private copy of a backup, found sound as far as possible without a key, to restore. The copy is removed with this
/// value.
public struct RestorableBackup: ~Copyable {
  /// The id of the vault.
  public let id: VaultID
  /// The slots at the time of the backup, which open it.
  public let slots: [SlotSummary]
  private let file: FilePath
  private let place: VaultPlace
  private let draft: Draft
  /// The copy: the draft, or a file in it.
  private let copy: FilePath

  /// Copies the backup `file` beside the vault at `place`, which may be missing, or beside the backup if `place` is on a
  /// server. Accepts any vault in a file that no program has open.
  ///
  /// - Throws: `StoreError` `.io` (no such file), `.inUse`, and the errors of ``LockedVault/open(_:options:)``; for a place
  ///   on a server also `.denied` if others could replace files in the backup's folder.
  public init(_ file: FilePath, toRestoreAt place: VaultPlace) throws(StoreError) {
    let found: VaultPlace
    let neighbor: FilePath
    if let server = place.server {
      (found, neighbor) = (try server.server().find(server.url), try TrustedPath.absolute(file))
    } else {
      neighbor = try VaultFile(place.file()).made()
      found = .file(neighbor)
    }
    let draft = try Draft(beside: neighbor)
    // SQLite works in private folders only; a backup may be in any folder.
    let copy = found.path == nil ? try TrustedPath.makePrivateFolder(draft.path).appending(Draft.nameInFolder) : draft.path
    try PrivateCopy.take(file, as: copy)
    let locked: LockedVault
    do throws(StoreError) { locked = try LockedVault.open(.file(copy), options: .withoutPins) } catch {
      throw error.naming(file, insteadOf: copy)
    }
    self.init(locked, file, found, draft, copy)
  }

  private init(_ locked: LockedVault, _ file: FilePath, _ place: VaultPlace, _ draft: consuming Draft, _ copy: FilePath) {
    id = locked.id
    slots = locked.slots
    self.file = file
    self.place = place
    self.draft = draft
    self.copy = copy
  }

  /// Replaces the vault with the backup and keeps the old content in a file beside it.
  ///
  /// Unlocks and verifies the backup before any change. Its items become the vault's next commit, with a generation above
  /// all that this machine has seen and under a new key; programs with the open vault see a rotation. A file at the place
  /// that is no readable vault is moved aside. On a server all of this is one commit, which keeps the old content in a
  /// schema of its own.
  ///
  /// The vault keeps its current slots, so a member removed since the backup does not come back. For this, `credentials` or
  /// `present` open the current vault. If neither does, the backup's slots open the vault again.
  ///
  /// - Parameters:
  ///   - credentials: the backup's secrets.
  ///   - present: the current vault's secrets, if `credentials` do not open it.
  ///   - options: where this machine remembers the vault, and takes turns with passphrases.
  ///   - replacing: whether the backup may replace another vault.
  ///   - acceptingOlderKey: whether the backup's slots may open the vault although its key changed since, or the backup's
  ///     key is of another history. Members removed since regain access.
  ///   - confirm: asked before any change unless `acceptingOlderKey` is true; receives the backup's slots.
  ///   - service: a service whose items the report does not count.
  ///   - progress: receives the number of verified records and the total.
  /// - Throws: `StoreError` `.otherVault` (at the place), `.rolledBack` and `.forked` for what `acceptingOlderKey` accepts,
  ///   `.unproven` for an unproven backup that only a recipient's key opens, the errors of unlocking and verifying a vault,
  ///   `.busy`, `.noSpace`. The vault is unchanged unless it is `.outcomeUnknown`, or the message says that the backup is in
  ///   place and may be lost in a power failure, or under which name the vault is kept.
  public consuming func restore(
    with credentials: consuming Credentials, present: consuming Credentials = Credentials(), options: VaultOptions,
    replacing: Bool = false, acceptingOlderKey: Bool = false, confirm: ([VaultStatus.Slot]) -> Bool = { _ in false },
    uncounted service: String? = nil, progress: (Int, Int) -> Void = { _, _ in }
  ) throws(StoreError) -> RestoreReport {
    let rows: VaultDatabase
    let backup: OpenVault
    let items: Int
    let invitations = try credentials.invitations() + present.invitations()
    let others = try Openers(credentials.copied(), present)
    let opening = Self.words(slots)
    do throws(StoreError) {
      rows = try VaultDatabase.openToRead(copy)
      backup = try OpenVault.unlock(
        over: rows, with: credentials, options: VaultOptions(pins: nil, lockFolder: options.lockFolder), trust: .caller)
      items = try backup.read { (backup) throws(StoreError) in
        _ = try backup.verify(progress)
        return try backup.items.count(ItemQuery(otherThan: service))
      }
    } catch {
      throw error.kind == .wrongSecret ? Self.wrongSecret(opening, file) : error.naming(file, insteadOf: copy)
    }
    try options.check(backup.view.id, at: .file(file))
    var consent = Restoration.Consent(replacing: replacing, acceptingOlderKey: acceptingOlderKey)
    let again = try others.copied()
    do throws(StoreError) {
      return try Restoration(backup, rows, place, options, consent, invitations: invitations).run(others, items: items)
    } catch {
      // Asked here, where nobody waits for the vault's lock and nothing has changed.
      guard error.remedy == .acceptOlderKey, !acceptingOlderKey, confirm(backup.slots.summaries) else { throw error }
      consent.acceptingOlderKey = true
      return try Restoration(backup, rows, place, options, consent, invitations: invitations).run(again, items: items)
    }
  }
}

extension RestorableBackup {
  private static func words(_ slots: [SlotSummary]) -> String {
    var kinds: [String] = []
    for slot in slots where !kinds.contains(slot.kind.description) { kinds.append(slot.kind.description) }
    return kinds.joined(separator: ", ")
  }

  /// Vault and backup may need different secrets, and both may have to be given.
  private static func wrongSecret(_ opening: String, _ file: FilePath) -> StoreError {
    StoreError(
      .wrongSecret,
      "no slot of the backup opens with this secret; it needs one from the time of the backup: \(opening)",
      place: file.string,
      cure: "give it in credentials, and the current vault's secret in present; or restore another backup",
      remedy: .giveBackupSecret)
  }
}

extension StoreError {
  /// The same error about the original file: the private copy is gone when the error is read.
  func naming(_ file: FilePath, insteadOf copy: FilePath) -> StoreError {
    guard let place, place.hasPrefix(copy.string) else { return self }
    return StoreError(
      kind, what, key: key, place: file.string + place.dropFirst(copy.string.count), cure: cure, underlying: underlying,
      remedy: remedy)
  }
}
