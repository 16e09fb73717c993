package import SystemPackage

/// An exclusive lock on an open file, flock(2), held until ``release(_:_:)`` or the death of the process.
///
/// It belongs to the open file, so the threads of one process must exclude each other by other means.
package enum FileLock {
  /// How long to wait: a stopped holder must not hang others for ever, and no holder of ours needs a second.
  package static let patience = Duration.seconds(5)

  /// Takes the lock, waiting with growing, jittered pauses until `deadline`: by default `patience` from now on.
  ///
  /// - Throws: ``StoreError/Kind/busy`` naming the `holder`'s process id when the wait was in vain.
  @inline(__always)
  package static func acquire(
    _ fd: Int32, _ calls: SystemCalls, place: @autoclosure () -> FilePath, patience: Duration = patience,
    until deadline: LockDeadline? = nil, holder: () -> UInt32?
  ) throws(StoreError) {
    let result = calls.lock(fd, LOCK_EX | LOCK_NB)
    if result == 0 { return }
    try wait(fd, calls, result, place(), patience, deadline ?? LockDeadline(after: patience), holder)
  }

  /// Takes the lock if nobody holds it.
  package static func tryAcquire(_ fd: Int32, _ calls: SystemCalls) -> Bool { calls.lock(fd, LOCK_EX | LOCK_NB) == 0 }

  /// Lets the lock go.
  @inline(__always)
  package static func release(_ fd: Int32, _ calls: SystemCalls) { _ = calls.lock(fd, LOCK_UN) }

  private static func wait(
    _ fd: Int32, _ calls: SystemCalls, _ first: Int32, _ place: FilePath, _ patience: Duration,
    _ deadline: LockDeadline, _ holder: () -> UInt32?
  ) throws(StoreError) {
    var result = first
    var pauses = LockPauses()
    while result == -EWOULDBLOCK {
      guard !deadline.isOver else { throw busy(place, holder(), patience) }
      pauses.sleep()
      result = calls.lock(fd, LOCK_EX | LOCK_NB)
    }
    guard result == 0 else { throw StoreError(errno: -result, "lock the file", place: place) }
  }

  /// The error of a wait in vain for what process `holder` has.
  package static func busy(_ place: FilePath, _ holder: UInt32?, _ patience: Duration = patience) -> StoreError {
    let who = holder.map { "process \($0)" } ?? "another process"
    return StoreError(
      .busy, "\(who) has held the lock for \(patience.inWords)", place: place.string,
      cure: "let that process go on or end it, then try again; nothing was changed")
  }
}

/// The pauses while waiting for a lock.
package struct LockPauses {
  /// The first is about the time a holder needs; the longest keeps a waiter's share among busy writers.
  private static let shortest: UInt64 = 20_000
  private static let longest: UInt64 = 2_000_000
  private var next = shortest

  package init() {}

  /// Sleeps for longer each time, and never as long as another waiter.
  package mutating func sleep() {
    DetachedThread.sleep(.random(in: next / 2...next))
    next = min(next * 2, Self.longest)
  }
}

/// The moment at which a wait for a lock ends.
///
/// It is a number of its own and no `ContinuousClock.Instant`: the size of that one is found out at run time, and every write,
/// which hands one down without waiting, would pay for it.
package struct LockDeadline: Sendable {
  /// Nanoseconds since the machine was started, with the time it was suspended.
  private let moment: Int64

  /// The moment that is `patience` from now on.
  package init(after patience: Duration) {
    let (seconds, attoseconds) = patience.components
    moment = coffer_time_since_boot() + seconds * 1_000_000_000 + attoseconds / 1_000_000_000
  }

  /// Whether it has come.
  package var isOver: Bool { coffer_time_since_boot() >= moment }
}
