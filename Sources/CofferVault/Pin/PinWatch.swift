internal import CofferPlatform
internal import CofferVaultFormat
internal import CofferVaultRows
internal import SystemPackage

/// Compares one open vault with this machine's memory of it, and updates that.
///
/// An unreadable or untrusted pin is an error, because an ignored pin protects nobody. A pin that cannot be written is a
/// warning, because the vault's commit is already made.
final class PinWatch {
  /// The maximum time of updates lost in a power failure. Only an older copy put back right after it is then missed.
  private static let longestDirty = Duration.seconds(60)

  private let vault: VaultSalt
  private let place: VaultPlace
  private var folder: PinFolder
  private var file: PinFile?
  private var record: PinRecord?
  private var expectsHere: Bool
  /// It uses a pin of its own, because the vault is known at another place.
  private let isOfCopy: Bool
  /// The user said that the vault itself is here.
  private var isJoined = false
  /// The vault's own pin, separate from a copy's.
  private var elder: PinFile?
  /// It expects the vault under each name of the place.
  private var expectsEverywhere = false
  private var lastSync = ContinuousClock.now
  private(set) var status = PinStatus.upToDate
  /// Why it could not be written; nil after success.
  private(set) var failure: StoreError?
  private var hasWarned = false
  /// The key that the pin was prepared for, and its previous key.
  private var expected: (key: EpochMark, previous: EpochMark)?
  /// The pin is compared but never advanced: an unwritable file may be a copy under inspection, which must not make the one
  /// in use look rolled back.
  private var isObserving = false

  /// The watch over `vault` at its resolved `path`.
  ///
  /// - Parameters:
  ///   - accepting: whether the user accepts any state.
  ///   - joining: whether the user vouches for the vault itself, at any path.
  /// - Throws: ``/CofferPlatform/StoreError`` `.replaced`, `.damaged` (a pin), `.denied`, `.io`; `.refused` for a mirror
  ///   opened as its vault.
  init(
    _ pins: FilePath, vault: VaultSalt, place: VaultPlace, accepting: Bool = false, joining: Bool = false,
    calls: SystemCalls = SystemCalls()
  ) throws(StoreError) {
    self.vault = vault
    self.place = place
    folder = try PinFolder(pins, calls: calls)
    expectsHere = false
    let expected: [VaultSalt?]
    do throws(StoreError) { expected = try folder.expected(at: place) } catch {
      // Accepting a vault with an unreadable pin means the vault itself.
      guard accepting, error.kind == .damaged else { throw error }
      expected = [vault]
    }
    let isExpected = joining || expected.contains(vault)
    (file, isOfCopy) = try folder.pin(of: vault, at: place, isExpected: isExpected)
    if isOfCopy { elder = try folder.pin(of: vault) }
    isJoined = joining
    guard !accepting else { return }
    if place.path != nil, try folder.pin(ofMirrorAt: place)?.readAny()?.vault == vault { throw MirrorPin.mistaken(place) }
    if let expected = expected.compactMap(\.self).first(where: { $0 != vault }) {
      throw StoreError(
        .replaced, "vault \(vault) is where \(expected) was before", place: place.description,
        cure: "put the right vault back; if this one is right, accept it with LockedVault.unlockAcceptingPin(with:)",
        remedy: .acceptReplaced)
    }
    expectsHere = expected.contains { $0 != nil }
    expectsEverywhere = !expected.contains { $0 == nil }
    try read()
    if file == nil { status = .firstUse }
  }

  deinit { synchronize() }

  /// A copy of a vault known at another place is read only until accepted.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/readOnly``.
  func checkWritable() throws(StoreError) {
    guard isUnacceptedCopy else { return }
    throw StoreError(
      .readOnly, "this is a copy of a vault that this machine knows at another place: it is only read", place: place.description,
      cure: "write to the vault itself; if it was moved here, accept it with LockedVault.unlockAcceptingPin(with:)",
      remedy: .acceptMoved)
  }

  var isUnacceptedCopy: Bool { isOfCopy && !expectsHere && !isJoined }

  func noteCopy() {
    guard isUnacceptedCopy else { return }
    Notices.note("\(place): a copy of vault \(vault), which this machine knows at another place; it is only read")
  }

  /// The watch over the mirror at its resolved path, by this machine's memory of it. The vault's own pins are not used,
  /// because a mirror may be behind them. Made before the file is opened, because a refresh may replace it at any time.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.unproven`, `.damaged` (a pin), `.denied`, `.io`.
  init(_ pins: FilePath, ofMirrorAt place: VaultPlace, calls: SystemCalls = SystemCalls()) throws(StoreError) {
    let folder = try PinFolder(pins, calls: calls)
    guard let found = try folder.pin(ofMirrorAt: place) else {
      let vaults = try folder.expected(at: .file(FilePath(place.description)))
      guard vaults.allSatisfy({ $0 == nil }) else { throw MirrorPin.vault(at: place) }
      throw MirrorPin.unknownAge(.unproven, "this machine has created no mirror here", place.description)
    }
    guard let known = try found.readAny() else {
      throw MirrorPin.unknownAge(.damaged, "the mirror's pin is unreadable", place.description)
    }
    vault = known.vault
    self.place = place
    self.folder = folder
    isOfCopy = false
    (file, record) = (found, known)
    (expectsHere, expectsEverywhere) = (true, true)
    observe()
  }

