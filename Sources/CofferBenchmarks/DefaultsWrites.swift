internal import Coffer
internal import CofferDefaults
internal import CofferStorage
internal import Foundation
internal import Synchronization
internal import SystemPackage

/// Writes, and their reads by others, against the necessary system calls.
enum DefaultsWrites {
  static func sets(in folder: FilePath, _ count: Int) throws {
    let names = DefaultsBenchmark.names(count)
    let store = try DefaultsBenchmark.domain("writes.\(count)", in: folder, names) { .integer(Int64($0)) }
    let bool = try TypedDomain(
      DefaultsBenchmark.domain("writes.bool.\(count)", in: folder, names) { .bool($0 % 2 == 0) }, names, default: false)
    let int = try TypedDomain(store, names, default: 0)
    let text = try TypedDomain(
      DefaultsBenchmark.domain("writes.string.\(count)", in: folder, names) { .string("\($0)") }, names, default: "")
    let peer = FlockPeer(folder.appending("flock.\(count)").string)
    let texts = ["x", "y", "z"].map { String(repeating: $0, count: 64) }
    // A key recurs after this many sets, and must have another value then: an equal one is not written.
    let turn = min(count, 4_000)
    var number = 0
    func next() -> Int {
      number += 1
      return number
    }
    try Measure.table(
      "set among \(count)",
      rounds: 25,
      [
        Contender(name: "store, Int", count: 4_000, goals: [.times(1)]) {
          try store.save(.integer(Int64(next())), for: names[$0 % count])
        },
        Contender(name: "router, Bool", count: 4_000, goals: [.times(1)]) { step in
          try bool.router.set((next() / turn) % 2 == 0, for: bool.keys[step % count])
        },
        Contender(name: "router, Int", count: 4_000, goals: [.times(1)]) {
          try int.router.set(next(), for: int.keys[$0 % count])
        },
        Contender(name: "flock + write of 40 bytes + unlock", count: 4_000) { _ in try peer.append(40) },
      ])
    try Measure.table(
      "set of 64 bytes among \(count)",
      rounds: 25,
      [
        Contender(name: "router, String", count: 4_000, goals: [.times(1.1)]) {
          try text.router.set(texts[(next() / turn) % 3], for: text.keys[$0 % count])
        },
        Contender(name: "flock + write of 104 bytes + unlock", count: 4_000) { _ in try peer.append(104) },
      ])
    let theirs = try FoundationPeer("foundation.writes.\(count)", names)
    let sqlite = try SQLitePeer(path: folder.appending("peer.\(count).sqlite").string, valueBytes: 8, synchronous: "NORMAL")
    try Measure.table(
      "set among \(count), against stores",
      rounds: 5,
      [
        Contender(name: "router, Int", count: 1_000, goals: [.times(0.01)]) {
          try int.router.set(next(), for: int.keys[$0 % count])
        },
        Contender(name: "raw SQLite, WAL, NORMAL", count: 200) { try sqlite.set($0 % count) },
        Contender(name: "Foundation set + synchronize", count: max(2, 200 / count)) { theirs.set(next(), names[$0 % count]) },
      ])
  }

  /// A write, and its read through an engine that shares nothing with the writer's.
  static func seenByAnother(in folder: FilePath) throws {
    let names = DefaultsBenchmark.names(1_000)
    let writer = try DefaultsBenchmark.domain("seen", in: folder, names) { .integer(Int64($0)) }
    let reader = try DefaultsBenchmark.separate("seen", in: folder)
    var number: Int64 = 0
    try Measure.table(
      "seen by another process",
      rounds: 15,
      [
        Contender(name: "set, then get by another engine", count: 4_000, goals: [.microseconds(5)]) { step in
          number += 1
          try writer.save(.integer(number), for: names[step % 1_000])
          guard try reader.load(names[step % 1_000]) == .integer(number) else { throw SQLitePeer.PeerFailed() }
        },
        Contender(name: "set, then get by the same", count: 4_000) { step in
          number += 1
          try writer.save(.integer(number), for: names[step % 1_000])
          use(try writer.load(names[step % 1_000]))
        },
      ])
  }

  /// A reopened domain, against Foundation's own parser on the same bytes.
  static func opening(in folder: FilePath) throws {
    for (kind, count, goals, value) in [
      ("numbers", 10_000, [.times(1.2)], { .integer(Int64($0)) }),
      ("strings", 10_000, [.times(1.2)], { .string("value \($0)") }),
      ("numbers", 100_000, [.times(1.2), .microseconds(1_000_000)], { .integer(Int64($0)) }),
    ] as [(String, Int, [Goal], (Int) -> PlainForm)] {
      let domain = "open.\(kind).\(count)"
      let store = try DefaultsBenchmark.domain(domain, in: folder, DefaultsBenchmark.names(count), value)
      try store.close()
      try Measure.table(
        "open \(count) \(kind)",
        rounds: count > 10_000 ? 5 : 15,
        [
          Contender(name: "store", count: 1, goals: goals) { _ in use(try DefaultsBenchmark.separate(domain, in: folder)) },
          Contender(name: "PropertyListSerialization", count: 1) { _ in
            let data = try Data(contentsOf: URL(filePath: store.place))
            use(try PropertyListSerialization.propertyList(from: data, options: [], format: nil))
          },
        ])
    }
  }

  /// A set and its fold, and how long the fold keeps other writers waiting.
  static func folds(in folder: FilePath) throws {
    let names = DefaultsBenchmark.names(10_000)
    let store = try DefaultsBenchmark.domain("folds", in: folder, names) { .integer(Int64($0)) }
    try store.close()
    let held = Mutex((since: [Int32: Double](), longest: [0.0]))
    var options = EngineOptions()
    (options.isShared, options.foldsWhenIdle) = (false, false)
    let real = options.calls
    options.calls.lock = { descriptor, operation in
      let now = Clock.wall.now
      let result = real.lock(descriptor, operation)
      held.withLock { held in
        if operation != LOCK_UN {
          if result == 0 { held.since[descriptor] = Clock.wall.now }
        } else if let since = held.since.removeValue(forKey: descriptor), !Self.isFoldLock(descriptor) {
          held.longest[held.longest.count - 1] = max(held.longest[held.longest.count - 1], now - since)
        }
      }
      return result
    }
    let writer = try DefaultsStore.open(domain: "folds", in: folder, options: options)
    let file = folder.appending("folds.peer").string
    var number: Int64 = 0
    try Measure.table(
      "fold of 10 000 keys",
      rounds: 15, clock: .wall,
      [
        Contender(name: "set + synchronize", count: 1) { _ in
          held.withLock { $0.longest.append(0) }
          number += 1
          try writer.save(.integer(-number), for: names[0])
          try writer.synchronize()
        },
        Contender(name: "write + fsync of the list, twice", count: 1) { _ in
          let data = try Data(contentsOf: URL(filePath: writer.place))
          for suffix in [".1", ".2"] {
            let descriptor = unsafe open(file + suffix, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
            guard descriptor >= 0 else { throw SQLitePeer.PeerFailed() }
            _ = data.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard fdatasync(descriptor) == 0 else { throw SQLitePeer.PeerFailed() }
            close(descriptor)
          }
        },
      ])
    let longest = Measure.median(held.withLock { $0.longest })
    print(Measure.padded("  held by it, for other writers"), Measure.number(longest), "µs, goal 5000")
  }

  private static func isFoldLock(_ descriptor: Int32) -> Bool {
    do {
      return try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)").hasSuffix("-fold")
    } catch {
      return false
    }
  }
}
