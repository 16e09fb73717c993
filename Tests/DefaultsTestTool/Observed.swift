internal import CofferDefaults
internal import CofferStorage
internal import Foundation
internal import SystemPackage

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// Processes that others observe, or that observe others.
enum Observed {
  private static func open(
    _ folder: FilePath, _ domain: String, _ calls: SystemCalls = SystemCalls()
  ) throws -> DefaultsStore {
    var options = EngineOptions()
    options.calls = calls
    options.foldsWhenIdle = false
    return try DefaultsStore.open(domain: domain, in: folder, options: options)
  }

  /// Sets `n` to the monotonic time in nanoseconds, as often and with such pauses (milliseconds) as said, never folds, and stays.
  static func pace(_ folder: FilePath, _ domain: String, _ rest: [String]) throws {
    let store = try open(folder, domain)
    for _ in 0..<(Int(rest[0]) ?? 0) {
      usleep((UInt32(rest[1]) ?? 0) * 1000)
      var time = timespec()
      clock_gettime(CLOCK_MONOTONIC, &time)
      try store.save(.integer(Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)), for: "n")
    }
    print("done")
    fflush(nil)
    while true { sleep(1) }
  }

  /// Sets a value and dies where it would tell those who watch.
  static func dieBeforeBell(_ folder: FilePath, _ domain: String) throws {
    var calls = SystemCalls()
    calls.write = { fd, bytes, offset in
      if bytes.count == 1 { kill(getpid(), SIGKILL) }
      return pwrite(fd, bytes.baseAddress, bytes.count, off_t(offset))
    }
    let store = try open(folder, domain, calls)
    try store.save(.string("left"), for: "k")
    print("survived")
  }

  /// Observes, forks, and lets the child try to observe and set.
  static func forked(_ folder: FilePath, _ domain: String) throws {
    let store = try open(folder, domain)
    let heard = DispatchSemaphore(value: 0)
    let subscription = try store.changes.subscribe { event in
      if case .changes(let changes) = event, changes.contains(where: { $0.name == "child" }) { heard.signal() }
    }
    typealias Fork = @convention(c) () -> pid_t
    guard let symbol = dlsym(nil, "fork") else { exit(3) }
    let child = unsafeBitCast(symbol, to: Fork.self)()
    if child == 0 {
      let own = try open(folder, domain)
      do {
        _ = try own.changes.subscribe { _ in }
        print("child observes")
      } catch { print("child \(error.kind)") }
      subscription.cancel()
      try own.save(.integer(3), for: "child")
      fflush(nil)
      _exit(0)
    }
    var status: Int32 = 0
    waitpid(child, &status, 0)
    print(heard.wait(timeout: .now() + 2) == .success ? "parent heard" : "parent deaf")
    subscription.cancel()
  }

  /// Prints what is told of the domain, until killed.
  static func observe(_ folder: FilePath, _ domain: String) throws {
    let store = try open(folder, domain)
    let subscription = try store.changes.subscribe { event in
      print(event)
      fflush(nil)
    }
    print("ready")
    fflush(nil)
    while true { sleep(1) }
    withExtendedLifetime(subscription) {}
  }
}
