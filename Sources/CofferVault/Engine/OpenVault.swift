internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
internal import FoundationEssentials

/// A vault with its keys, and the transactions over its verified state. Not Sendable: ``VaultCore`` admits one thread at a
/// time.
///
/// Each answer comes from one read transaction, under the root in the sealed state.
final class OpenVault {
  let view: VerifiedView
  let items: ItemTable
  let slots: SlotTable
  let log: VaultLog
  let options: VaultOptions
  var index: ItemIndex?
  /// The log entry for the unlock, written with this process's first write.
  private var unlocking: LogEntry?
  let oldBytes = OldBytes()

  init(
    database: any VaultRows, header: VaultHeader, headerDigest: Digest32, slot: consuming OpenSlot, anchors: [Anchor],
    pin: Anchor?, options: VaultOptions = .withoutPins, clock: @escaping @Sendable () -> Date
  ) throws(StoreError) {
    view = try VerifiedView(database, header, headerDigest, slot: slot, anchors: anchors, pin: pin, clock: clock)
    items = ItemTable(view: view, withholdsKeys: options.withholdsKeys)
    slots = SlotTable(view, options)
    log = VaultLog(view)
    self.options = options
  }

  /// A mismatch may come from this process's memory of an older state, so everything is reread once. A second mismatch means
  /// tampering.
  func read<Result>(_ body: (OpenVault) throws(StoreError) -> Result) throws(StoreError) -> Result {
    try checkKeys()
    var isSecondTry = false
    while true {
      do throws(StoreError) {
        return try view.database.read { () throws(StoreError) in
          try view.refresh()
          try checkPlace()
          return try body(self)
        }
      } catch {
        guard error.kind.mayBeOfAnOlderMemory, !isSecondTry else { throw error }
        isSecondTry = true
        view.forget()
        try view.readPin()
      }
    }
  }

  func refreshNow() throws(StoreError) { try read { (_) throws(StoreError) in } }

  /// The same for a write that another writer of a server may commit; `body` may run twice.
  func writeOrQueue<Result>(
    about name: ItemName?, _ body: (OpenVault, inout Change) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    guard let queue = view.database.intents else { return try write(body) }
    try checkKeys()
    var write = QueuedWrite(self, queue, about: name)
    return try write.run(body)
  }

  func write<Result>(_ body: (OpenVault, inout Change) throws(StoreError) -> Result) throws(StoreError) -> Result {
    try checkKeys()
    // Every pinned commit was made before it was pinned, so a state read later cannot be older.
    try view.readPin()
    try view.database.beginWriting()
    return try finishWriting(body)
  }

  /// Runs `body` in the write that has begun, and commits.
  func finishWriting<Result>(
    _ body: (OpenVault, inout Change) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    var sealed: SealedChange?
    var outcome: Result?
    do throws(StoreError) {
      do throws(StoreError) { outcome = try change(&sealed, body) } catch {
        view.database.rollBack()
        throw error
      }
      try view.database.commit()
    } catch {
      // Only the file shows whether a failed COMMIT took effect.
      view.forget()
      guard error.kind == .outcomeUnknown, view.database.hasLostCommit, outcome != nil, let lost = sealed.take() else {
        throw error
      }
      try LostCommit(vault: self).settle(lost, error)
    }
    guard let outcome else { preconditionFailure("what did not throw has run its body") }
    if let sealed {
      view.take(sealed)
      for lost in sealed.lostReplicas { VaultNotices.say(lost.notice) }
      begun()
    }
    raiseCostOnce()
    oldBytes.remove(after: sealed, from: self)
    return outcome
  }

  func rehearse(_ body: (OpenVault, inout Change) throws(StoreError) -> Void) throws(StoreError) {
    try checkKeys()
    try view.readPin()
    defer { view.forget() }
    try view.database.rehearse { () throws(StoreError) in
      var sealed: SealedChange?
      try change(&sealed, body)
    }
  }

  private func change<Result>(
    _ sealed: inout SealedChange?, _ body: (OpenVault, inout Change) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try view.refresh()
    var change = Change()
    let result = try gather(&change, body)
    if !change.isEmpty { sealed = try seal(&change) }
    try checkPlace()
    return result
  }

  /// Runs `body` over the refreshed vault, in a write or for a draft.
  func gather<Result>(
    _ change: inout Change, _ body: (OpenVault, inout Change) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try view.header.checkWritable(view.place)
    try view.pins?.checkWritable()
    // Even without foreign commits: the pin may know of a commit that this file lacks.
    try view.pins?.check(view.state, key: view.keys.epochMark)
    let result = try body(self, &change)
    if !change.lists.isEmpty || !change.events.isEmpty || change.changesMark, let unlocking {
      change.events.insert(unlocking, at: 0)
    }
    return result
  }

  /// Remembers a write that was made.
  func begun() {
    unlocking = nil
    view.pins?.remember(view.state, key: view.keys.epochMark)
  }

  /// In a forked child the kernel has wiped the keys, and SQLite's handle is the parent's.
  private func checkKeys() throws(StoreError) {
    guard view.keys.isIntact else {
      throw StoreError(
        .afterFork, "the vault was unlocked before this process was forked", place: view.place.description,
        cure: "open vaults after the fork, or start the child with exec")
    }
  }

  /// A write to a moved or replaced file would be lost, and a read would return old data.
  private func checkPlace() throws(StoreError) {
    guard try view.database.isInPlace() else {
      throw StoreError(
        .moved, "the opened file is no longer here", place: view.place.description,
        cure: "find out what replaced or removed the vault, and open it again")
    }
  }

