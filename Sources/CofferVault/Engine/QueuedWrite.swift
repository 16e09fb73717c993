internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows

/// A write to a vault on a server, which another writer may commit.
///
/// If nobody else writes, it is an ordinary write, which takes the queue along. Else it is drafted over the state that is
/// there, queued as an ``Intent``, and awaited. The next writer makes it, or this one itself. It counts as made only when
/// the verified log has a row of its id; nothing that the server says counts.
struct QueuedWrite {
  let vault: OpenVault
  let queue: any IntentRows
  let name: ItemName?
  private var id = CommitID.random()
  private var view: VerifiedView { vault.view }
  private var database: any VaultRows { vault.view.database }

  init(_ vault: OpenVault, _ queue: any IntentRows, about name: ItemName?) {
    (self.vault, self.queue, self.name) = (vault, queue, name)
  }

  /// The longest that the writer waits for a notice before it looks: the one at work may have died.
  private static let pause = Duration.milliseconds(100)
  /// After so many pauses it queues again.
  private static let pausesInQueue = 10

  private struct Draft<Result> {
    let result: Result
    /// The intent and its box; nil if the write changes nothing.
    let queued: (intent: Intent, box: [UInt8])?
  }

  /// - Throws: the errors of `body`, and of writing; `.outcomeUnknown` if it was queued, and nothing shows in time whether it was
  ///   made.
  mutating func run<Result>(_ body: (OpenVault, inout Change) throws(StoreError) -> Result) throws(StoreError) -> Result {
    defer { view.consulted = nil }
    try view.readPin()
    if !queue.isBusy, try queue.beginWriting(of: nil, queueing: nil) {
      return try vault.finishWriting { (_, change) throws(StoreError) in
        let result = try consulting(&change, body)
        if !change.isEmpty { change.combined = change.apart(try Combining(view: view).intents(id), view.consulted) }
        return result
      }
    }
    defer { queue.stop() }
    let end = ContinuousClock.now + queue.patience
    while true {
      guard let draft = try drafted(body) else {
        try vault.items.announce(name, writing: true)
        return try vault.write(body)
      }
      guard let (intent, box) = draft.queued else { return draft.result }
      switch try waited(draft.result, intent, box, until: end, body) {
      case .made(let result): return result
      case .conflict(let error): throw error
      // Other commits changed its base: nobody can make this one any more.
      case .old: id = .random()
      }
    }
  }

  private enum Outcome<Result> {
    /// Of the write, which was made or is in conflict with another one.
    case made(Result), conflict(StoreError)
    /// The draft is out of date.
    case old
  }

  private func waited<Result>(
    _ drafted: Result, _ intent: Intent, _ box: [UInt8], until end: ContinuousClock.Instant,
    _ body: (OpenVault, inout Change) throws(StoreError) -> Result
  ) throws(StoreError) -> Outcome<Result> {
    var (end, toQueue, waits, pauses, last) = (end, Optional(box), 0, 0, StoreError?.none)
    var mayBeQueued = false
    waiting: while .now < end {
      do throws(StoreError) {
        try view.readPin()
        try vault.items.announce(nil, writing: true)
        mayBeQueued = true
        // It may have lost its place in the queue, or found none.
        if pauses > 0, toQueue != nil, try queue.beginWriting(of: nil, queueing: nil) { return try turn(drafted, intent, body) }
        if try queue.beginWriting(of: id, queueing: toQueue) { return try turn(drafted, intent, body) }
        if waits > 0 {
          if try isSeen(intent) { return .made(drafted) }
          if isOld(intent) { return .old }
        }
        let hasNotice = try queue.wait(Self.pause)
        (waits, pauses) = (waits + 1, pauses + (hasNotice ? 0 : 1))
        toQueue = !hasNotice && pauses % Self.pausesInQueue == 0 ? box : nil
      } catch {
        // A server takes some seconds to restart.
        if last == nil, error.kind == .unreachable { end = max(end, .now + LostAnswer.patience) }
        // It may have been queued, or not.
        (last, toQueue) = (error, box)
        switch error.kind {
        case .unreachable, .busy, .io, .noSpace: usleep(UInt32(Self.pause / .microseconds(1)))
        case .outcomeUnknown where database.hasLostCommit: break
        case .outcomeUnknown: throw error
        default:
          guard mayBeQueued else { throw error }
          break waiting
        }
      }
    }
    guard let last else { throw unknown("another writer did not finish in time: the change may still be made") }
    throw unknown(Self.afterQueueing, last)
  }

  private static let afterQueueing = "the change was queued, and then failed: it may still be made"

