internal import CofferDefaults
internal import CofferPlatform
internal import CofferStorage
internal import Foundation
internal import Synchronization
internal import SystemPackage

enum Observed {
  private static func open(
    _ folder: FilePath, _ domain: String, _ calls: SystemCalls = SystemCalls()
  ) throws -> DefaultsStore {
    var options = EngineOptions()
    options.calls = calls
    options.foldsWhenIdle = false
    return try DefaultsStore.open(domain: domain, in: folder, options: options)
  }

  /// Sets `n` to the monotonic time in nanoseconds for each input line, never folds, and stays until the input ends.
  static func pace(_ folder: FilePath, _ domain: String) throws {
    let store = try open(folder, domain)
    while readLine() != nil {
      var time = timespec()
      clock_gettime(CLOCK_MONOTONIC, &time)
      try store.save(.integer(Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)), for: "n")
    }
  }

  /// Opens the domain, waits for an input line, sets a value and dies before it notifies observers.
  static func dieBeforeBell(_ folder: FilePath, _ domain: String) throws {
    var calls = SystemCalls()
    let isOpen = Atomic<Bool>(false)
    calls.write = { fd, bytes, offset in
      if bytes.count == 1, isOpen.load(ordering: .relaxed) { kill(getpid(), SIGKILL) }
      return pwrite(fd, bytes.baseAddress, bytes.count, off_t(offset))
    }
    let store = try open(folder, domain, calls)
    print("open")
    fflush(nil)
    _ = readLine()
    isOpen.store(true, ordering: .relaxed)
    try store.save(.string("left"), for: "k")
    print("survived")
  }

  static func forked(_ folder: FilePath, _ domain: String) throws {
    let store = try open(folder, domain)
    let heard = DispatchSemaphore(value: 0)
    let subscription = try store.changes.subscribe { event in
      if case .changes(let changes) = event, changes.contains(where: { ["before", "child"].contains($0.name) }) {
        heard.signal()
      }
    }
    try store.save(.integer(1), for: "before")
    heard.wait()
    try waitForIdleThreads()
    typealias Fork = @convention(c) () -> pid_t
    guard let symbol = dlsym(nil, "fork") else { exit(3) }
    let child = unsafeBitCast(symbol, to: Fork.self)()
    if child == 0 {
      alarm(120)
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
    print(heard.wait(timeout: .now() + 120) == .success ? "parent heard" : "parent deaf")
    subscription.cancel()
  }

  /// A runtime lock that another thread holds during a fork stays held in the child. This waits until no other thread is
  /// active, by proc(5), in five consecutive checks.
  private static func waitForIdleThreads() throws {
    let own = "\(getpid())"
    var looks = 0
    while looks < 5 {
      usleep(10_000)
      let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").filter { $0 != own }
      let isIdle = threads.allSatisfy { thread in
        // A thread may end between the two reads.
        let line = FileManager.default.contents(atPath: "/proc/self/task/\(thread)/stat").map {
          String(decoding: $0, as: UTF8.self)
        }
        return line?.split(separator: ") ").last?.first != "R"
      }
      looks = isIdle ? looks + 1 : 0
    }
  }

  /// Prints the delay of each notification after `n` of ``pace(_:_:_:)``, in microseconds, after `count` of them.
  static func latency(_ folder: FilePath, _ domain: String, _ rest: [String]) throws {
    let store = try open(folder, domain)
    let count = Int(rest[0]) ?? 0
    let told = DispatchSemaphore(value: 0)
    nonisolated(unsafe) var delays: [Int64] = []
    let subscription = try store.changes.subscribe { _ in
      var time = timespec()
      clock_gettime(CLOCK_MONOTONIC, &time)
      guard case .integer(let begin)?? = try? store.load("n") else { return }
      delays.append((Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec) - begin) / 1000)
      if delays.count == count { told.signal() }
    }
    told.wait()
    subscription.cancel()
    delays.sort()
    print(
      "told after µs: least \(delays[0]), median \(delays[count / 2]), 95 % \(delays[count * 95 / 100]), most \(delays[count - 1])"
    )
  }

  static func cost(_ folder: FilePath, _ domain: String) throws {
    let store = try open(folder, domain)
    func microseconds(_ count: Int = 200_000) throws -> Double {
      let begin = ContinuousClock.now
      for number in 0..<count { try store.save(.integer(Int64(number)), for: "k") }
      return (ContinuousClock.now - begin) / .microseconds(count)
    }
    _ = try microseconds()
    print("set, unwatched \(try microseconds()) µs")
    let subscription = try store.changes.subscribe { _ in }
    print("set, watched by this process \(try microseconds()) µs")
    subscription.cancel()
    print("set, unwatched again \(try microseconds()) µs")
    print("waiting for another watcher")
    fflush(nil)
    sleep(2)
    print("set, watched by another process \(try microseconds()) µs")
  }

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
