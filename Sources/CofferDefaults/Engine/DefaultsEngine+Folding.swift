internal import CofferPlatform
internal import Synchronization

/// The right to fold: a lock that is always taken before the writers' lock. Only its holder syncs the journal, begins an epoch,
/// replaces the list, and decides batches of other stores, so that writers wait for none of that.
///
/// It locks a separate file, which successive journals of a name share.
extension DefaultsEngine {
  /// Whether this thread has the right.
  var mayFold: Bool { foldingThread.load(ordering: .relaxed) == UInt64(coffer_thread_number()) }

  /// Waits for the right, unless this thread has it.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.busy` once a holder in another process has made no step for
  ///   ``FileLock/patience``. Waits for a fold of this process as long as the disk takes.
  func folding<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    try checkProcess()
    try deciding.check(files.list.string)
    var pauses = LockPauses()
    var (deadline, step) = (LockDeadline.ofCall(FileLock.patience), state.withLock { $0.journal?.memory.lastFoldStep })
    while true {
      let place = files.list
      do throws(StoreError) { if let result = try foldingIfFree(body) { return result } } catch {
        guard error.kind == .readOnly, !mayFold else { throw error }
        // The files may have moved. A write follows them, or throws the reason.
        try holdingLock(checkingName: true, keepingRemoved: true, telling: false) { (_) throws(StoreError) in }
        guard files.list != place else { throw error }
        continue
      }
      let now = state.withLock { $0.journal?.memory.lastFoldStep }
      if now?.number != step?.number || foldingThread.load(ordering: .relaxed) != 0 {
        (deadline, step) = (.ofStep(FileLock.patience), now)
      }
      guard pauses.sleep(until: deadline) else { throw FileLock.busy(files.list, now?.process, doing: "is writing the list") }
    }
  }

  /// Nil while others have the right.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.readOnly` where the lock's file cannot be made.
  func foldingIfFree<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result? {
    if mayFold { return try body() }
    let path = files.foldLock
    // Everything done with the right waits for the disk.
    try Waiting.refuse(at: path.string)
    let lock = calls.open(path.string, O_RDWR | O_CREAT | Journal.openFlags, 0o600)
    // ENOENT: the folder was moved away or removed.
    if lock == -ENOENT || lock == -ELOOP || Journal.refusals.contains(lock) { throw readOnly }
    guard lock >= 0 else { throw StoreError(errno: -lock, "open the lock file", place: path) }
    defer { close(lock) }
    guard FileLock.tryAcquire(lock, calls) else { return nil }
    defer { FileLock.release(lock, calls) }
    // Somebody has removed the file, and others lock a new one.
    guard let named = try FileStatus(ofLinkAt: path), try named.isSameFile(as: FileStatus(of: lock, place: path)) else {
      return nil
    }
    foldingThread.store(UInt64(coffer_thread_number()), ordering: .relaxed)
    defer { foldingThread.store(0, ordering: .relaxed) }
    if let journal = state.withLock({ $0.journal }), journal.isWritable { try journal.memory.noteFoldStep() }
    return try body()
  }

  /// Runs `body` with the right to fold and as the only writer.
  func foldingAlone<Result>(
    telling: Bool = true, _ body: (Journal) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    for _ in 0..<Replay.attempts {
      let result = try folding { () throws(StoreError) -> Result? in
        let place = files.list
        return try holdingLock(telling: telling) { (journal) throws(StoreError) in
          // The list's links now lead to another lock.
          files.list == place ? try body(journal) : nil
        }
      }
      if let result { return result }
    }
    throw StoreError(.busy, "the list keeps moving", place: origin.string, cure: "try again")
  }
}
