internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
internal import SystemPackage

/// Compares one open vault with this machine's memory of it, and updates that.
///
/// An unreadable or untrusted pin is an error, because an ignored pin protects nobody. A pin that cannot be written is a warning,
/// because the vault's commit is already made.
final class PinWatch {
  /// The longest time of updates that a power loss may take: only an older copy put back right after it is missed then.
  private static let longestDirty = Duration.seconds(60)

  private let vault: VaultSalt
  /// Of the vault.
  private let place: VaultPlace
  private var folder: PinFolder
  private var file: PinFile?
  private var record: PinRecord?
  private var expectsHere: Bool
  /// Whether it goes by a pin of its own, as the vault is known at another place.
  private let isOfCopy: Bool
  /// Whether somebody said that the vault itself is here.
  private var isJoined = false
  /// The vault's own pin, of which a copy's knows nothing.
  private var elder: PinFile?
  /// Whether that is so under each name of the place.
  private var expectsEverywhere = false
  private var lastSync = ContinuousClock.now
  private(set) var status = PinStatus.upToDate
  /// Why it could not be written; nil where it could.
  private(set) var failure: StoreError?
  private var hasWarned = false
  /// The key that the pin was made ready for, and the one that it had.
  private var expected: (key: EpochMark, former: EpochMark)?
  /// Whether the pin is compared with and never advanced: a file that cannot be written may be a copy that someone looks at, and
  /// that must not make the one in use look rolled back.
  private var isObserving = false

