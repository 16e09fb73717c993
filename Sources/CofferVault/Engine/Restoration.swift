internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
internal import SystemPackage

/// A restore of a verified backup, whose records become the next commit of the replaced vault.
///
/// The key is new, in an epoch after all known ones. If the current vault opens and its key descends from every anchor, the
/// new header takes over its slots and list of epochs, else the backup's.
struct Restoration: ~Copyable {
  private let backup: OpenVault
  let rows: VaultDatabase
  private let source: KnownHeader
  let place: VaultPlace
  private let options: VaultOptions
  private let consent: Consent
  let pin: PinWatch?
  private let knowsPlace: Bool
  /// Anchors from invitations, besides the pin.
  private let invitations: [Anchor]
  private let replica = ReplicaID.random()

  struct Consent {
    let replacing: Bool
    /// Changes of the slots since the backup.
    var acceptingOlderKey: Bool
  }

  init(
    _ backup: OpenVault, _ rows: VaultDatabase, _ place: VaultPlace, _ options: VaultOptions, _ consent: Consent,
    invitations: [Invitation]
  ) throws(StoreError) {
    let (header, digest) = (backup.view.header, backup.view.headerDigest)
    let known = try options.invitations(to: header.vault, at: place, and: invitations)
    let pin = try options.pins.map { (folder) throws(StoreError) in
      try PinWatch(folder, vault: header.vault, place: place, accepting: true)
    }
    // The current file may be gone or unreadable; the pins still name the vault.
    let expected = try options.pins.flatMap { (folder) throws(StoreError) in
      try PinFolder(folder, calls: SystemCalls()).expected(at: place).lazy.compactMap(\.self).first
    }
    if let expected, expected != header.vault, !consent.replacing {
      throw Self.another(expected, than: header.vault, "is expected", at: place)
    }
    source = try KnownHeader(header, digest, slot: backup.view.slot, proving: [], place: place)
    knowsPlace = expected == header.vault
    self.invitations = known
    self.pin = pin
    self.backup = backup
    self.rows = rows
    self.place = place
    self.options = options
    self.consent = consent
  }

  /// - Parameter others: further secrets for the current vault.
  /// - Parameter items: the number of items in the backup.
  consuming func run(_ others: consuming Openers, items: Int) throws(StoreError) -> RestoreReport {
    let restored = backup.view.state.generation
    var returned: [VaultStatus.Slot] = []
    let kept: VaultPlace?
    do throws(StoreError) {
      if let server = place.server {
        kept = try restore(on: server, others, &returned)
      } else {
        let file = try place.file()
        let current = try readableVault(file)
        // The copy restores the journal mode too. Processes without shared memory share no write-ahead log, and those that
        // have a vault with a rollback journal open keep writing one.
        let hasJournal =
          if let current, !current.connection.usesWriteAheadLog { true } else { try NetworkFileSystem.holds(file) }
        if hasJournal { try rows.connection.leaveWriteAheadLog() }
        if let current {
          kept = .file(try replace(current, at: file, others, &returned))
        } else {
          kept = try moveIn(to: file, &returned).map { .file($0) }
        }
      }
    } catch {
      if error.kind != .outcomeUnknown { pin?.withdraw() }
      throw error
    }
    pin?.acceptOwn(backup.view.state, key: backup.view.keys.epochMark, replica: replica)
    return RestoreReport(
      id: backup.view.id, restored: restored, generation: backup.view.state.generation,
      items: items, kept: kept, returnedSlots: returned,
      invitation: Invitation(vault: backup.view.id, key: backup.view.keys.epochMark))
  }

  private func readableVault(_ file: FilePath) throws(StoreError) -> VaultDatabase? {
    do throws(StoreError) { return try VaultDatabase.open(file) } catch {
      switch error.kind {
      case .noVault, .damaged, .notAVault, .tampered: return nil
      default: throw error
      }
    }
  }

  private func replace(
    _ current: VaultDatabase, at file: FilePath, _ others: consuming Openers, _ returned: inout [VaultStatus.Slot]
  ) throws(StoreError) -> FilePath {
    var slot = try currentSlot(of: current, others)
    let (kept, replacement) = try keep(current, file)
    do throws(StoreError) {
      // The current file is unreadable while it is about to be replaced.
      let before = try VaultDatabase.open(kept)
      defer { before.close() }
      try commit(over: before, opened: slot.take(), &returned)
      try replacement.commit()
    } catch {
      // Nothing is replaced, and the vault's previous secrets would open the copy.
      if error.kind != .outcomeUnknown { VaultDatabase.remove(kept) }
      throw error
    }
    return kept
  }

