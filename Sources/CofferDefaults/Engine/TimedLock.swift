internal import CofferPlatform
internal import Synchronization

/// Waits as long as the file's lock does. A thread without a turn gets the error on time, without waiting for those before
/// it.
struct TimedLock<Value: ~Copyable>: ~Copyable {
  private let value: Mutex<Value>

  init(_ initial: consuming sending Value) { value = Mutex(initial) }

  /// - Parameter deadline: the end of the wait, here and in later steps; by default ``FileLock/patience`` from the call on.
  /// - Parameter busy: the error for a wait in vain.
  /// - Parameter body: gets the deadline if there was a wait already.
  @inline(__always)
  func withLock<Result>(
    until deadline: LockDeadline? = nil, busy: () -> StoreError,
    _ body: (inout sending Value, LockDeadline?) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let early = try value.withLockIfAvailable { (value) throws(StoreError) in try body(&value, deadline) }
    if let early { return early }
    return try wait(deadline ?? .ofCall(FileLock.patience), busy, body)
  }

  @inline(__always)
  func withLockIfAvailable<Result>(_ body: (inout sending Value) throws(StoreError) -> Result) throws(StoreError) -> Result? {
    try value.withLockIfAvailable { (value) throws(StoreError) in try body(&value) }
  }

  @inline(never)
  private func wait<Result>(
    _ deadline: LockDeadline, _ busy: () -> StoreError,
    _ body: (inout sending Value, LockDeadline?) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    var pauses = LockPauses()
    let timing = Measure.begin(.lockWait)
    while pauses.sleep(until: deadline) {
      let result = try value.withLockIfAvailable { (value) throws(StoreError) in
        timing?.end()
        return try body(&value, deadline)
      }
      if let result { return result }
    }
    timing?.end()
    throw busy()
  }
}
