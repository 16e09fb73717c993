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
    try wait(fd, calls, result, place(), patience, deadline ?? LockDeadline(after: patience), holder)
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
      guard !deadline.isOver else { throw busy(place, holder(), patience) }
      pauses.sleep()
      result = calls.lock(fd, LOCK_EX | LOCK_NB)
    }
    guard result == 0 else { throw StoreError(errno: -result, "lock the file", place: place) }
  }

  /// - Parameter doing: what the holder does; by default it has held the lock for `patience`.
  package static func busy(
    _ place: FilePath, _ holder: UInt32?, _ patience: Duration = patience, doing: String? = nil
  ) -> StoreError {
    StoreError(
      .busy, "\(name(of: holder)) \(doing ?? "has held the lock for \(patience.inWords)")", place: place.string,
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

  /// Sleeps longer each time, for a random part of that.
  package mutating func sleep() {
    DetachedThread.sleep(.random(in: next / 2...next))
    next = min(next * 2, Self.longest)
  }
}

/// The end of a wait for a lock.
///
/// It is no `ContinuousClock.Instant`: that type's size is determined at run time, at a cost to every write, which passes
/// one on even without waiting.
package struct LockDeadline: Sendable {
  /// Nanoseconds since boot, suspended time included.
  private let moment: Int64

  package init(after patience: Duration) {
    let (seconds, attoseconds) = patience.components
    moment = coffer_time_since_boot() + seconds * 1_000_000_000 + attoseconds / 1_000_000_000
  }

  package var isOver: Bool { coffer_time_since_boot() >= moment }
}
