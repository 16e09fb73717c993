internal import CofferDefaults
internal import CofferPlatform
internal import CofferStorage
internal import Foundation
internal import Synchronization
internal import SystemPackage

/// Processes that write, and report acknowledged writes.
enum Writers {
  /// Repeats `body` if others held the lock for too long, as on a very busy machine; then nothing was changed.
  static func patiently<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
    while true {
      do { return try body() } catch { guard error.kind == .busy else { throw error } }
    }
  }

  private static func open(_ folder: FilePath, _ domain: String) throws(StoreError) -> DefaultsStore {
    try patiently { () throws(StoreError) in try DefaultsStore.open(domain: domain, in: folder) }
  }

  /// Distinct keys `<id>.<n>`, each with its own `set`.
  static func distinct(_ folder: FilePath, _ domain: String, _ rest: [String]) throws {
    let store = try open(folder, domain)
    for number in 0..<(Int(rest[1]) ?? 0) {
      try patiently { () throws(StoreError) in try store.save(.integer(Int64(number)), for: "\(rest[0]).\(number)") }
    }
    try patiently { () throws(StoreError) in try store.synchronize() }
  }

  /// First writes and observes without a free descriptor, and reports the results.
  static func starved(_ folder: FilePath, _ domain: String) throws {
    let store = try DefaultsStore.open(domain: domain, in: folder)
    var few = rlimit(rlim_cur: 64, rlim_max: 64)
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &few)
    var held: [Int32] = []
    while case let descriptor = dup(0), descriptor >= 0 { held.append(descriptor) }
    try store.save(.string("v"), for: "k")
    do throws(StoreError) { _ = try store.changes.subscribe { _ in } } catch { print("observing: \(error.kind)") }
    // With only one, a watch is made, and no other descriptor is free.
    if let one = held.popLast() { close(one) }
    let changes = Collected()
    let subscription = try store.changes.subscribe { _ in changes.add() }
    try store.save(.string("w"), for: "k")
    while changes.count == 0 { usleep(1_000) }
    for descriptor in held { close(descriptor) }
    // Without a call: the idle fold failed the same way, and tries again.
    let list = folder.appending(domain + ".plist").string
    while !(FileManager.default.contents(atPath: list)?.contains(Data("<string>w</string>".utf8)) ?? false) { usleep(10_000) }
    print("\(try store.load("k") ?? .bool(false))")
    subscription.cancel()
  }

  private final class Collected: Sendable {
    private let number = Atomic<Int>(0)
    var count: Int { number.load(ordering: .relaxed) }
    func add() { number.add(1, ordering: .relaxed) }
  }

  static func count(_ folder: FilePath, _ domain: String, _ rest: [String]) throws {
    let store = try open(folder, domain)
    for _ in 0..<(Int(rest[0]) ?? 0) {
      try patiently { () throws(StoreError) in
        try store.update("counter") { (old) throws(StoreError) in
          guard case .integer(let value)? = old else { return .integer(1) }
          return .integer(value + 1)
        }
      }
    }
  }

  /// Sets `k` to 1, 2, 3 …, writing each acknowledged number to standard output, until killed.
  static func acknowledge(_ folder: FilePath, _ domain: String) throws {
    let store = try DefaultsStore.open(domain: domain, in: folder)
    var number: Int64 = 0
    if case .integer(let value)? = try store.load("k") { number = value }
    while true {
      number += 1
      try store.save(.integer(number), for: "k")
      // Makes frequent folds.
      if number % 50 == 0 { try store.synchronize() }
      _ = withUnsafeBytes(of: number) { unsafe Glibc.write(1, $0.baseAddress, $0.count) }
    }
  }

  static func large(_ folder: FilePath, _ domain: String) throws {
    let store = try DefaultsStore.open(domain: domain, in: folder)
    for round in 0..<400 {
      try store.save(.string(String(repeating: "\(round % 10)", count: 400_000)), for: "k")
      try store.synchronize()
    }
  }

  /// Reads everything and folds, until killed or for a given count; prints an error for a value that is no number.
  static func churn(_ folder: FilePath, _ domain: String, _ rest: [String]) throws {
    let store = try open(folder, domain)
    for round in 0..<(Int(rest[0]) ?? 0) {
      for name in try patiently({ () throws(StoreError) in try store.names() }) {
        let form = try patiently { () throws(StoreError) in try store.load(name) }
        guard case .integer? = form else { print("\(name) is no number"); continue }
      }
      if round % 10 == 0 { try patiently { () throws(StoreError) in try store.synchronize() } }
    }
  }

  static func set(_ folder: FilePath, _ domain: String, _ rest: [String]) throws {
    let store = try DefaultsStore.open(domain: domain, in: folder)
    try store.save(.string(rest[1]), for: rest[0])
  }

  static func get(_ folder: FilePath, _ domain: String, _ key: String) throws {
    let store = try DefaultsStore.open(domain: domain, in: folder)
    print(try store.load(key).map { "\($0)" } ?? "nothing")
  }

  static func hold(_ folder: FilePath, _ domain: String) throws {
    let store = try DefaultsStore.open(domain: domain, in: folder)
    try store.update("held") { (_) throws(StoreError) in
      print(getpid())
      fflush(nil)
      while true { sleep(1) }
    }
  }

  /// Takes the lock, waits for a line, writes, and reads its value again.
  static func holdThenWrite(_ folder: FilePath, _ domain: String) throws {
    let store = try DefaultsStore.open(domain: domain, in: folder)
    try store.update("held") { (_) throws(StoreError) in
      print(getpid())
      fflush(nil)
      _ = readLine()
      return .integer(1)
    }
    print("written")
    Thread.sleep(forTimeInterval: 0.12)
    try store.save(.integer(2), for: "later")
    if try store.load("held") == .integer(1) { print("read") }
    try store.close()
  }

  static func unprivileged(_ folder: FilePath, _ domain: String) throws {
    guard setgid(65534) == 0, setuid(65534) == 0 else {
      print("cannot drop privileges")
      return
    }
    let store = try DefaultsStore.open(domain: domain, in: folder)
    print("read \(try store.load("a").map { "\($0)" } ?? "nothing")")
    do { try store.save(.integer(2), for: "a") } catch { print("write \(error.kind)") }
    do { try store.synchronize() } catch { print("synchronize \(error.kind)") }
  }

  /// Writes in a forked child, with the parent's store and with its own.
  static func forked(_ folder: FilePath, _ domain: String) throws {
    let store = try DefaultsStore.open(domain: domain, in: folder)
    try store.save(.integer(1), for: "parent")
    // Swift hides fork, for good reasons, but a program's C parts may use it.
    typealias Fork = @convention(c) () -> pid_t
    guard let symbol = dlsym(nil, "fork") else { exit(3) }
    let child = unsafeBitCast(symbol, to: Fork.self)()
    if child == 0 {
      do { try store.save(.integer(2), for: "parent") } catch { print("inherited \(error.kind)") }
      let own = try DefaultsStore.open(domain: domain, in: folder)
      try own.save(.integer(3), for: "child")
      print("own written")
      fflush(nil)
      _exit(0)
    }
    var status: Int32 = 0
    waitpid(child, &status, 0)
    print("parent reads \(try store.load("child").map { "\($0)" } ?? "nothing")")
  }
}
