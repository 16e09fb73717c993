internal import CofferPlatform
internal import CofferStorage
internal import Synchronization
internal import SystemPackage

/// A lock among the threads of this process that is waited for as long as the file's lock is, and not longer: a thread whose turn
/// does not come is told, and does not wait for all who came before it to be told first.
struct TimedLock<Value: ~Copyable>: ~Copyable {
  private let value: Mutex<Value>

  init(_ initial: consuming sending Value) { value = Mutex(initial) }

  /// Runs `body` alone.
  ///
  /// - Parameters:
  ///   - deadline: until when to wait, here and in later steps; by default ``FileLock/patience`` from the call on.
  ///   - busy: the error for a wait in vain.
  ///   - body: gets the value, and the deadline if there was a wait already.
  /// - Throws: `busy`, and the error of `body`.
  @inline(__always)
  func withLock<Result>(
    until deadline: LockDeadline? = nil, busy: () -> StoreError,
    _ body: (inout sending Value, LockDeadline?) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let early = try value.withLockIfAvailable { (value) throws(StoreError) in try body(&value, deadline) }
    if let early { return early }
    return try wait(deadline ?? LockDeadline(after: FileLock.patience), busy, body)
  }

  /// The same with a general error for a wait in vain.
  func withLock<Result>(_ body: (inout sending Value) throws(StoreError) -> Result) throws(StoreError) -> Result {
    try withLock(busy: { FileLock.busy(FilePath("this process"), nil) }) { (value, _) throws(StoreError) in try body(&value) }
  }

  /// Runs `body` alone if nobody else holds the lock; nil else.
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
    while !deadline.isOver {
      pauses.sleep()
      let result = try value.withLockIfAvailable { (value) throws(StoreError) in try body(&value, deadline) }
      if let result { return result }
    }
    throw busy()
  }
}
