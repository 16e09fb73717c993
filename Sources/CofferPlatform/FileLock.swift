package import SystemPackage

/// An exclusive lock on an open file, flock(2), held until ``release(_:_:)`` or the death of the process.
///
/// Threads of one process must exclude each other by other means.
package enum FileLock {
  /// A stopped holder must not hang others for ever, and no holder of ours needs a second.
  package static let patience = Duration.seconds(5)

  /// Takes the lock, waiting with growing, jittered pauses until `deadline`, by default for `patience`.
  ///
  /// - Throws: ``StoreError/Kind/busy`` with the `holder`'s process id after the deadline.
  @inline(__always)
  package static func acquire(
    _ fd: Int32, _ calls: SystemCalls, place: @autoclosure () -> FilePath, patience: Duration = patience,
    until deadline: LockDeadline? = nil, holder: () -> UInt32?
  ) throws(StoreError) {
    let result = calls.lock(fd, LOCK_EX | LOCK_NB)
    if result == 0 { return }
    try wait(fd, calls, result, place(), patience, deadline ?? .ofCall(patience), holder)
  }

  package static func tryAcquire(_ fd: Int32, _ calls: SystemCalls) -> Bool { calls.lock(fd, LOCK_EX | LOCK_NB) == 0 }

  @inline(__always)
  package static func release(_ fd: Int32, _ calls: SystemCalls) { _ = calls.lock(fd, LOCK_UN) }

  private static func wait(
    _ fd: Int32, _ calls: SystemCalls, _ first: Int32, _ place: FilePath, _ patience: Duration,
    _ deadline: LockDeadline, _ holder: () -> UInt32?
  ) throws(StoreError) {
    let timing = Measure.begin(.lockWait)
    defer { timing?.end() }
    var result = first
    var pauses = LockPauses()
    while result == -EWOULDBLOCK {
      guard pauses.sleep(until: deadline) else { throw busy(place, holder(), patience) }
      result = calls.lock(fd, LOCK_EX | LOCK_NB)
    }
    guard result == 0 else { throw StoreError(errno: -result, "lock the file", place: place) }
  }

  /// - Parameter doing: the holder's activity; by default it has held the lock for `patience`.
  package static func busy(
    _ place: FilePath, _ holder: @autoclosure () -> UInt32?, _ patience: Duration = patience, doing: String? = nil
  ) -> StoreError {
    if let refusal = Waiting.refusal(at: place.string) { return refusal }
    let patience = CallWait.current?.limit.map { .nanoseconds($0) } ?? patience
    return StoreError(
      .busy, "\(name(of: holder())) \(doing ?? "has held the lock for \(patience.inWords)")", place: place.string,
      cure: "let it go on or end it, then try again; nothing was changed")
  }

  private static func name(of holder: UInt32?) -> String {
    guard let holder else { return "another process" }
    if holder == UInt32(bitPattern: getpid()) { return "another thread of this process" }
    // A process chooses its name itself.
    let name = KernelFile.text("/proc/\(holder)/comm")?.filter {
      $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0))
    }
    return name.map { "\($0) (process \(holder))" } ?? "process \(holder)"
  }
}

package struct LockPauses {
  /// The first is a holder's usual time; the longest keeps a waiter's share among busy writers.
  private static let shortest: UInt64 = 20_000
  private static let longest: UInt64 = 2_000_000
  private var next = shortest

  package init() {}

  /// Sleeps for a random time with a growing limit. False at the end of the wait.
  package mutating func sleep(until deadline: LockDeadline) -> Bool {
    guard !deadline.isOver, !deadline.endsWithCall || !Waiting.isOver else { return false }
    DetachedThread.sleep(.random(in: next / 2...next))
    next = min(next * 2, Self.longest)
    return true
  }
}

/// The end of a wait for a lock.
///
/// It is no `ContinuousClock.Instant`: that type's size is determined at run time, at a cost to every write, which passes
/// one on even without waiting.
package struct LockDeadline: Sendable {
  /// Nanoseconds since boot, suspended time included. The lowest bit says whether the wait ends with its call.
  private let moment: Int64

  /// `patience` from now on, for a wait that cannot be cancelled because it is short or follows a change.
  package init(after patience: Duration) { moment = (coffer_time_since_boot() &+ patience.nanoseconds) & ~1 }

  private init(ofCallAt moment: Int64) { self.moment = moment | 1 }

  /// `patience` from now on; on a thread of ``CallQueues``, `patience` or the call's own limit from the call on. An attempt in
  /// place does not wait.
  package static func ofCall(_ patience: Duration) -> LockDeadline {
    guard let wait = CallWait.current else { return LockDeadline(ofCallAt: coffer_time_since_boot() &+ patience.nanoseconds) }
    return LockDeadline(ofCallAt: wait.began &+ (wait.limit ?? patience.nanoseconds))
  }

  /// `patience` from now on, but not past the call's limit: the lock's holder has made a step.
  package static func ofStep(_ patience: Duration) -> LockDeadline {
    let next = coffer_time_since_boot() &+ patience.nanoseconds
    guard let wait = CallWait.current, let limit = wait.limit else { return LockDeadline(ofCallAt: next) }
    return LockDeadline(ofCallAt: min(next, wait.began &+ limit))
  }

  package var isOver: Bool { coffer_time_since_boot() >= moment }
  var endsWithCall: Bool { moment & 1 != 0 }
}

extension Duration {
  /// At most about thirty years, so that it can be added to a time since boot.
  var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    return min(max(seconds, 0), 1 << 30) * 1_000_000_000 + max(attoseconds, 0) / 1_000_000_000
  }
}
