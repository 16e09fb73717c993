internal import CofferPlatform
internal import Synchronization

extension DefaultsEngine {
  /// Runs `body` as the only writer of all processes.
  ///
  /// - Parameters:
  ///   - deadline: for all threads and processes together; by default ``FileLock/patience`` from now on.
  ///   - checkingName: whether to check the journal's name each time, not only at intervals.
  ///   - keepingRemoved: whether `body`, which then writes nothing, may get a removed domain's journal instead of a new one.
  ///   - telling: whether to throw for known values that replaced files lack.
  /// - Throws: ``/CofferPlatform/StoreError`` `.readOnly`, `.busy`, `.afterFork`, `.moved`, and the errors of `body`, which
  ///   runs again when it finds another current journal.
  @inline(__always)
  func holdingLock<Result>(
    until deadline: LockDeadline? = nil, checkingName: Bool = false, keepingRemoved: Bool = false, telling: Bool = true,
    _ body: (Journal) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try checkProcess()
    try deciding.check(files.list.string)
    return try writing.withLock(until: deadline, busy: { busy }) { (writer, deadline) throws(StoreError) in
      for _ in 0..<Replay.attempts {
        let journal = try acquire(&writer, deadline, checkingName, keepingRemoved)
        defer { journal.unlock() }
        do throws(StoreError) {
          if writer.known != nil || !writer.missing.isEmpty {
            try Relocation(engine: self).compare(&writer, journal)
            if telling { try Relocation(engine: self).tell(&writer) }
          }
          return try body(journal)
        } catch {
          guard error.kind == .moved, journal.isOver.load(ordering: .relaxed) else { throw error }
        }
      }
      throw StoreError(.busy, "the journal is replaced again and again", place: files.journal.string, cure: "try again")
    }
  }

  var busy: StoreError { FileLock.busy(files.journal, state.withLock { $0.journal?.holder }) }

  @inline(__always)
  private func acquire(
    _ writer: inout WriterState, _ deadline: LockDeadline?, _ checkingName: Bool, _ keepingRemoved: Bool
  ) throws(StoreError) -> Journal {
    let relocation = Relocation(engine: self)
    if let journal = writer.journal, journal.isWritable {
      try journal.lock(until: deadline)
      do {
        if !journal.isOver.load(ordering: .relaxed), try journal.isItself {
          let isRetired = try journal.memory.isRetired()
          if !isRetired, CoarseClock.now() < writer.nextLinkCheck, !checkingName { return journal }
          if isRetired, keepingRemoved, try relocation.isRemovedForGood(journal) { return journal }
          if !isRetired, try !relocation.hasMoved(journal) {
            writer.nextLinkCheck = CoarseClock.now() + CoarseClock.lookInterval
            return journal
          }
        }
      } catch {
        journal.unlock()
        throw error
      }
      // The next journal may be this file under another name, and a file has one lock.
      journal.unlock()
    }
    guard !isReadOnly else { throw readOnly }
    // This may make and sync another journal.
    try Waiting.refuse(at: files.journal.string)
    guard let journal = try relocation.exchange(&writer, until: deadline) else { throw readOnly }
    writer.nextLinkCheck = CoarseClock.now() + CoarseClock.lookInterval
    return journal
  }

  var readOnly: StoreError {
    guard !isReadOnly else {
      return StoreError(
        .readOnly, "the domain was opened for reading", place: files.list.string, cure: "open it for reading and writing")
    }
    return StoreError(
      .readOnly, "the property list or its folder cannot be written", place: files.list.string,
      cure: "make both writable and try again")
  }

  func append(_ record: Record, _ state: inout EngineState, _ journal: Journal) throws(StoreError) {
    try append([record], &state, journal)
  }

  /// The records become visible together. The caller holds the file's lock.
  func append(_ records: [Record], _ state: inout EngineState, _ journal: Journal) throws(StoreError) {
    let epoch = state.seen.epoch
    let surviving = records.reduce(0) { $0 + ($1.kind == .prepare ? $1.count : 0) }
    let kept = records.allSatisfy(\.endsTransaction) ? 0 : state.keptBytes + surviving
    let capacity = mayFold ? JournalLayout.capacity : JournalLayout.capacityForWrites
    let last = state.last
    (state.seen, state.last) = try journal.append(
      records.reduce(0) { $0 + $1.count }, after: state.seen, upTo: capacity, keeping: kept
    ) { buffer in
      Record.encode(records, into: buffer, epoch: epoch, after: last, writer: writer)
    }
    for record in records { state.apply(record) }
  }

  var isWritable: Bool { state.withLock { $0.journal?.isWritable ?? false } }

  func isAsUnwritable(as new: DefaultsEngine) -> Bool {
    guard !isWritable, !new.isWritable, files.list == new.files.list else { return false }
    return hasJournal == new.hasJournal
  }

  private var hasJournal: Bool { state.withLock { $0.journal != nil } }
}
