public import CofferPlatform
internal import CofferStorage
public import SystemPackage

/// What putting a backup back did.
public struct RestoreReport: Sendable, Equatable {
  /// The vault that stands there now.
  public let id: VaultID
  /// The commit that the backup held.
  public let restored: UInt64
  /// The commit that put it back: above all that this machine had seen.
  public let generation: UInt64
  /// Items in it.
  public let items: Int
  /// The file that holds what stood there before; nil when nothing did.
  public let kept: FilePath?
}

/// A backup on its way to become a vault again: a private copy of it, found sound as far as can be told without a key. The copy goes
/// with this value.
public struct RestorableBackup: ~Copyable {
  /// The vault it is of.
  public let id: VaultID
  /// What opens it: the slots of its time.
  public let slots: [SlotSummary]
  private let file: FilePath
  private let place: FilePath
  private let copy: Draft

  /// Copies the backup `file` beside the vault that is, was or is to be at `path`. It may be any vault that nobody has open.
  ///
  /// - Throws: `StoreError` `.io` (no such file), `.inUse`, and what ``LockedVault/open(_:options:)`` throws.
  public init(_ file: FilePath, toRestoreAt path: FilePath) throws(StoreError) {
    let place = try VaultPlace(path).made()
    let copy = try Draft(beside: place)
    try PrivateCopy.take(file, as: copy.path)
    let locked: LockedVault
    do throws(StoreError) { locked = try LockedVault.open(copy.path, options: .withoutPins) } catch {
      throw error.naming(file, insteadOf: copy.path)
    }
    self.init(locked, file, place, copy)
  }

  private init(_ locked: LockedVault, _ file: FilePath, _ place: FilePath, _ copy: consuming Draft) {
    id = locked.id
    slots = locked.slots
    self.file = file
    self.place = place
    self.copy = copy
  }

  /// Puts the backup in the place of the vault, whose content is kept in a file beside it.
  ///
  /// The backup is unlocked and verified throughout before anything changes. It then becomes the vault's next commit, with a
  /// generation above all that this machine has seen: programs that have the vault open see it as a commit like any other,
  /// unless the vault's key was changed since the backup: they must unlock it again then. A file that stood there and is no readable
  /// vault is moved aside.
  ///
  /// - Parameters:
  ///   - credentials: what opens the backup.
  ///   - options: where this machine remembers the vault, and takes turns with passphrases.
  ///   - replacing: whether another vault may be replaced, and not only an older state of the same one be put back.
  ///   - progress: called with the number of records verified and their total.
  /// - Throws: `StoreError` `.otherVault` (another vault stands there), what unlocking and verifying a vault throws, `.busy`, `.noSpace`;
  ///   the vault is as it was then, unless it is `.outcomeUnknown`, or the message says that the backup is in its place and may be lost
  ///   with the power, or under which name the vault is kept.
  public consuming func restore(
    with credentials: consuming Credentials, options: VaultOptions, replacing: Bool = false,
    progress: (Int, Int) -> Void = { _, _ in }
  ) throws(StoreError) -> RestoreReport {
    let backup: OpenVault
    do throws(StoreError) {
      backup = try OpenVault.unlock(
        copy.path, with: credentials, options: VaultOptions(pins: nil, lockFolder: options.lockFolder))
      try backup.read { (backup) throws(StoreError) in _ = try backup.verify(progress) }
    } catch {
      throw error.naming(file, insteadOf: copy.path)
    }
    try options.check(backup.view.id, at: file)
    return try Restoration(backup, place, options, replacing: replacing).run()
  }
}

extension StoreError {
  /// The same error of a file whose private copy was worked on: the copy is gone when the error is read.
  fileprivate func naming(_ file: FilePath, insteadOf copy: FilePath) -> StoreError {
    guard let place, place.hasPrefix(copy.string) else { return self }
    return StoreError(
      kind, what, key: key, place: file.string + place.dropFirst(copy.string.count), cure: cure, underlying: underlying,
      remedy: remedy)
  }
}

