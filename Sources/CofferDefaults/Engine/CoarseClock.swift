internal import CofferPlatform

/// A monotonic clock that is some milliseconds coarse and costs a few nanoseconds to read: every `get` asks it.
enum CoarseClock {
  /// How old the answer to "did someone else change the file?" may be.
  static let lookInterval: UInt64 = 100_000_000
  /// After a write within this time of another, file systems may show both under one modification time.
  static let timestampGrain: Int64 = 50_000_000

  /// Nanoseconds since some moment.
  @inline(__always)
  static func now() -> UInt64 {
    var time = timespec()
    #if canImport(Darwin)
      clock_gettime(CLOCK_MONOTONIC_RAW_APPROX, &time)
    #else
      clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
    #endif
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }

  /// How long ago a file was changed, in nanoseconds, going by its time; nil where that lies ahead, which tells nothing. (A clock
  /// that is ahead by less than ``timestampGrain`` is this machine's, read twice.)
  static func age(of modified: Int64) -> Int64? {
    let age = wallTime().subtractingReportingOverflow(modified)
    guard !age.overflow, age.partialValue > -timestampGrain else { return nil }
    return max(age.partialValue, 0)
  }

  /// Nanoseconds since 1970, by the clock that stamps files.
  private static func wallTime() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
