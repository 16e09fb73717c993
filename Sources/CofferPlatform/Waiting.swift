package import Synchronization

/// Whether calls on this thread may wait for a lock, a disk or another program.
///
/// A synchronous call may. A call from asynchronous code is first attempted in place: before a wait it gives up without a
/// change. ``CallQueues`` then runs it again on a thread where it may wait, until its limit or its cancellation.
@usableFromInline
package enum Waiting {
  @usableFromInline
  package enum Attempt<Value> {
    case done(Value)
    /// It would have waited for this lock.
    case refused(lock: String)
  }

  /// Runs `body`, which must change nothing before it would wait.
  ///
  /// - Returns: `.refused` also if a closure within `body` has dropped the refusal.
  /// - Throws: the error of `body`, unless a wait was refused.
  @inlinable
  package static func attempt<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Attempt<Value> {
    var lock: String?
    let outer = coffer_attempt()
    do throws(StoreError) {
      let value = try withUnsafeMutablePointer(to: &lock) { (mark) throws(StoreError) in
        coffer_set_attempt(mark)
        defer { coffer_set_attempt(outer) }
        return try body()
      }
      guard let lock else { return .done(value) }
      return .refused(lock: lock)
    } catch {
      guard let lock else { throw error }
      return .refused(lock: lock)
    }
  }

  /// Runs a step without which the call succeeds: a wait refused in it does not run the call again.
  package static func optionally(_ body: () -> Void) {
    let mark = coffer_attempt()?.assumingMemoryBound(to: String?.self), refused = mark?.pointee
    body()
    mark?.pointee = refused
  }

  /// Runs callers' closures, which may wait.
  package static func freely(_ body: () -> Void) {
    let (attempt, call) = (coffer_attempt(), coffer_call())
    coffer_set_attempt(nil)
    coffer_set_call(nil)
    body()
    coffer_set_attempt(attempt)
    coffer_set_call(call)
  }

  /// Gives up an attempt in place; elsewhere does nothing. Called before an unbounded wait and before a change.
  ///
  /// - Parameter lock: the wait's name, by which calls queue.
  package static func refuse(at lock: @autoclosure () -> String) throws(StoreError) {
    if coffer_attempt() != nil, let refusal = refusal(at: lock()) { throw refusal }
  }

  /// Gives up an attempt in place if a wait was refused, even if the caller's closure has dropped the error.
  package static func refuseAgain() throws(StoreError) {
    guard let lock = coffer_attempt()?.assumingMemoryBound(to: String?.self).pointee else { return }
    try refuse(at: lock)
  }

  /// The error of an attempt in place; elsewhere nil.
  package static func refusal(at lock: String) -> StoreError? {
    guard let attempt = coffer_attempt() else { return nil }
    attempt.assumingMemoryBound(to: String?.self).pointee = lock
    return StoreError(.busy, "the call would have to wait", place: lock, cure: "run it where it may wait")
  }

  /// Throws if this thread's call is cancelled. Called between the call's waits, before it changes anything.
  package static func checkGoesOn(at lock: @autoclosure () -> String) throws(StoreError) {
    if let wait = CallWait.current, wait.isEnded { throw StoreError(.busy, "the call is over", place: lock(), cure: "try again") }
  }

  /// The time since asynchronous code made this thread's call; elsewhere zero.
  package static var waited: Duration {
    guard let wait = CallWait.current else { return .zero }
    return .nanoseconds(Int64(clamping: coffer_time_since_boot() - wait.began))
  }

  package static var isOver: Bool { coffer_attempt() != nil || CallWait.current?.isEnded ?? false }

  static var isLimited: Bool { coffer_attempt() != nil || coffer_call() != nil }
}

/// The wait of a call that runs on a thread of ``CallQueues``.
package final class CallWait: Sendable {
  /// Nanoseconds since boot.
  let began = coffer_time_since_boot()
  /// Nanoseconds; nil for the usual patience of each lock.
  let limit: Int64?
  private let ended = Atomic(false)

  package init(within limit: Duration?) { self.limit = limit?.nanoseconds }

  var isEnded: Bool { ended.load(ordering: .relaxed) }
  func end() { ended.store(true, ordering: .relaxed) }

  /// The wait of this thread's call.
  static var current: CallWait? { coffer_call().map { Unmanaged<CallWait>.fromOpaque($0).takeUnretainedValue() } }

  package func run<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    coffer_set_call(Unmanaged.passUnretained(self).toOpaque())
    defer { coffer_set_call(nil) }
    return try withExtendedLifetime(self, body)
  }
}

/// Hands a value that cannot be copied to another thread, or back.
package final class Handover<Value: ~Copyable & Sendable>: Sendable {
  private let value: Mutex<Value?>

  package init(_ value: consuming Value) { self.value = Mutex(value) }

  /// - Throws: ``StoreError/Kind/closed`` the second time.
  package func take() throws(StoreError) -> Value {
    guard let value = value.withLock({ $0.take() }) else {
      throw StoreError(.closed, "the value was used", cure: "give it again")
    }
    return value
  }
}

extension Mutex where Value: ~Copyable {
  /// Like `withLock`, but a call from asynchronous code waits with pauses, until its end.
  package borrowing func withLock<Result: Sendable>(
    at lock: @autoclosure () -> String, _ body: (inout sending Value) throws(StoreError) -> sending Result
  ) throws(StoreError) -> Result {
    guard Waiting.isLimited else { return try withLock(body) }
    let deadline = LockDeadline.ofCall(.seconds(Int64.max))
    var pauses = LockPauses()
    while true {
      if let result = try withLockIfAvailable(body) { return result }
      guard pauses.sleep(until: deadline) else {
        if let refusal = Waiting.refusal(at: lock()) { throw refusal }
        throw StoreError(
          .busy, "another call of this process takes longer", place: lock(), cure: "try again; nothing was changed")
      }
    }
  }
}
