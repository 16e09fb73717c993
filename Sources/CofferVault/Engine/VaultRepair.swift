internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
internal import FoundationEssentials

/// A repair of a vault whose slot is open. Writes only parts that the key has opened.
final class VaultRepair {
  let database: any VaultRows
  let header: VaultHeader
  let headerDigest: Digest32
  let keys: Subkeys
  private let pins: PinWatch?
  private let state: VaultState?
  private let slot: OpenSlot
  /// The digests of both copies of the header, as found or written by this repair; nil for an unsound copy.
  private var seen: [Digest32?]
  /// A key of a later epoch than the header's; nil if the header's key descends from all known ones.
  private let contradicted: Anchor?
  var report = RepairReport()

  /// Chooses the header of the state, or the first that the slot opens if no state opens. Prefers headers whose key descends
  /// from every anchor, else takes one older than an anchor.
  ///
  /// - Throws: the refusal of an anchor that does not hold; `.unproven` for an unproven header that only a recipient's key
  ///   opens.
  init(
    _ database: any VaultRows, slot: consuming OpenSlot, options: VaultOptions, invitations: [Invitation]
  ) throws(StoreError) {
    var slot = slot
    let both = try database.read { () throws(StoreError) in try Self.headers(of: database) }
    let (copies, seen) = (both.compactMap(\.self), both.map { $0?.digest })
    guard let vault = copies.first?.header.vault else { throw StoredParts.missing("header", database) }
    try options.check(VaultID(bytes: vault.bytes), at: database.place)
    let pins = try options.pins.map { (folder) throws(StoreError) in try PinWatch(folder, vault: vault, place: database.place) }
    let known = try options.invitations(to: vault, at: database.place, and: invitations)
    try OpenVault.requireKnown(slot.kind, known, pins, options, .everyAnchor, place: database.place)
    let anchors = known + [slot.anchor, pins?.anchor].compactMap { $0 }
    var found: [Candidate] = []
    var refusal: StoreError?
    for copy in copies where copy.header.vault == vault {
      do throws(StoreError) {
        try slot.reopen(in: copy.header, place: database.place.description)
        found.append(try Self.candidate(database, copy.header, copy.digest, slot, anchors))
      } catch {
        switch error.kind {
        case .forked, .replaced, .unproven: refusal = refusal ?? error
        case .tampered, .damaged, .locked: break
        default: throw error
        }
      }
    }
    guard let chosen = Self.best(of: found) else { throw refusal ?? StoredParts.missing("header", database) }
    try slot.reopen(in: chosen.header, place: database.place.description)
    self.database = database
    self.seen = seen
    self.pins = pins
    (header, headerDigest, state, contradicted) = (chosen.header, chosen.digest, chosen.state, chosen.contradicted)
    keys = try StoredParts.checked(database.place) { () throws(FormatError) in
      try Subkeys(of: slot.key, vault: vault, epoch: chosen.header.epoch)
    }
    self.slot = consume slot
  }

  private struct Candidate {
    let header: VaultHeader
    let digest: Digest32
    let state: VaultState?
    var contradicted: Anchor?
    let key: EpochMark

    func isBetter(than best: Candidate?) -> Bool {
      guard let best else { return true }
      return best.state == nil && (state != nil || header.epoch > best.header.epoch)
    }
  }

  private static func best(of found: [Candidate]) -> Candidate? {
    var chosen: Candidate?
    for candidate in found where candidate.isBetter(than: chosen) { chosen = candidate }
    guard var chosen, let newest = found.max(by: { $0.header.epoch < $1.header.epoch }) else { return nil }
    if chosen.contradicted == nil, newest.header.epoch > chosen.header.epoch {
      chosen.contradicted = Anchor(vault: newest.header.vault, key: newest.key, source: .header)
    }
    return chosen
  }

  /// - Throws: `.tampered` if the key did not seal the header, `.forked` if its key does not descend from an anchor's.
  private static func candidate(
    _ database: any VaultRows, _ header: VaultHeader, _ digest: Digest32, _ slot: borrowing OpenSlot, _ anchors: [Anchor]
  ) throws(StoreError) -> Candidate {
    let older = anchors.filter { $0.key.epoch <= header.epoch }
    // Anyone can make an old header that a recipient's public key opens.
    guard slot.kind != .recipient || !older.isEmpty else {
      throw StoreError(
        .unproven, "a recipient's key opens the vault's header of key epoch \(header.epoch), and nothing that is known is as old",
        place: database.place.description, cure: "repair with another secret, or restore a backup", remedy: .expectVault)
    }
    let known = try KnownHeader(header, digest, slot: slot, proving: older, place: database.place)
    return Candidate(
      header: header, digest: digest, state: try known.state(of: database),
      contradicted: anchors.filter { $0.key.epoch > header.epoch }.max { $0.key.epoch < $1.key.epoch },
      key: known.keys.epochMark)
  }