  private func unknown(_ what: String, _ cause: StoreError? = nil) -> StoreError {
    // Without the cure, which may say that nothing was changed.
    let cause = cause.map { StoreError($0.kind, $0.what, place: $0.place, cure: "", underlying: $0.underlying) }
    return StoreError(
      .outcomeUnknown, what, place: view.place.description, cure: "check the item before you try again", underlying: cause)
  }

  /// Makes the commit.
  private func turn<Result>(
    _ drafted: Result, _ intent: Intent, _ body: (OpenVault, inout Change) throws(StoreError) -> Result
  ) throws(StoreError) -> Outcome<Result> {
    var conflict: StoreError?
    let result = try vault.finishWriting { (_, change) throws(StoreError) -> Result? in
      // A commit without a change waits for the standby, too.
      if try isMade(intent) { return drafted }
      try queue.mark()
      let taken = try Combining(view: view).intents(with: intent, id)
      guard taken.last?.id != id else {
        change.begin(id)
        change.combined = taken
        return drafted
      }
      do throws(StoreError) {
        let result = try consulting(&change, body)
        change.combined = change.apart(taken, view.consulted)
        return result
      } catch {
        // Over an unchanged base this is no conflict, and another writer may succeed.
        guard isOld(intent) else { throw unknown(Self.afterQueueing, error) }
        // Nobody makes it after this commit, which lasts together with the conflicting one. It may have written some of its rows.
        try queue.withdraw(id)
        (conflict, change) = (error, Change())
        return nil
      }
    }
    if let conflict {
      // A list that was read after a change is wrong once that is taken back.
      view.forget()
      return .conflict(conflict)
    }
    guard let result else { return .old }
    return .made(result)
  }

  /// Runs `body`, and notes the buckets that it reads.
  private func consulting<Result>(
    _ change: inout Change, _ body: (OpenVault, inout Change) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    change.begin(id)
    view.consulted = []
    return try body(vault, &change)
  }

  /// Nil if it cannot be drafted, or is too large: then it waits for its turn.
  private func drafted<Result>(
    _ body: (OpenVault, inout Change) throws(StoreError) -> Result
  ) throws(StoreError) -> Draft<Result>? {
    // First by the lists that are known, which may be old, and without the state.
    for isQuick in [true, false] {
      try vault.items.announce(name, writing: !isQuick)
      try queue.beginDraft()
      view.isDrafting = isQuick
      defer { (view.isDrafting, view.consulted) = (false, nil) }
      var change = Change()
      do throws(StoreError) {
        try view.refresh()
        let result = try vault.gather(&change) { (_, change) throws(StoreError) in try consulting(&change, body) }
        let writes = try queue.endDraft()
        guard !change.isEmpty else { return Draft(result: result, queued: nil) }
        let intent = intent(change, writes)
        guard let box = intent.sealed(view.keys) else { return nil }
        return Draft(result: result, queued: (intent, box))
      } catch {
        // A draft cannot be read back. The write itself reports any error of the vault or the call.
        database.rollBack()
      }
    }
    return nil
  }

  private func intent(_ change: Change, _ writes: [Intent.Write]) -> Intent {
    var buckets = (view.consulted ?? []).union(change.lists.keys)
    // Where the earlier versions are, whether there are any or not.
    let width = RecordTable.old.buckets.lowerBound
    buckets.formUnion(buckets.filter { $0 < width }.map { $0 + width })
    return Intent(
      id, by: view.pins?.replica, with: view.slot.id, over: view.state,
      base: buckets.sorted().map { (bucket: $0, digest: view.tree.digests[$0]) }, changed: change.digests(view.keys),
      added: change.added, events: change.events, writes: writes)
  }

  private func isOld(_ intent: Intent) -> Bool {
    intent.base.contains { view.tree.digests[$0.bucket] != $0.digest }
  }

  /// Whether a read shows that the commit was made, and it lasts.
  private func isSeen(_ intent: Intent) throws(StoreError) -> Bool {
    try vault.items.announce(nil, writing: false)
    guard try vault.read({ (_) throws(StoreError) in try isMade(intent) }) else { return false }
    try queue.confirm()
    vault.begun()
    return true
  }

  private func isMade(_ intent: Intent) throws(StoreError) -> Bool {
    guard let rows = try view.rows(after: intent.sequence) else {
      throw unknown("others made more changes than are remembered: whether this one was made cannot be told")
    }
    return rows.contains { $0.commit == id }
  }
}

extension Change {
  /// Those that change nothing on which this change depends.
  fileprivate func apart(_ intents: [Intent], _ consulted: Set<Int>?) -> [Intent] {
    let own = Set(lists.keys).union(consulted ?? [])
    return intents.filter { own.isDisjoint(with: $0.changed.map(\.bucket)) }
  }
}