  /// - Throws: ``/CofferPlatform/StoreError/Kind/replaced`` unless `found` is the mirror's vault.
  func checkMirrored(_ found: VaultSalt) throws(StoreError) {
    guard found == vault else { throw MirrorPin.replaced(found, vault, place) }
  }

  /// This machine's name in the vault's state, once it has a pin to compare its own writes with.
  var replica: ReplicaID? { file == nil ? nil : record?.replica }

  var knowsVault: Bool { file != nil || elder != nil }

  var knowsPlace: Bool { file != nil && (expectsHere || isOfCopy) }

  /// 0 without a readable pin.
  func knownGeneration() throws(StoreError) -> UInt64 {
    try known().map { max($0.seen.generation, $0.own.generation) } ?? 0
  }

  /// Nil without a readable pin.
  func knownKey() throws(StoreError) -> EpochMark? { try known()?.key }

  /// The finding of ``read()`` as an anchor, from which the vault's key must descend.
  var anchor: Anchor? { file == nil ? nil : record.map { Anchor(vault: vault, key: $0.key, source: .pin) } }

  /// The same for a recipient's vault, which anyone could have made: a copy without a pin is held to the vault's.
  func anchorOfRecipient() throws(StoreError) -> Anchor? {
    if let anchor { return anchor }
    guard let elder else { return nil }
    return Anchor(vault: vault, key: try elder.read(of: vault).key, source: .pin)
  }

  /// The name of this machine's writes until now; nil without a readable pin.
  func knownReplica() throws(StoreError) -> ReplicaID? { try known()?.replica }

  private func known() throws(StoreError) -> PinRecord? {
    do throws(StoreError) { return try (file ?? elder)?.read(of: vault) } catch {
      guard error.kind == .damaged else { throw error }
      return nil
    }
  }

  /// Prepares for a requested commit under a key that does not descend from the pin's. If the process dies between the
  /// commit and ``acceptOwn(_:key:replica:)``, the pin must not refuse the vault. If it dies earlier, the current vault is
  /// refused as older until the commit is made after all.
  func expect(_ key: EpochMark) throws(StoreError) {
    guard let record = try known() else { return }
    expected = (key, record.key)
    _ = try file?.reset(of: vault) {
      var next = $0 ?? record
      next.key = key
      return next
    }
  }

  func isMade() { expected = nil }

  /// Undoes ``expect(_:)`` if the commit was not made. The previous record is still valid.
  func withdraw() {
    guard let (key, previous) = expected else { return }
    expected = nil
    attempt { () throws(StoreError) in
      guard let record = try known(), record.key == key else { return }
      _ = try file?.reset(of: vault) {
        var next = $0 ?? record
        if next.key == key { next.key = previous }
        return next
      }
    }
  }

  /// Remembers `state`, which a commit of another history is about to replace, if it fits the pin. Called while nobody else
  /// writes, and before ``knownReplica()``.
  ///
  /// It may be the commit of a restore that is not in the pin yet, whose name the new history lacks. Once seen here, that
  /// restore leaves the name unchanged.
  func rememberReplaced(_ state: VaultState, key: EpochMark) throws(StoreError) {
    // An unreadable pin is replaced with the history.
    guard try known() != nil else { return }
    attempt { () throws(StoreError) in
      _ = try file?.update(of: vault) { (record) in
        // Nothing is remembered of a state that does not fit.
        do throws(StoreError) { _ = try record.check(state, key: key, vault: place) } catch { return false }
        return record.take(state, key: key)
      }
    }
  }

  /// Reads the pin. Called before the transaction whose state is then checked.
  func read() throws(StoreError) {
    // An open mirror stays as opened, while its pin advances.
    if let file, !place.isMirror { record = try file.read(of: vault) }
  }

  /// Checks a state read after ``read()``.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.rolledBack`, `.forked`.
  func check(_ state: VaultState, key: EpochMark) throws(StoreError) {
    guard let previous = record, file != nil else { return }
    let finding: PinRecord.Finding
    do throws(StoreError) { finding = try previous.check(state, key: key, vault: place) } catch {
      // Two restores since the pin was read leave no trace of its name at that time.
      try read()
      guard let record, record.replica != previous.replica else { throw error }
      finding = try record.check(state, key: key, vault: place)
    }
    guard finding == .ownEntryEvicted, !hasWarned else { return }
    hasWarned = true
    Notices.note(
      "\(place): \(VaultState.mostReplicas) machines have written since this one did; whether its last write is in it cannot be "
        + "told"
    )
  }

