public import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
public import SystemPackage

/// A backup on its way to become a vault again: a private copy of it, found sound as far as can be told without a key. The copy
/// goes with this value.
public struct RestorableBackup: ~Copyable {
  /// The vault it is of.
  public let id: VaultID
  /// The slots of its time, which open it.
  public let slots: [SlotSummary]
  private let file: FilePath
  private let place: VaultPlace
  private let draft: Draft
  /// The copy: the draft, or a file in it.
  private let copy: FilePath

  /// Copies the backup `file` beside the vault that is, was or will be at `place`; for a place on a server beside the backup. It
  /// may be any vault in a file that nobody has open.
  ///
  /// - Throws: `StoreError` `.io` (no such file), `.inUse`, and the errors of ``LockedVault/open(_:options:)``; for a place on a
  ///   server also `.denied`, if others could replace files in the backup's folder.
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
    // SQLite works in private folders only, and a backup may be in any.
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

  /// Puts the backup in the place of the vault, whose content is kept in a file beside it.
  ///
  /// The backup is unlocked and verified throughout before anything changes. Its items then become the vault's next commit, with
  /// a generation above all that this machine has seen, and under a new key: programs that have the vault open see it as a
  /// rotation. A file that stood there and is no readable vault is moved aside. On a server all of that is one commit, in which
  /// what was there is kept in a schema of its own.
  ///
  /// The vault keeps the slots that it has now, so that nobody who was removed since the backup comes back: what stands there is
  /// opened for that, with `credentials` or with `present`. Where it cannot be opened, the backup's slots open the vault again.
  ///
  /// - Parameters:
  ///   - credentials: what opens the backup.
  ///   - present: what opens the vault that stands there, where `credentials` do not.
  ///   - options: where this machine remembers the vault, and takes turns with passphrases.
  ///   - replacing: whether another vault may be replaced, and not only an older state of the same one be put back.
  ///   - acceptingOlderKey: whether the backup's slots may open the vault although its key was changed since the backup, or the
  ///     backup's key is of another history: whoever was removed since has a way in again.
  ///   - confirm: asked, before anything changes, whether that is meant where nobody said so: it is given the backup's slots.
  ///   - progress: called with the number of records verified and their total.
  /// - Throws: `StoreError` `.otherVault` (another vault stands there), `.rolledBack` and `.forked` for what `acceptingOlderKey`
  ///   accepts, `.unproven` for a backup that only a recipient's key opens and nothing proves, what unlocking and verifying a
  ///   vault throws, `.busy`, `.noSpace`; the vault is as it was then, unless it is `.outcomeUnknown`, or the message says that
  ///   the backup is in its place and may be lost with the power, or under which name the vault is kept.
  public consuming func restore(
    with credentials: consuming Credentials, present: consuming Credentials = Credentials(), options: VaultOptions,
    replacing: Bool = false, acceptingOlderKey: Bool = false, confirm: ([VaultStatus.Slot]) -> Bool = { _ in false },
    progress: (Int, Int) -> Void = { _, _ in }
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
      items = try backup.read { (backup) throws(StoreError) in try backup.verify(progress).items }
    } catch {
      throw error.kind == .wrongSecret ? Self.wrongSecret(opening, file) : error.naming(file, insteadOf: copy)
    }
    try options.check(backup.view.id, at: .file(file))
    var consent = Restoration.Consent(replacing: replacing, acceptingOlderKey: acceptingOlderKey)
    let again = try others.copied()
    do throws(StoreError) {
      return try Restoration(backup, rows, place, options, consent, invitations: invitations).run(others, items: items)
    } catch {
      // Asked here, where nobody waits for the vault's lock, and nothing has been changed.
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

  /// The vault may open with another secret than the backup, and both may have to be given.
  private static func wrongSecret(_ opening: String, _ file: FilePath) -> StoreError {
    StoreError(
      .wrongSecret,
      "no slot of the backup opens with the secret given; what opened the vault when the backup was made opens it: \(opening)",
      place: file.string,
      cure: "give that in credentials, and what opens the vault that stands there in present; or restore another backup",
      remedy: .giveBackupSecret)
  }
}

extension StoreError {
  /// The same error of a file whose private copy was worked on: the copy is gone when the error is read.
  func naming(_ file: FilePath, insteadOf copy: FilePath) -> StoreError {
    guard let place, place.hasPrefix(copy.string) else { return self }
    return StoreError(
      kind, what, key: key, place: file.string + place.dropFirst(copy.string.count), cure: cure, underlying: underlying,
      remedy: remedy)
  }
}
