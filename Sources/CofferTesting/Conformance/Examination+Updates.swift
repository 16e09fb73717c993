internal import CofferPlatform
internal import CofferStorage
internal import Dispatch
internal import Synchronization

extension Examination {
  func updates() throws {
    let (one, two) = (try samples.number(1), try samples.number(2))
    var seen: [R.Form?] = []
    for new in [one, two, nil, nil, one] {
      try store.update("a") { (old) throws(StoreError) in
        seen.append(old)
        return new
      }
      try expectValue(new, of: "a", "after an update")
    }
    let expected = [nil, one, two, nil, nil]
    try expect(seen.count == 5, "a closure ran again without need")
    for (found, form) in zip(seen, expected) {
      try expect(isSame(found, form), "an update sees something else than what is stored")
    }
  }

  func failingUpdates() throws {
    let one = try samples.number(1)
    try store.save(one, for: "a")
    let refusal = StoreError(.refused, "the closure's own", cure: "none")
    let error = try expect(.refused, "an update whose closure throws") {
      try store.update("a") { (_) throws(StoreError) in throw refusal }
    }
    try expect(error.what == refusal.what, "the closure's error comes out as another")
    try expectValue(one, of: "a", "after an update that threw")
    try expect(.invalidName, "an update of a bad name") { try store.update("x\ny") { (_) throws(StoreError) in one } }
    try store.update("a") { (form) throws(StoreError) in form }
    try expectValue(one, of: "a", "after an update that kept the value")
  }

  func reentrancy() throws {
    let one = try samples.number(1)
    let calls: [(String, () throws(StoreError) -> Void)] = [
      ("load", { () throws(StoreError) in _ = try store.load("a") }),
      ("load of several", { () throws(StoreError) in _ = try store.load(["a"]) }),
      ("contains", { () throws(StoreError) in _ = try subject.contains("a") }),
      ("names", { () throws(StoreError) in _ = try store.names() }),
      ("save", { () throws(StoreError) in try store.save(one, for: "a") }),
      ("update", { () throws(StoreError) in try store.update("a") { (_) throws(StoreError) in one } }),
      ("commit", { () throws(StoreError) in try store.commit(Batch<R>(), decision: nil) }),
    ]
    for (name, call) in calls {
      try expect(.reentrant, "\(name) inside an update") {
        try store.update("b") { (old) throws(StoreError) in
          try call()
          return old
        }
      }
    }
    try store.save(one, for: "a")
    try expectValue(one, of: "a", "after calls inside updates were refused")
  }

  func concurrency() async throws {
    let threads = 4
    let rounds = 25
    try store.save(try samples.number(0), for: "count")
    let problem = Problem()
    let start = StartingLine(threads)
    await withTaskGroup(of: Void.self) { group in
      for thread in 0..<threads {
        group.addTask {
          await onThread {
            start.wait()
            do {
              for round in 0..<rounds {
                try store.save(try samples.number(round), for: "own \(thread)")
                try store.update("count") { (old) throws(StoreError) in
                  let number = old.flatMap(samples.read) ?? -1000
                  do { return try samples.number(number + 1) } catch {
                    throw StoreError(.refused, "no sample", cure: "none", underlying: error)
                  }
                }
                _ = try store.load(["count", "own \(thread)"])
                _ = try store.names()
              }
            } catch { problem.note(error) }
          }
        }
      }
    }
    if let error = problem.error { throw error }
    let count = try store.load("count").flatMap(samples.read)
    try expect(count == threads * rounds, "\(threads * rounds) updates by \(threads) threads count \(count ?? -1)")
    for thread in 0..<threads {
      try expectValue(try samples.number(rounds - 1), of: "own \(thread)", "after a thread's last write")
    }
  }

  /// Threads wait here for the last one: runs in sequence would prove nothing.
  private final class StartingLine: Sendable {
    private let missing: Atomic<Int>
    private let gate = DispatchSemaphore(value: 0)

    init(_ count: Int) { missing = Atomic(count) }

    func wait() {
      if missing.subtract(1, ordering: .relaxed).newValue > 0 { gate.wait() }
      gate.signal()
    }
  }

  private final class Problem: Sendable {
    private let noted = Mutex<(any Error)?>(nil)
    var error: (any Error)? { noted.withLock { $0 } }
    func note(_ error: any Error) { noted.withLock { $0 = error } }
  }

  /// Not on a task's thread, which a store's call may block.
  private func onThread(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
      DispatchQueue(label: "coffer.conformance").async {
        body()
        continuation.resume()
      }
    }
  }
}
