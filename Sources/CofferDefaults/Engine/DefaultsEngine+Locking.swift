internal import CCofferPlatform
internal import CofferStorage
internal import Synchronization
internal import SystemPackage

// Who may write, and what becomes of a journal whose name was taken away.
extension DefaultsEngine {
  /// Runs `body` as the only writer of all processes.
  ///
  /// - Throws: ``StoreError`` `.readOnly`, `.busy`, `.closed` (after a fork), and what `body` throws.
  @inline(__always)
  func holdingLock<Result>(_ body: (Sidecar) throws(StoreError) -> Result) throws(StoreError) -> Result {
    try checkProcess()
    try checkDecider()
    return try writing.withLock { (writer) throws(StoreError) in
      let sidecar = try acquire(&writer)
      defer { sidecar.unlock() }
      return try body(sidecar)
    }
  }

  /// Makes `decision`, with this thread marked: its own writes here would wait for themselves, and are refused instead.
  func make(_ decision: Decision, _ id: TransactionID?) throws(StoreError) {
    decider.store(coffer_thread_number(), ordering: .relaxed)
    defer { decider.store(0, ordering: .relaxed) }
    try decision.make(id)
  }

  @inline(__always)
  func checkDecider() throws(StoreError) {
    let thread = decider.load(ordering: .relaxed)
    guard thread != 0, thread == coffer_thread_number() else { return }
    throw StoreError(
      .reentrant, "the domain was written while a decision about it was being made", place: files.list.string,
      cure: "write before or after the transaction, or make the write a part of it")
  }

  @inline(__always)
  private func acquire(_ writer: inout WriterState) throws(StoreError) -> Sidecar {
    guard let sidecar = writer.sidecar, sidecar.isWritable else { throw readOnly }
    try sidecar.lock()
    let now = CoarseClock.now()
    do {
      if try !sidecar.isRetired(), now < writer.nextLinkCheck { return sidecar }
    } catch {
      sidecar.unlock()
      throw error
    }
    return try checkName(&writer, sidecar, now)
  }

  private func checkName(_ writer: inout WriterState, _ locked: Sidecar, _ now: UInt64) throws(StoreError) -> Sidecar {
    var sidecar = locked
    writer.nextLinkCheck = now + CoarseClock.lookInterval
    while true {
      let isGone: Bool
      do { isGone = try sidecar.isGone() } catch {
        sidecar.unlock()
        throw error
      }
      if !isGone { return sidecar }
      sidecar.unlock()
      try state.withLock { (state) throws(StoreError) in try reopen(&state, &writer) }
      guard let new = writer.sidecar, new.isWritable else { throw readOnly }
      sidecar = new
      try sidecar.lock()
    }
  }

  var readOnly: StoreError {
    guard !isReadOnly else {
      return StoreError(
        .readOnly, "the domain was opened for reading", place: files.list.string, cure: "open it for reading and writing")
    }
    return StoreError(
      .readOnly, "the property list or its folder cannot be written", place: files.list.string,
      cure: "make both writable and open the domain again")
  }

  /// Opens the journal anew, unless a writer of this process is at work: it will find out itself.
  func reopenFromReader(_ state: inout EngineState) throws(StoreError) {
    _ = try writing.withLockIfAvailable { (writer) throws(StoreError) in try reopen(&state, &writer) }
  }

  /// Opens a new journal in place of one that lost its name, and writes into it what the old one held and the list does not.
  private func reopen(_ state: inout EngineState, _ writer: inout WriterState) throws(StoreError) {
    if let old = state.sidecar {
      // A journal that was spoilt before it was taken away tells nothing more; what is known here stays.
      do { if try old.word() != state.seen { try catchUp(&state, old) } } catch {}
    }
    let isForWriting = try isReadOnly ? false : files.isWritable()
    guard let new = try Sidecar.open(at: files.journal, forWriting: isForWriting, calls: calls) else {
      guard isReadOnly else { throw readOnly }
      return try goOnWithoutJournal(&state, &writer)
    }
    var changes: [Record.Change] = []
    if let old = state.sidecar { for name in journalledNames(state, old) { changes.append((name, state.values[name])) } }
    let (prepared, finished) = (state.prepared, state.finished)
    if new.isWritable { try new.lock() }
    defer { if new.isWritable { new.unlock() } }
    state.sidecar = new
    state.seen = .never
    writer.sidecar = new
    try catchUp(&state, new)
    guard new.isWritable else { return }
    let missing = changes.filter { state.values[$0.name] != $0.form }
    if !missing.isEmpty { try append(.write(missing), &state, new) }
    for batch in prepared where !state.prepared.contains(where: { $0.id == batch.id }) {
      try append(.prepare(batch), &state, new)
    }
    state.finished += finished
  }

  /// A reader does not make a journal: where there is none, or none any more, the list has everything.
  private func goOnWithoutJournal(_ state: inout EngineState, _ writer: inout WriterState) throws(StoreError) {
    guard state.sidecar != nil else { return }
    state.sidecar = nil
    writer.sidecar = nil
    state.seen = .never
    state.begin(with: try ListContent.readPatiently(files.list, calls))
  }

  /// The names that the records of `sidecar` change.
  private func journalledNames(_ state: borrowing EngineState, _ sidecar: Sidecar) -> Set<String> {
    guard state.isJournalled else { return [] }
    do { return try sidecar.changedNames(state.start..<state.seen.end, epoch: state.seen.epoch) } catch {
      return Set(state.values.keys)  // Not to be known any more: nothing that was acknowledged may be missed.
    }
  }

  /// Appends `record` and applies it. The caller holds the file's lock.
  func append(_ record: Record, _ state: inout EngineState, _ sidecar: Sidecar) throws(StoreError) {
    let epoch = state.seen.epoch
    state.seen = try sidecar.append(record.count, after: state.seen) { buffer in
      record.encode(into: buffer, epoch: epoch, writer: writer)
    }
    state.apply(record)
  }
}

extension DefaultsEngine {
  /// Whether this process may write the domain.
  var isWritable: Bool { state.withLock { $0.sidecar?.isWritable ?? false } }
}
