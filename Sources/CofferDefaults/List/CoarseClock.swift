internal import CofferPlatform
internal import Synchronization

/// Accurate to some milliseconds, read in a few nanoseconds: every `get` reads it.
enum CoarseClock {
  /// The greatest age, in nanoseconds, of an answer to "did someone else change the file?".
  static let lookInterval: UInt64 = 100_000_000
  /// Two writes within this time, in nanoseconds, may get the same modification time.
  static let timestampGrain: Int64 = 50_000_000

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

  /// Nil for a time in the future, which tells nothing. (A clock ahead by less than ``timestampGrain`` is this machine's,
  /// read twice.)
  static func age(of modified: Int64) -> Int64? {
    let age = wallTime() &- modified
    return age > -timestampGrain ? max(age, 0) : nil
  }

  /// From the year 2262 the nanoseconds wrap around, as ``FileStatus/modified`` does.
  private static func wallTime() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}

/// This process's id without a system call: every write checks it, to detect a forked child.
///
/// The kernel gives a forked child the id's page as zeros (madvise(2), `MADV_WIPEONFORK`, Linux 4.14). Without such a page
/// each read asks the system.
enum ProcessMark {
  private static let page: UInt? = makePage()

  @inline(__always)
  static var current: pid_t {
    guard let page, let word = UnsafeMutablePointer<Atomic<pid_t>>(bitPattern: page) else { return getpid() }
    let known = word.pointee.load(ordering: .relaxed)
    return known != 0 ? known : mark(word)
  }

  private static func mark(_ word: UnsafeMutablePointer<Atomic<pid_t>>) -> pid_t {
    let process = getpid()
    word.pointee.store(process, ordering: .relaxed)
    return process
  }

  private static func makePage() -> UInt? {
    let bytes = Int(sysconf(Int32(_SC_PAGESIZE)))
    let address = mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let address, address != MAP_FAILED else { return nil }
    guard coffer_wipe_on_fork(address, bytes) == 0 else {
      munmap(address, bytes)
      return nil
    }
    return UInt(bitPattern: address)
  }
}