  /// Nil if no slot opens the current vault. Not called within a transaction, because it may run Argon2id.
  func currentSlot(of current: any VaultRows, _ others: consuming Openers) throws(StoreError) -> OpenSlot? {
    let found = try Self.header(of: current)
    try requireSameVault(found?.header)
    // Only a later version may replace the vault of a later version.
    try found?.header.checkWritable(place)
    guard let found else { return nil }
    return try currentSlot(found.header, others)
  }

  /// `before` must not change meanwhile.
  func commit(
    over before: any VaultRows, opened slot: consuming OpenSlot?, _ returned: inout [VaultStatus.Slot]
  ) throws(StoreError) {
    var current = CurrentHeader.none
    if let slot { current = try currentHeader(before, slot) }
    switch consume current {
    case .proven(let current): try commit(under: current, current.state(of: before), &returned)
    case .refuted: try commitAlone(beside: nil, nil, &returned)
    case .none: try commitAlone(beside: try Self.header(of: before)?.header, nil, &returned)
    }
  }

  /// Another copy is needed if somebody wrote between the copy and the lock, a gap of some microseconds.
  private static let mostCopies = 20

  /// Copies the vault, then blocks writers, so the copy is of the last commit.
  ///
  /// - Returns: the copy, and the begun replacement.
  private func keep(_ current: VaultDatabase, _ file: FilePath) throws(StoreError) -> (FilePath, VaultReplacement) {
    for _ in 0..<Self.mostCopies {
      let kept = try KeptName.beside(file)
      var isKept = false
      do throws(StoreError) {
        // With a rollback journal a file is unreadable once it is about to be replaced. During the copy, readers can
        // continue.
        try current.connection.write { () throws(StoreError) in
          let before = try VaultDatabase.open(file)
          defer { before.close() }
          try before.backUp(to: kept) { _, _ in }
          isKept = true
        } wasMade: { () throws(StoreError) in
          false
        }
        let version = try current.connection.pagerVersion()
        let replacement = try VaultReplacement(of: current, by: rows)
        if try current.connection.pagerVersion() == version { return (kept, replacement) }
      } catch {
        if isKept { VaultDatabase.remove(kept) }
        throw error
      }
      VaultDatabase.remove(kept)
    }
    throw StoreError(
      .busy, "other processes keep changing the vault", place: place.description, cure: "try again; nothing was changed")
  }

  private static func header(of current: any VaultRows) throws(StoreError) -> (header: VaultHeader, digest: Digest32)? {
    do throws(StoreError) {
      return try current.read { () throws(StoreError) in try StoredParts.readHeader(current) }
    } catch {
      guard error.kind == .damaged else { throw error }
      return nil
    }
  }

  private func requireSameVault(_ found: VaultHeader?) throws(StoreError) {
    guard !consent.replacing, let found = found?.vault, found != source.header.vault else { return }
    throw Self.another(found, than: source.header.vault, "stands", at: place)
  }

  private static func another(
    _ found: VaultSalt, than vault: VaultSalt, _ verb: String, at place: VaultPlace
  ) -> StoreError {
    StoreError(
      .otherVault, "vault \(found) \(verb) there, and the backup is of vault \(vault)", place: place.description,
      cure: "restore to another path, or say replacing: true; the old one is kept beside it", remedy: .replaceVault)
  }

  private func currentSlot(_ header: VaultHeader, _ others: consuming Openers) throws(StoreError) -> OpenSlot? {
    guard header.vault == source.header.vault else { return nil }
    if let slot = try backup.view.slot.copied(in: header) { return slot }
    return try others.open(header, options, place)
  }

  private enum CurrentHeader: ~Copyable {
    case proven(KnownHeader)
    /// It opens but contradicts an anchor: its maker did not know the newest key, so its epoch proves nothing.
    case refuted
    /// It does not open, or nothing known could prove it.
    case none
  }