  /// Drops the record of a decided transaction, which no seal covers.
  func forget(_ transaction: TransactionID) throws(StoreError) {
    try checkKeys()
    try view.pins?.checkWritable()
    try view.database.write { () throws(StoreError) in
      try view.database.checkWritable()
      try view.database.outcomes.forget(transaction)
    }
  }

  private func seal(_ change: inout Change) throws(StoreError) -> SealedChange {
    let own = change.digests(view.keys), combined = change.combined
    let changed = combined.flatMap(\.changed) + own
    for intent in combined {
      for write in intent.writes { try view.database.make(write) }
    }
    for (bucket, digest) in changed {
      guard digest != .zero else {
        try view.database.deleteDigest(bucket: bucket)
        continue
      }
      try digest.withBytes { (digest) throws(StoreError) in try view.database.putDigest(digest, bucket: bucket) }
    }
    let tree = view.tree.change(changed, keys: view.keys)
    var next = view.state
    // The log's rows name the commit. Those of the commit that is made here are last: see ``LostCommit``.
    next.commit = change.commitID()
    var rows: [RecentRow] = []
    for (id, slot, events) in combined.map({ ($0.id, $0.slot, $0.events) }) + [(next.commit, view.slot.id, change.events)] {
      for event in events { rows.append(try log.append(event, by: (id, slot), to: &next)) }
    }
    try log.trim(&next)
    next.generation = try view.checked { () throws(FormatError) in
      max(try FileCounter.next(view.state.generation, "generation"), change.leastGeneration)
    }
    next.root = tree.root
    next.counts = (combined.map(\.added) + [change.added]).reduce(view.state.counts) { $1.applied(to: $0) }
    next.time = view.now
    if change.removesForGood { next.scrub = view.marksOldBytes }
    var lost: [VaultState.Replica] = []
    for replica in combined.map(\.replica) + [change.previousReplica, change.replica ?? view.pins?.replica] {
      if let replica, let given = next.note(replica) { lost.append(given) }
    }
    try StoredParts.put(next, view.header, view.headerDigest, view.database, view.keys)
    return SealedChange(
      state: next, tree: tree, lists: change.lists, notes: change.notes, lostReplicas: lost,
      removesForGood: change.removesForGood, hadOldBytes: view.state.scrub,
      combined: combined.flatMap { $0.changed.map(\.bucket) }, rows: rows)
  }

  func begin(_ pins: PinWatch?) {
    view.pins = pins
    unlocking = LogEntry(.unlocked, by: .current, time: view.now, detail: view.slot.id.bytes)
  }

  func verify(_ progress: (Int, Int) -> Void) throws(StoreError) -> VerifyReport {
    try Verification(view: view).run(log, progress)
  }

  func status() throws(StoreError) -> VaultStatus {
    VaultStatus(
      items: try indexed()?.count ?? Int(clamping: view.state.counts.items), generation: view.state.generation,
      epoch: view.header.epoch, created: Milliseconds.date(view.headerBody.created),
      rotated: Milliseconds.date(view.headerBody.rotated),
      slots: slots.summaries, oldBytesRemain: view.state.scrub)
  }
}

extension StoreError.Kind {
  /// Whether a second look may find nothing wrong, because another process may have committed since.
  fileprivate var mayBeOfAnOlderMemory: Bool {
    switch self {
    case .tampered, .rolledBack, .forked: true
    default: false
    }
  }
}

struct Change {
  /// Each list was verified against its digest before its first change.
  var lists: [Int: BucketList] = [:]
  var hasTouchedPast = false
  var notes: [Int: [RecordNote]] = [:]
  var added = RecordCounts.Change()
  var events: [LogEntry] = []
  private var commit: CommitID?
  /// One above another history that the commit replaces.
  var leastGeneration: UInt64 = 0
  /// The author of the commit; nil means the pin's replica.
  var replica: ReplicaID?
  /// Set for a commit with a new replica id: the pin looks for this one until it has the new one.
  var previousReplica: ReplicaID?
  /// No byte of the removed versions may be left in the file or its log.
  var removesForGood = false
  /// The state changes only its mark about old bytes, without a log entry.
  var changesMark = false
  /// Queued commits that are made with it.
  var combined: [Intent] = []

  var isEmpty: Bool { lists.isEmpty && events.isEmpty && !changesMark && combined.isEmpty }

  mutating func commitID() -> CommitID {
    let id = commit ?? .random()
    commit = id
    return id
  }

  /// Begins the commit of that id, which was queued.
  mutating func begin(_ id: CommitID) { commit = id }

  /// The new digests of the changed buckets.
  func digests(_ keys: borrowing Subkeys) -> Intent.Digests {
    var digests: Intent.Digests = []
    for (bucket, list) in lists { digests.append((bucket, DigestTree.digest(bucket, list.entries, keys: keys))) }
    return digests
  }
}

extension VaultState.Replica {
  fileprivate var notice: String {
    """
    more than \(VaultState.mostReplicas) machines write to the vault, and the entry of the one with the oldest last commit, \
    \(generation), was given up: until it writes again, that machine cannot tell a history without its commits from this one
    """
  }
}

struct SealedChange {
  let state: VaultState
  let tree: DigestTree.Change
  let lists: [Int: BucketList]
  let notes: [Int: [RecordNote]]
  /// Entries about other machines' commits that no longer fit into the state.
  let lostReplicas: [VaultState.Replica]
  let removesForGood: Bool
  let hadOldBytes: Bool
  /// The buckets that others' commits changed in it.
  let combined: [Int]
  /// The log's new rows.
  let rows: [RecentRow]
}