  /// - Parameter acceptsOlderKey: whether the slots of an older key may come back.
  func run(rebuilding: Bool, acceptsOlderKey: ([VaultStatus.Slot]) -> Bool) throws(StoreError) -> RepairReport {
    try header.checkWritable(database.place)
    try checkEpoch(acceptsOlderKey)
    let sound = try mend(rebuilding)
    if !sound { try rebuild() }
    if let contradicted { try renewKey(past: contradicted) }
    return report
  }

  /// An older header is authentic and brings back the slots of its time, including those of removed members.
  private func checkEpoch(_ acceptsOlderKey: ([VaultStatus.Slot]) -> Bool) throws(StoreError) {
    guard let contradicted else { return }
    let slots = try known().summaries(inUse: slot.id)
    guard acceptsOlderKey(slots) else {
      throw StoreError(
        .rolledBack,
        "the vault's header is of key epoch \(header.epoch), and \(contradicted.source) of epoch \(contradicted.key.epoch): "
          + "repaired with it, secrets removed since would open the vault again",
        place: database.place.description,
        cure:
          "restore a backup made after the key was changed; to go back to the older key on purpose, repair with "
          + "acceptingOlderKey: true",
        remedy: .acceptOlderKey
      )
    }
    report.returnedSlots = slots
  }

  private func known() throws(StoreError) -> KnownHeader {
    try KnownHeader(header, headerDigest, slot: slot, proving: [], place: database.place)
  }

  /// Gives a vault that fell back to an older key a new one, in an epoch after all known ones, so no known key gets another
  /// number.
  private func renewKey(past seen: Anchor) throws(StoreError) {
    let newest = try max(header.epoch, seen.key.epoch, pins?.knownKey()?.epoch ?? 0)
    let vault = try opened()
    let known = try known()
    let (now, replica) = (vault.view.now, ReplicaID.random())
    let epoch = try vault.view.checked { () throws(FormatError) in try FileCounter.next(newest, "key epoch") }
    let generation = try max(vault.view.state.generation, pins?.knownGeneration() ?? 0)
    do throws(StoreError) {
      try vault.commit(.repaired, above: generation, as: replica, after: pins?.knownReplica(), epoch: epoch) {
        (key, keys) throws(StoreError) in
        // Before the vault: a pin that refused it would ask for the same consent again.
        try pins?.expect(keys.epochMark)
        return try known.next(key: key, keys, rotated: now)
      }
    } catch {
      if error.kind != .outcomeUnknown { pins?.withdraw() }
      throw error
    }
    report.generation = vault.view.state.generation
    pins?.acceptOwn(vault.view.state, key: vault.view.keys.epochMark, replica: replica)
  }

  /// False if the state must be rebuilt.
  private func mend(_ rebuilding: Bool) throws(StoreError) -> Bool {
    guard let state else { return false }
    do throws(StoreError) { try pins?.check(state, key: keys.epochMark) } catch {
      // A damaged older copy is rebuilt above all that was seen; the pin reports an intact one. An accepted older key is
      // replaced by a new one, and a repair that died before that runs again.
      guard contradicted == nil || rebuilding else { return try mendAndVerify(rebuilding, watching: nil) }
      guard rebuilding else { throw error }
      if contradicted == nil, try isWhole() { throw error }
      return false
    }
    return try mendAndVerify(rebuilding, watching: pins)
  }

  private func mendAndVerify(_ rebuilding: Bool, watching pins: PinWatch?) throws(StoreError) -> Bool {
    try database.write { () throws(StoreError) in try putHeaders() }
    do throws(StoreError) {
      let vault = try opened()
      vault.view.pins = pins
      let verified = try vault.read { (vault) throws(StoreError) in try vault.verify { _, _ in } }
      (report.items, report.records) = (verified.items, verified.records)
      if report.mendedHeader {
        try vault.write { (_, change) throws(StoreError) in
          change.events.append(LogEntry(.repaired, by: .current, time: vault.view.now))
        }
      }
      report.generation = vault.view.state.generation
      return true
    } catch {
      guard error.kind == .tampered || error.kind == .damaged else { throw error }
      try database.read { () throws(StoreError) in try checkUnchanged() }
      guard !rebuilding else { return false }
      throw StoreError(
        error.kind, error.what, place: error.place,
        cure: "restore a backup; without one, repair with rebuilding: true keeps the records that open", remedy: .rebuild)
    }
  }

  private func isWhole() throws(StoreError) -> Bool {
    do throws(StoreError) {
      let vault = try opened()
      try vault.read { (vault) throws(StoreError) in _ = try vault.verify { _, _ in } }
      return true
    } catch {
      guard error.kind == .tampered || error.kind == .damaged else { throw error }
      return false
    }
  }