  private func currentHeader(_ database: any VaultRows, _ slot: consuming OpenSlot) throws(StoreError) -> CurrentHeader {
    guard let (header, digest) = try Self.header(of: database) else { return .none }
    let known = try (slot.anchor.map { [$0] } ?? []) + anchors()
    // A vault that only a recipient's key opens may be anyone's, or at a new place another vault of the recipient.
    let isKnownHere = knowsPlace || !invitations.isEmpty || options.expected != nil
    guard !known.isEmpty, slot.kind != .recipient || isKnownHere else { return .none }
    do throws(StoreError) {
      if slot.epoch != header.epoch { try slot.reopen(in: header, place: place.description) }
      let current = try KnownHeader(header, digest, slot: slot, proving: [], place: place)
      switch try current.refusal(by: known) {
      case .none: return .proven(current)
      case .forked: return .refuted
      case .replaced, .rolledBack, .tooOld: return .none
      }
    } catch {
      switch error.kind {
      case .locked, .tampered, .damaged: return .none
      default: throw error
      }
    }
  }

  private func anchors() throws(StoreError) -> [Anchor] {
    let key = try pin?.knownKey()
    return invitations + (key.map { [Anchor(vault: source.header.vault, key: $0, source: .pin)] } ?? [])
  }

  /// Keeps the current vault's slots, or the backup's if that is of a later epoch of the same history.
  private func commit(
    under current: borrowing KnownHeader, _ state: VaultState?, _ returned: inout [VaultStatus.Slot]
  ) throws(StoreError) {
    let known = current.anchor(.backup)
    if known.key.epoch == FileCounter.most {
      try requireConsent("the vault's key epoch has reached its maximum")
      return try commitAlone(beside: nil, state, &returned)
    }
    let isOlder = known.key.epoch < source.keys.epochMark.epoch
    if isOlder, try source.comes(from: [known]) {
      if let state { try pin?.rememberReplaced(state, key: current.keys.epochMark) }
      return try commitAlone(beside: current.header, state, &returned)
    }
    let isOfThisHistory = try current.comes(from: [source.anchor(.backup)])
    // Anyone can make a backup of any age that a recipient's public key opens.
    guard isOfThisHistory || (consent.acceptingOlderKey && backup.view.slot.kind != .recipient) else {
      throw FormatError.contradicted(source.anchor(.backup), .forked).storeError(place: place.description)
    }
    if let state { try pin?.rememberReplaced(state, key: current.keys.epochMark) }
    let epoch = try FileCounter.after(current.header.epoch, place)
    let now = backup.view.now
    try backup.commit(.restored, above: generation(above: state), as: replica, after: pin?.knownReplica(), epoch: epoch) {
      (key, keys) throws(StoreError) in try current.next(key: key, keys, rotated: now)
    }
  }

  /// Commits the backup's records under its own slots.
  ///
  /// - Parameters:
  ///   - current: the header of the current vault, if it did not open or is older. Anyone can write its epoch. Nil also if
  ///     its maker certainly lacked the newest key.
  ///   - state: the state of the current vault, if it opens.
  func commitAlone(
    beside current: VaultHeader?, _ state: VaultState?, _ returned: inout [VaultStatus.Slot]
  ) throws(StoreError) {
    let anchors = try anchors()
    let older = anchors.filter { $0.key.epoch <= source.header.epoch }
    let comesFromOlder = try source.comes(from: older)
    let isRecipient = backup.view.slot.kind == .recipient
    guard !isRecipient || !older.isEmpty else { throw unproven() }
    guard comesFromOlder || (consent.acceptingOlderKey && !isRecipient) else {
      throw FormatError.contradicted(source.anchor(.backup), .forked).storeError(place: place.description)
    }
    let newer = try newerKey(beside: current, anchors)
    let isProven = newer == nil && comesFromOlder
    if !isProven {
      try requireConsent(newer ?? "the backup's key is of another history than one that is known")
      returned = source.summaries(inUse: backup.view.slot.id)
    }
    let newest = max(source.header.epoch, try pin?.knownKey()?.epoch ?? 0)
    let epoch = try FileCounter.after(start(newest, "key epoch", orAt: source.header.epoch), place)
    try backup.commit(.restored, above: generation(above: state), as: replica, after: pin?.knownReplica(), epoch: epoch) {
      (key, keys) throws(StoreError) in try source.next(key: key, keys, rotated: backup.view.now)
    }
    // Before the vault: a pin that refused it would ask for the same consent again.
    if !isProven { try pin?.expect(backup.view.keys.epochMark) }
  }

