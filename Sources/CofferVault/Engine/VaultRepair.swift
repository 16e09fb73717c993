internal import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials
internal import SystemPackage

/// One repair of a vault whose slot is open. What is written comes from parts that the key has opened.
final class VaultRepair {
  let database: VaultDatabase
  let header: VaultHeader
  let headerDigest: Digest32
  let keys: Subkeys
  private let options: VaultOptions
  private let state: VaultState?
  private var slot: OpenSlot?
  /// The newest epoch of a header that the slot opens.
  private let newestEpoch: UInt64
  var report = RepairReport()

  /// Chooses the header that the state belongs to, or, where no state opens, the first that the slot opens.
  init(_ database: VaultDatabase, slot: consuming OpenSlot, options: VaultOptions) throws(StoreError) {
    var slot = slot
    let copies = try database.read { () throws(StoreError) in try Self.soundHeaders(database) }
    var chosen: (header: VaultHeader, digest: Digest32, state: VaultState?)?
    var newest: UInt64 = 0
    for copy in copies {
      do throws(StoreError) {
        try slot.reopen(in: copy.header, path: database.path.string)
        let state = try Self.state(database, copy.header, copy.digest, slot)
        newest = max(newest, copy.header.epoch)
        guard let best = chosen else {
          chosen = (copy.header, copy.digest, state)
          continue
        }
        guard best.state == nil, state != nil || copy.header.epoch > best.header.epoch else { continue }
        chosen = (copy.header, copy.digest, state)
      } catch {
        guard error.kind == .tampered || error.kind == .damaged || error.kind == .locked else { throw error }
      }
    }
    guard let chosen else { throw VerifiedView.missing("header", database) }
    try slot.reopen(in: chosen.header, path: database.path.string)
    self.database = database
    self.options = options
    (header, headerDigest, state) = chosen
    newestEpoch = newest
    keys = try VerifiedView.checked(database.path) { () throws(FormatError) in
      try Subkeys(of: slot.key, vault: chosen.header.vault)
    }
    self.slot = consume slot
  }

  func run(rebuilding: Bool, acceptingOlderKey: Bool) throws(StoreError) -> RepairReport {
    let pins = try options.pins.map { (folder) throws(StoreError) in
      try PinWatch(folder, vault: header.vault, path: database.path, accepting: true)
    }
    try VerifiedView.checkWritable(header, database.path)
    try checkEpoch(pins, acceptingOlderKey)
    try pins?.read()
    let sound = try mend(pins, rebuilding)
    if !sound { try rebuild(pins) }
    return report
  }

  /// An older header is authentic, and brings back the slots of its time: who was removed since has a way in again.
  private func checkEpoch(_ pins: PinWatch?, _ acceptingOlderKey: Bool) throws(StoreError) {
    let known = max(newestEpoch, try pins?.knownEpoch() ?? 0)
    guard header.epoch < known else { return }
    guard acceptingOlderKey else {
      throw StoreError(
        .rolledBack,
        "the vault's header is of key epoch \(header.epoch), and epoch \(known) was seen before: repaired with it, the vault would open with secrets that were removed since",
        place: database.path.string,
        cure:
          "restore a backup made after the key was changed; to go back to the older key on purpose, repair with acceptingOlderKey: true",
        remedy: .acceptOlderKey
      )
    }
    report.returnedSlots = try VerifiedView.checked(database.path) { () throws(FormatError) in
      zip(header.slots, try header.openBody(keys).labels).map {
        VaultStatus.Slot(summary: $0.summary, label: $1, isInUse: $0.id == slot?.id)
      }
    }
  }

  /// Mends the header and checks everything else; false when the state has to be rebuilt.
  private func mend(_ pins: PinWatch?, _ rebuilding: Bool) throws(StoreError) -> Bool {
    guard let state else { return false }
    do throws(StoreError) { try pins?.check(state, epoch: header.epoch) } catch {
      // An older copy that is damaged besides, or whose older key somebody accepted, is rebuilt above all that was seen. One that is whole
      // is for the pin to be told of.
      guard rebuilding else { throw error }
      if report.returnedSlots.isEmpty, try isWhole() { throw error }
      return false
    }
    try database.write { () throws(StoreError) in try putHeaders() }
    do throws(StoreError) {
      let vault = try opened()
      vault.view.pins = pins
      report.items = try vault.read { (vault) throws(StoreError) in try vault.verify { _, _ in }.items }
      if report.mendedHeader {
        try vault.write { (_, change) throws(StoreError) in
          change.events.append(LogEntry(.repaired, by: .current, time: vault.view.now))
        }
      }
      report.generation = vault.view.state.generation
      return true
    } catch {
      guard error.kind == .tampered || error.kind == .damaged else { throw error }
      guard !rebuilding else { return false }
      throw StoreError(
        error.kind, error.what, place: error.place,
        cure: "restore a backup; without one, repair with rebuilding: true keeps the records that open", remedy: .rebuild)
    }
  }

