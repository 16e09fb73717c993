package import SystemPackage

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// An exclusive lock on an open file, flock(2), held until ``release(_:_:)`` or the death of the process.
///
/// It belongs to the open file, so the threads of one process must exclude each other by other means.
package enum FileLock {
  /// How long to wait: a stopped holder must not hang others for ever, and no holder of ours needs a second.
  package static let patience = Duration.seconds(5)
  /// The first pause is about the time a holder needs; the longest keeps a waiter's share among busy writers.
  private static let shortestPause = 20_000
  private static let longestPause = 2_000_000

  /// Takes the lock, waiting up to `patience` with growing, jittered pauses.
  ///
  /// - Throws: ``StoreError/Kind/busy`` naming the `holder`'s process id when the wait was in vain.
  @inline(__always)
  package static func acquire(
    _ fd: Int32, _ calls: SystemCalls, place: @autoclosure () -> FilePath, patience: Duration = patience,
    holder: () -> UInt32?
  ) throws(StoreError) {
    let result = calls.lock(fd, LOCK_EX | LOCK_NB)
    if result == 0 { return }
    try wait(fd, calls, result, place(), patience, holder)
  }

  /// Takes the lock if nobody holds it.
  package static func tryAcquire(_ fd: Int32, _ calls: SystemCalls) -> Bool { calls.lock(fd, LOCK_EX | LOCK_NB) == 0 }

  /// Lets the lock go.
  @inline(__always)
  package static func release(_ fd: Int32, _ calls: SystemCalls) { _ = calls.lock(fd, LOCK_UN) }

  private static func wait(
    _ fd: Int32, _ calls: SystemCalls, _ first: Int32, _ place: FilePath, _ patience: Duration, _ holder: () -> UInt32?
  ) throws(StoreError) {
    let deadline = ContinuousClock.now + patience
    var result = first
    var pause = shortestPause
    while result == -EWOULDBLOCK {
      guard ContinuousClock.now < deadline else { throw busy(place, patience, holder()) }
      var time = timespec(tv_sec: 0, tv_nsec: Int.random(in: pause / 2...pause))
      nanosleep(&time, nil)
      pause = min(pause * 2, longestPause)
      result = calls.lock(fd, LOCK_EX | LOCK_NB)
    }
    guard result == 0 else { throw StoreError(errno: -result, "lock the file", place: place) }
  }

  private static func busy(_ place: FilePath, _ patience: Duration, _ holder: UInt32?) -> StoreError {
    let who = holder.map { "process \($0)" } ?? "another process"
    return StoreError(
      .busy, "\(who) has held the lock for \(patience.components.seconds) s", place: place.string,
      cure: "let that process go on or end it, then try again; nothing was changed")
  }
}