  /// The evidence, in words, of a newer key than the backup's; nil if there is none.
  ///
  /// - Parameter current: the current header, if it may belong to that key.
  private func newerKey(beside current: VaultHeader?, _ anchors: [Anchor]) throws(StoreError) -> String? {
    let epoch = source.header.epoch
    if let newest = anchors.max(by: { $0.key.epoch < $1.key.epoch }), newest.key.epoch > epoch {
      return "the backup's key is of epoch \(epoch), and \(newest.source) of epoch \(newest.key.epoch)"
    }
    guard let current, current.vault == source.header.vault, current.epoch > epoch else { return nil }
    let isNewestSeen = try pin?.knownKey()?.epoch == epoch
    return "there is a header of key epoch \(current.epoch), and nothing that was given opens and proves it"
      + (isNewestSeen ? "; this machine has seen no later key than the backup's, of epoch \(epoch)" : "")
  }

  private func requireConsent(_ reason: String) throws(StoreError) {
    guard !consent.acceptingOlderKey else { return }
    throw StoreError(
      .rolledBack,
      "\(reason): with the backup's slots, any secrets removed since would open the vault again",
      place: place.description,
      cure:
        "also give what opens the vault there, or restore a newer backup; to go back on purpose, say "
        + "acceptingOlderKey: true",
      remedy: .acceptOlderKey)
  }

  private func unproven() -> StoreError {
    StoreError(
      .unproven, "a recipient's key opens this backup, and anyone could have created it", place: place.description,
      cure: "restore with another secret, or give an invitation to the vault that is as old as the backup", remedy: .expectVault)
  }

  private func generation(above current: VaultState?) throws(StoreError) -> UInt64 {
    let (known, own) = (try pin?.knownGeneration() ?? 0, backup.view.state.generation)
    return try start(max(known, current?.generation ?? 0, own), "generation", orAt: own)
  }

  /// The number to start from. With consent, ignores the largest possible number: someone with the key made it.
  private func start(_ known: UInt64, _ what: String, orAt own: UInt64) throws(StoreError) -> UInt64 {
    guard known == FileCounter.most else { return known }
    try requireConsent("the vault's \(what) has reached its maximum")
    return own
  }

  private func moveIn(to file: FilePath, _ returned: inout [VaultStatus.Slot]) throws(StoreError) -> FilePath? {
    // Opened first, so an unusable folder fails before any change.
    let folder = try OpenFolder(of: file, SystemCalls())
    try commitAlone(beside: nil, nil, &returned)
    try rows.emptyLog()
    rows.close()
    let aside = try KeptName.beside(file)
    let kept = try Stat.ofLink(file) == nil ? nil : aside
    var displaced = DisplacedFiles(of: file, to: aside)
    do throws(StoreError) {
      try displaced.move()
      try DisplacedFiles.rename(rows.path, to: file)
    } catch { throw displaced.putBack(after: error) }
    pin?.isMade()
    try folder.synchronize()
    return kept
  }
}

struct Openers: ~Copyable {
  private let first: Credentials
  private let second: Credentials

  init(_ first: consuming Credentials, _ second: consuming Credentials) {
    self.first = first
    self.second = second
  }

  borrowing func copied() throws(StoreError) -> Openers { Openers(try first.copied(), try second.copied()) }

  consuming func open(_ header: VaultHeader, _ options: VaultOptions, _ place: VaultPlace) throws(StoreError) -> OpenSlot? {
    let first = first
    let second = second
    if let slot = try Self.open(header, with: first, options, place) { return slot }
    return try Self.open(header, with: second, options, place)
  }

  private static func open(
    _ header: VaultHeader, with credentials: consuming Credentials, _ options: VaultOptions, _ place: VaultPlace
  ) throws(StoreError) -> OpenSlot? {
    guard !credentials.isEmpty else { return nil }
    do throws(StoreError) { return try OpenVault.search(header, with: credentials, options, place) } catch {
      guard error.kind == .wrongSecret || error.kind == .tampered else { throw error }
      return nil
    }
  }
}

extension FileCounter {
  fileprivate static func after(_ epoch: UInt64, _ place: VaultPlace) throws(StoreError) -> UInt64 {
    try StoredParts.checked(place) { () throws(FormatError) in try next(epoch, "key epoch") }
  }
}