  /// Checks the plaintext numbers of a file read after ``read()``.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.rolledBack`.
  func check(_ stated: StatedAge) throws(StoreError) {
    if file != nil { try record?.check(stated, vault: place) }
  }

  /// Freezes the pin, whatever newer state is seen.
  func observe() {
    isObserving = true
    status = .unchanged
  }

  /// Remembers a state that was checked or committed by this process.
  ///
  /// A writer has remembered the base of its commit within its transaction, and so learned this machine's name.
  func remember(_ state: VaultState, key: EpochMark) {
    guard !isObserving else { return }
    let isRotated = record.map { $0.key != key } ?? false
    attempt { () throws(StoreError) in
      if let file {
        record = try file.update(of: vault) { $0.take(state, key: key) }
      } else {
        try begin(state, key: key)
      }
      if !expectsEverywhere, !isUnacceptedCopy { try expectHere() }
    }
    // If writing failed, at least this process remembers.
    _ = record?.take(state, key: key)
    if isRotated || ContinuousClock.now - lastSync > Self.longestDirty { synchronize() }
  }

  /// Believes `state` from now on, even against the pin.
  ///
  /// Under a new replica: the abandoned history has writes of the old one, and would pass for newer.
  ///
  /// - Parameter ending: only a pin of an earlier key.
  /// - Throws: the errors of writing the pin; `.conflict` if another process has accepted the vault since.
  func accept(_ state: VaultState, key: EpochMark, ending epoch: UInt64 = .max) throws(StoreError) {
    let accepted = PinRecord(vault: vault, replica: .random(), key: key, seen: state.mark, own: .never)
    try believe(accepted) { $0.key.epoch >= epoch }
    guard let record, record != accepted, record.key.epoch >= epoch else { return }
    throw StoreError(.conflict, "another program accepted the vault just now", place: place.description, cure: "try again")
  }

  /// Believes `state`, which this process committed under the new name `replica`. The commit noted the replica in the pin:
  /// if the pin cannot be written it refuses nothing, and the next reader updates it.
  ///
  /// Others may have seen the commit before it is remembered here and be about to continue under the old name. The name then
  /// stays, because their commits would lack a new one.
  func acceptOwn(_ state: VaultState, key: EpochMark, replica: ReplicaID) {
    // The cleanup after the commit may have committed once more, under no name.
    let own = state.replica(replica)?.mark ?? state.mark
    let accepted = PinRecord(vault: vault, replica: replica, key: key, seen: state.mark, own: own)
    attempt { () throws(StoreError) in try believe(accepted) { $0.hasSeen(state) && $0.seen.generation < FileCounter.most } }
  }

  private func believe(_ accepted: PinRecord, unless isKept: (PinRecord) -> Bool) throws(StoreError) {
    if let file {
      record = try file.reset(of: vault) { (found) in
        if let found, isKept(found) { found } else { accepted }
      }
    } else {
      try begin(accepted)
    }
    try expectHere()
    status = .upToDate
  }

  /// Makes the pin survive a power loss, after a rotation and when the vault is locked.
  func synchronize() {
    lastSync = .now
    // A failed write has nothing to make durable.
    if failure == nil { attempt { () throws(StoreError) in try file?.synchronize() } }
  }

  private func begin(_ state: VaultState, key: EpochMark) throws(StoreError) {
    let isKnownPlace = expectsHere
    try begin(PinRecord(vault: vault, replica: .random(), key: key, seen: state.mark, own: .never))
    if isKnownPlace {
      Notices.warn(
        "\(place): this machine knew the vault, and its pin is gone: an older copy would not have been noticed just now")
    } else if !isOfCopy {
      Notices.note("\(place): this machine sees vault \(vault) for the first time; from now on it notices an older copy")
    }
  }

  private func begin(_ first: PinRecord) throws(StoreError) {
    let made = try isOfCopy ? folder.make(first, ofCopyAt: place) : folder.make(first)
    record = try made.read(of: vault)
    file = made
  }

  private func expectHere() throws(StoreError) {
    try folder.expect(vault, at: place)
    (expectsHere, expectsEverywhere) = (true, true)
  }

  private func attempt(_ body: () throws(StoreError) -> Void) {
    do throws(StoreError) {
      try body()
      if status == .notWritten { status = .upToDate }
      failure = nil
    } catch {
      status = .notWritten
      failure = error
      guard !hasWarned else { return }
      hasWarned = true
      // Without its cure, which may say that nothing was changed: the vault was.
      Notices.warn("the vault is fine, but its rollback pin could not be written: \(error.facts)")
    }
  }
}