  /// Whether nothing is to be repaired.
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
      guard let slot = slot.take() else { throw VerifiedView.missing("slot", database) }
      return try OpenVault(database: database, header: header, headerDigest: headerDigest, slot: slot, clock: { Date() })
    }
  }

  private func rebuild(_ pins: PinWatch?) throws(StoreError) {
    let kept = try KeptName.beside(database.path)
    try database.backUp(to: kept)
    report.kept = kept
    report.rebuiltState = true
    let replica = ReplicaID.random()
    try pins?.expect(epoch: header.epoch)
    let known = try pins?.knownGeneration() ?? 0
    let rebuilt = try database.write { () throws(StoreError) in
      try putHeaders()
      let last = try max(known, statedGeneration(), state?.generation ?? 0)
      let generation = try VerifiedView.checked(database.path) { () throws(FormatError) in
        try FileCounter.next(last, VaultState.part)
      }
      return try rebuiltState(generation, replica, after: pins?.knownReplica())
    }
    report.generation = rebuilt.generation
    pins?.acceptOwn(rebuilt, epoch: header.epoch, replica: replica)
  }

  private func rebuiltState(
    _ generation: UInt64, _ replica: ReplicaID, after former: ReplicaID?
  ) throws(StoreError) -> VaultState {
    try database.removeWhatIsAdded()
    let (tree, records) = try rebuildSet()
    let log = try rebuildLog()
    let now = Milliseconds.count(Date())
    var state = VaultState(
      generation: generation, commit: .random(), root: tree.root, records: UInt64(records), time: now,
      logSequence: log.sequence, logHead: log.head)
    if let start = log.start, log.trim != start {
      try VaultLog.append(LogEntry(.trimmed, by: .current, time: now, detail: start.detail), to: &state, database, keys)
    }
    try VaultLog.append(LogEntry(.repaired, by: .current, time: now), to: &state, database, keys)
    if let former { state.note(former) }
    state.note(replica)
    try VerifiedView.put(state, header, headerDigest, database, keys)
    return state
  }

  /// The generation of an unreadable state, as its row says in the clear. Not proven; beyond what a vault can come to in its life
  /// it is a flipped bit, or someone's attempt to use the numbers up.
  private func statedGeneration() throws(StoreError) -> UInt64 {
    let most: UInt64 = 1 << 48
    guard let stated = try VerifiedView.statedGeneration(database), stated < most else { return 0 }
    return stated
  }

  /// Writes the chosen header wherever another, or none, stands.
  private func putHeaders() throws(StoreError) {
    let encoded = header.encoded()
    for copy in [VaultDatabase.HeaderCopy.first, .second] {
      guard try Self.soundHeader(copy, database)?.digest != headerDigest else { continue }
      report.mendedHeader = true
      try encoded.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in try database.putHeader(copy, bytes) }
    }
  }

  private static func soundHeaders(
    _ database: VaultDatabase
  ) throws(StoreError) -> [(header: VaultHeader, digest: Digest32)] {
    var found: [(header: VaultHeader, digest: Digest32)] = []
    for copy in [VaultDatabase.HeaderCopy.first, .second] {
      if let header = try soundHeader(copy, database) { found.append(header) }
    }
    return found
  }

  /// The header in one of its places; nil where there is none that fits its checksum.
  private static func soundHeader(
    _ copy: VaultDatabase.HeaderCopy, _ database: VaultDatabase
  ) throws(StoreError) -> (header: VaultHeader, digest: Digest32)? {
    do throws(StoreError) { return try VerifiedView.readHeader(copy, database) } catch {
      guard error.kind == .damaged else { throw error }
      return nil
    }
  }

  /// The state where it opens under `header`; nil otherwise.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/tampered`` when the header is not one that the key sealed.
  private static func state(
    _ database: VaultDatabase, _ header: VaultHeader, _ digest: Digest32, _ slot: borrowing OpenSlot
  ) throws(StoreError) -> VaultState? {
    let keys = try VerifiedView.checked(database.path) { () throws(FormatError) in try Subkeys(of: slot.key, vault: header.vault)
    }
    _ = try VerifiedView.checked(database.path) { () throws(FormatError) in try header.openBody(keys) }
    do throws(StoreError) {
      return try database.read { () throws(StoreError) in try VerifiedView.readState(database, header, digest, keys) }
    } catch {
      guard error.kind == .damaged || error.kind == .tampered else { throw error }
      return nil
    }
  }
}
