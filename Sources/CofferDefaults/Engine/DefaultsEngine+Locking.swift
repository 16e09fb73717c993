internal import CofferPlatform
internal import CofferStorage
internal import Synchronization
internal import SystemPackage

// Who may write.
extension DefaultsEngine {
  /// Runs `body` as the only writer of all processes.
  ///
  /// - Parameters:
  ///   - deadline: until when to wait, for other threads and processes together; by default ``FileLock/patience`` from now on.
  ///   - checkingName: whether the journal's name is looked at in any case, and not only now and then.
  /// - Throws: ``/CofferPlatform/StoreError`` `.readOnly`, `.busy`, `.closed` (after a fork), and what `body` throws.
  @inline(__always)
  func holdingLock<Result>(
    until deadline: LockDeadline? = nil, checkingName: Bool = false, _ body: (Sidecar) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try checkProcess()
    try checkDecider()
    return try writing.withLock(until: deadline, busy: { busy }) { (writer, deadline) throws(StoreError) in
      let sidecar = try acquire(&writer, deadline, checkingName)
      defer { sidecar.unlock() }
      return try body(sidecar)
    }
  }

  /// Another thread of this process waits for the file's lock, or has it.
  private var busy: StoreError { FileLock.busy(files.journal, state.withLock { $0.sidecar?.holder }) }

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
  private func acquire(
    _ writer: inout WriterState, _ deadline: LockDeadline?, _ checkingName: Bool
  ) throws(StoreError) -> Sidecar {
    guard let sidecar = writer.sidecar, sidecar.isWritable else { throw readOnly }
    try sidecar.lock(until: deadline)
    do {
      if try !sidecar.isRetired(), CoarseClock.now() < writer.nextLinkCheck, !checkingName { return sidecar }
    } catch {
      sidecar.unlock()
      throw error
    }
    return try checkName(&writer, sidecar, deadline)
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

  /// Appends `record` and applies it. The caller holds the file's lock.
  func append(_ record: Record, _ state: inout EngineState, _ sidecar: Sidecar) throws(StoreError) {
    try append([record], &state, sidecar)
  }

  /// Appends `records`, which become visible together, and applies them. The caller holds the file's lock.
  func append(_ records: [Record], _ state: inout EngineState, _ sidecar: Sidecar) throws(StoreError) {
    let epoch = state.seen.epoch
    state.seen = try sidecar.append(records.reduce(0) { $0 + $1.count }, after: state.seen) { buffer in
      Record.encode(records, into: buffer, epoch: epoch, writer: writer)
    }
    for record in records { state.apply(record) }
  }
}

extension DefaultsEngine {
  /// Whether this process may write the domain.
  var isWritable: Bool { state.withLock { $0.sidecar?.isWritable ?? false } }
}