  private func opened() throws(StoreError) -> OpenVault {
    try database.read { () throws(StoreError) in
      guard let slot = try slot.copied(in: header) else { throw StoredParts.missing("slot", database) }
      return try OpenVault(
        database: database, header: header, headerDigest: headerDigest, slot: slot, anchors: [], pin: nil, clock: { Date() })
    }
  }

  private func rebuild() throws(StoreError) {
    report.kept = try database.keepCopy()
    report.rebuiltState = true
    let replica = ReplicaID.random()
    let known = try pins?.knownGeneration() ?? 0
    let rebuilt = try database.write { () throws(StoreError) in
      try putHeaders()
      let last = try max(known, statedGeneration(), state?.generation ?? 0)
      let generation = try StoredParts.checked(database.place) { () throws(FormatError) in
        try FileCounter.next(last, "generation")
      }
      return try rebuiltState(generation, replica, after: pins?.knownReplica())
    }
    report.generation = rebuilt.generation
    if contradicted == nil { pins?.acceptOwn(rebuilt, key: keys.epochMark, replica: replica) }
  }

  private func rebuiltState(
    _ generation: UInt64, _ replica: ReplicaID, after previous: ReplicaID?
  ) throws(StoreError) -> VaultState {
    try database.removeWhatIsAdded()
    let (tree, counts) = try rebuildSet()
    let log = try rebuildLog()
    let now = Milliseconds.count(Date())
    var state = VaultState(
      generation: generation, commit: .random(), root: tree.root, counts: counts, time: now,
      logSequence: log.sequence, logHead: log.head)
    if let start = log.start, log.trim != start {
      try VaultLog.append(
        LogEntry(.trimmed, by: .current, time: now, detail: start.detail), to: &state, with: slot.id, database, keys)
    }
    try VaultLog.append(LogEntry(.repaired, by: .current, time: now), to: &state, with: slot.id, database, keys)
    // The file may hold anything.
    state.scrub = database.canRemoveOldBytes
    if let previous { state.note(previous) }
    state.note(replica)
    try StoredParts.put(state, header, headerDigest, database, keys)
    return state
  }

  /// The unsealed, unproven generation of an unreadable state. A number beyond a vault's lifetime is a flipped bit or an
  /// attempt to exhaust the numbers.
  private func statedGeneration() throws(StoreError) -> UInt64 {
    let most: UInt64 = 1 << 48
    guard let stated = try StoredParts.statedGeneration(database), stated < most else { return 0 }
    return stated
  }

  /// - Throws: `.conflict` if another process has written a header since, which must stay.
  private func putHeaders() throws(StoreError) {
    try checkUnchanged()
    seen = [headerDigest, headerDigest]
    let encoded = header.encoded()
    for copy in [HeaderCopy.first, .second] {
      guard try Self.soundHeader(copy, database)?.digest != headerDigest else { continue }
      report.mendedHeader = true
      try encoded.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in try database.putHeader(copy, bytes) }
    }
  }

  /// Searches both copies of the header: a skillfully edited copy seems sound without a key but opens nothing.
  ///
  /// - Throws: the error for the first sound copy, if neither opens.
  static func slot(
    in database: any VaultRows, with credentials: consuming Credentials, _ options: VaultOptions
  ) throws(StoreError) -> OpenSlot {
    let copies = try database.read { () throws(StoreError) in try headers(of: database).compactMap(\.self) }
    guard let first = copies.first, let last = copies.last else { throw StoredParts.missing("header", database) }
    if first.digest == last.digest { return try OpenVault.search(first.header, with: credentials, options, database.place) }
    let refusal: StoreError
    do throws(StoreError) {
      return try OpenVault.search(first.header, with: credentials.copied(), options, database.place)
    } catch {
      guard error.kind == .wrongSecret || error.kind == .tampered else { throw error }
      refusal = error
    }
    do throws(StoreError) { return try OpenVault.search(last.header, with: credentials, options, database.place) } catch {
      throw error.kind == .wrongSecret || error.kind == .tampered ? refusal : error
    }
  }

  private func checkUnchanged() throws(StoreError) {
    guard try Self.headers(of: database).map({ $0?.digest }) != seen else { return }
    throw StoreError(
      .conflict, "another process has changed the vault's header while the vault was repaired", place: database.place.description,
      cure: "check the vault, and repair it again if that is still needed")
  }

  private static func headers(
    of database: any VaultRows
  ) throws(StoreError) -> [(header: VaultHeader, digest: Digest32)?] {
    try [.first, .second].map { (copy) throws(StoreError) in try soundHeader(copy, database) }
  }

  private static func soundHeader(
    _ copy: HeaderCopy, _ database: any VaultRows
  ) throws(StoreError) -> (header: VaultHeader, digest: Digest32)? {
    do throws(StoreError) { return try StoredParts.readHeader(copy, database) } catch {
      guard error.kind == .damaged else { throw error }
      return nil
    }
  }
}