/// One restore, once the backup has been verified.
private struct Restoration {
  let backup: OpenVault
  let place: FilePath
  let options: VaultOptions
  let replacing: Bool
  let replica = ReplicaID.random()

  init(_ backup: OpenVault, _ place: FilePath, _ options: VaultOptions, replacing: Bool) {
    self.backup = backup
    self.place = place
    self.options = options
    self.replacing = replacing
  }

  func run() throws(StoreError) -> RestoreReport {
    let restored = backup.view.state.generation
    let pin = try pin()
    let kept: FilePath?
    if let current = try readableVault() {
      kept = try replace(current, pin)
    } else {
      kept = try moveIn(pin)
    }
    pin?.acceptOwn(backup.view.state, epoch: backup.view.header.epoch, replica: replica)
    return RestoreReport(
      id: backup.view.id, restored: restored, generation: backup.view.state.generation,
      items: Int(clamping: backup.view.state.records),
      kept: kept)
  }

  /// The vault that stands there; nil when there is nothing, or nothing that can be opened as one.
  private func readableVault() throws(StoreError) -> VaultDatabase? {
    do throws(StoreError) { return try VaultDatabase.open(place) } catch {
      switch error.kind {
      case .noVault, .damaged, .notAVault, .tampered: return nil
      default: throw error
      }
    }
  }

  private func replace(_ current: VaultDatabase, _ pin: PinWatch?) throws(StoreError) -> FilePath {
    try requireSameVault(current)
    let replacement = try VaultReplacement(of: current, by: backup.view.database)
    // From here on nobody else writes: what is kept, and the generation, are of the last commit.
    let before = try VaultDatabase.open(place)
    let kept = try KeptName.beside(place)
    try before.backUp(to: kept)
    try commit(above: backup.view.state(of: before), pin)
    before.close()
    try replacement.commit()
    return kept
  }

  private func requireSameVault(_ current: VaultDatabase) throws(StoreError) {
    let found: VaultSalt?
    do throws(StoreError) {
      found = try current.read { () throws(StoreError) in try VerifiedView.readHeader(current).header.vault }
    } catch {
      guard error.kind == .damaged else { throw error }
      found = nil
    }
    guard !replacing, let found, found != backup.view.header.vault else { return }
    throw StoreError(
      .otherVault, "vault \(found) stands there, and the backup is of vault \(backup.view.header.vault)", place: place.string,
      cure: "restore to another path, or say replacing: true; what stands there is kept beside it", remedy: .replaceVault)
  }

  /// Gives the copy the vault's name, after what stood there, if anything, was moved aside.
  private func moveIn(_ pin: PinWatch?) throws(StoreError) -> FilePath? {
    // Opened first: a folder that cannot be refuses while all is as it was.
    let folder = try OpenFolder(of: place, SystemCalls())
    try commit(above: nil, pin)
    try backup.view.database.emptyLog()
    backup.view.database.close()
    let aside = try KeptName.beside(place)
    let kept = try Stat.ofLink(place) == nil ? nil : aside
    var displaced = DisplacedFiles(of: place, to: aside)
    do throws(StoreError) {
      try displaced.move()
      try DisplacedFiles.rename(backup.view.path, to: place)
    } catch { throw displaced.putBack(after: error) }
    try folder.synchronize()
    return kept
  }

  private func commit(above current: VaultState?, _ pin: PinWatch?) throws(StoreError) {
    if let current { try pin?.rememberReplaced(current, epoch: backup.view.header.epoch) }
    try pin?.expect(epoch: backup.view.header.epoch)
    let pinned = try pin?.knownGeneration() ?? 0
    try backup.commitRestored(
      above: max(pinned, current?.generation ?? 0, backup.view.state.generation), as: replica, after: pin?.knownReplica())
  }

  private func pin() throws(StoreError) -> PinWatch? {
    guard let folder = options.pins else { return nil }
    return try PinWatch(folder, vault: backup.view.header.vault, path: place, accepting: true)
  }
}