  /// The watch over `vault` at its resolved `path`.
  ///
  /// - Parameters:
  ///   - accepting: whether to believe any state, because the user said so.
  ///   - joining: whether it is the vault itself, at any path, because the user said so.
  /// - Throws: ``/CofferPlatform/StoreError`` `.replaced`, `.damaged` (a pin), `.denied`, `.io`; `.refused` for a mirror that is
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
      // Accepting a vault whose pin is unreadable means the vault itself.
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
        .replaced, "vault \(vault) stands where \(expected) stood before", place: place.description,
        cure: "put the right vault back; if this one is right, accept it with LockedVault.unlockAcceptingPin(with:)",
        remedy: .acceptReplaced)
    }
    expectsHere = expected.contains { $0 != nil }
    expectsEverywhere = !expected.contains { $0 == nil }
    try read()
    if file == nil { status = .firstUse }
  }

  deinit { synchronize() }

  /// Whether the vault may be written here: a copy of one that is known at another place is read alone, until somebody accepts
  /// it.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/readOnly``.
  func checkWritable() throws(StoreError) {
    guard isUnacceptedCopy else { return }
    throw StoreError(
      .readOnly, "this is a copy of a vault that this machine knows at another place: it is read alone", place: place.description,
      cure: "write to the vault itself; if it was moved here, accept it with LockedVault.unlockAcceptingPin(with:)",
      remedy: .acceptMoved)
  }

  private var isUnacceptedCopy: Bool { isOfCopy && !expectsHere && !isJoined }

  /// Says that the vault is a copy, where it is one.
  func noteCopy() {
    guard isUnacceptedCopy else { return }
    Notices.note("\(place): a copy of vault \(vault), which this machine knows at another place; it is read alone")
  }

  /// The watch over the mirror at its resolved path, by this machine's memory of that mirror. The vault's own pins take no part,
  /// because a mirror may be behind them. Made before the file is opened, because a refresh may replace it at any time.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.unproven`, `.damaged` (a pin), `.denied`, `.io`.
  init(_ pins: FilePath, ofMirrorAt place: VaultPlace, calls: SystemCalls = SystemCalls()) throws(StoreError) {
    let folder = try PinFolder(pins, calls: calls)
    guard let found = try folder.pin(ofMirrorAt: place) else {
      throw MirrorPin.unknownAge(.unproven, "this machine has made no mirror here", place.description)
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

  /// Checks that `found` stands in the mirror's file.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/replaced``.
  func checkMirrored(_ found: VaultSalt) throws(StoreError) {
    guard found == vault else { throw MirrorPin.replaced(found, vault, place) }
  }

  /// This machine's name in the vault's state, once it has a pin to compare its own writes with.
  var replica: ReplicaID? { file == nil ? nil : record?.replica }

  /// Whether this machine has seen the vault before.
  var knowsVault: Bool { file != nil || elder != nil }

  /// Whether this machine has seen the vault before, at this place.
  var knowsPlace: Bool { file != nil && (expectsHere || isOfCopy) }

  /// The highest generation that this machine has seen or made; 0 where it has no readable pin.
  func knownGeneration() throws(StoreError) -> UInt64 {
    try known().map { max($0.seen.generation, $0.own.generation) } ?? 0
  }

  /// The newest key that this machine has seen; nil where it has no readable pin.
  func knownKey() throws(StoreError) -> EpochMark? { try known()?.key }

  /// What ``read()`` found, as an anchor: the vault's key must come from this one.
  var anchor: Anchor? { file == nil ? nil : record.map { Anchor(vault: vault, key: $0.key, source: .pin) } }

  /// The same of a vault that a recipient's key opens, which anyone could have made: a copy without a pin of its own is held to
  /// the vault's.
  func anchorOfRecipient() throws(StoreError) -> Anchor? {
    if let anchor { return anchor }
    guard let elder else { return nil }
    return Anchor(vault: vault, key: try elder.read(of: vault).key, source: .pin)
  }

  /// The name that this machine's writes had until now; nil where it has no readable pin.
  func knownReplica() throws(StoreError) -> ReplicaID? { try known()?.replica }

  private func known() throws(StoreError) -> PinRecord? {
    do throws(StoreError) { return try (file ?? elder)?.read(of: vault) } catch {
      guard error.kind == .damaged else { throw error }
      return nil
    }
  }

  /// Makes ready for a commit under a key that does not come from the pin's, which someone asked for: should the process die
  /// between that commit and its ``acceptOwn(_:key:replica:)``, the pin must not refuse the vault. Should it die before, the
  /// vault that stands there is refused as older, until the commit is made after all.
  func expect(_ key: EpochMark) throws(StoreError) {
    guard let record = try known() else { return }
    expected = (key, record.key)
    _ = try file?.reset(of: vault) {
      var next = $0 ?? record
      next.key = key
      return next
    }
  }

  /// The commit that ``expect(_:)`` was for is made.
  func isMade() { expected = nil }

  /// Takes back the record of ``expect(_:)`` if the commit was not made. The previous one is still valid.
  func withdraw() {
    guard let (key, former) = expected else { return }
    expected = nil
    attempt { () throws(StoreError) in
      guard let record = try known(), record.key == key else { return }
      _ = try file?.reset(of: vault) {
        var next = $0 ?? record
        if next.key == key { next.key = former }
        return next
      }
    }
  }

  /// Remembers `state`, which a commit of another history is about to replace, where it fits the pin. To be called where nobody
  /// else writes to the vault, and before ``knownReplica()``.
  ///
  /// It may be the commit of a restore that is not in the pin yet, whose name the new history does not tell of. Once it is seen
  /// here, that restore leaves the name as it is.
  func rememberReplaced(_ state: VaultState, key: EpochMark) throws(StoreError) {
    // One that is unreadable is replaced with the history.
    guard try known() != nil else { return }
    attempt { () throws(StoreError) in
      _ = try file?.update(of: vault) { (record) in
        // A state that does not fit is left behind, and nothing of it is remembered.
        do throws(StoreError) { _ = try record.check(state, key: key, vault: place) } catch { return false }
        return record.take(state, key: key)
      }
    }
  }

  /// Reads the pin. To be called before the transaction whose state is then checked.
  func read() throws(StoreError) {
    // An open mirror stays as it was opened, while its pin moves on.
    if let file, !place.isMirror { record = try file.read(of: vault) }
  }

  /// Checks a state read after ``read()``.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.rolledBack`, `.forked`.
  func check(_ state: VaultState, key: EpochMark) throws(StoreError) {
    guard let former = record, file != nil else { return }
    let finding: PinRecord.Finding
    do throws(StoreError) { finding = try former.check(state, key: key, vault: place) } catch {
      // Two restores since the pin was read leave nothing of the name that it had then.
      try read()
      guard let record, record.replica != former.replica else { throw error }
      finding = try record.check(state, key: key, vault: place)
    }
    guard finding == .ownEntryEvicted, !hasWarned else { return }
    hasWarned = true
    Notices.note(
      "\(place): \(VaultState.mostReplicas) machines have written since this one did; whether its last write is in it cannot be "
        + "told"
    )
  }

  /// Checks the numbers in the clear of a file that was read after ``read()``.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.rolledBack`.
  func check(_ stated: StatedAge) throws(StoreError) {
    if file != nil { try record?.check(stated, vault: place) }
  }

  /// Leaves the pin as it is from now on, whatever newer state is seen.
  func observe() {
    isObserving = true
    status = .unchanged
  }

  /// Remembers a state that was checked, or that this process committed.
  ///
  /// A writer has remembered the base of its commit within its transaction, and learned this machine's name by that.
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
    // Where writing failed, this process remembers at least.
    _ = record?.take(state, key: key)
    if isRotated || ContinuousClock.now - lastSync > Self.longestDirty { synchronize() }
  }

  /// Believes `state` from now on, whatever the pin said.
  ///
  /// Under a new replica: the abandoned history has writes of the old one, and would pass for newer.
  func accept(_ state: VaultState, key: EpochMark) throws(StoreError) {
    try believe(PinRecord(vault: vault, replica: .random(), key: key, seen: state.mark, own: .never)) { _ in false }
  }

  /// Believes `state`, which this process committed under the new name `replica`. The commit noted the replica in the pin: if the
  /// pin cannot be written it refuses nothing, and the next reader updates it.
  ///
  /// Others may have seen the commit before it is remembered here, and may be about to continue under the old name. The name then
  /// stays the old one, because their commits would lack a new one.
  func acceptOwn(_ state: VaultState, key: EpochMark, replica: ReplicaID) {
    // What cleaned up after the commit may have committed once more, under no name.
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

  /// Makes the pin survive a power loss: after a rotation, and when the vault is locked.
  func synchronize() {
    lastSync = .now
    // What could not be written is not made durable.
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
