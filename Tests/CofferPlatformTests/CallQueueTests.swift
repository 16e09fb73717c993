import CofferPlatform
import CofferTestSupport
import Foundation
import Synchronization
import Testing

@Suite struct CallQueueTests {
  /// Opens once.
  private final class Gate: Sendable {
    private let isOpen = Atomic(false)
    func open() { isOpen.store(true, ordering: .releasing) }
    func wait() { eventually { isOpen.load(ordering: .acquiring) } }
  }

  private final class Noted: Sendable {
    private let all = Mutex<[Int]>([])
    var values: [Int] { all.withLock { $0 } }
    func add(_ value: Int) { all.withLock { $0.append(value) } }
  }

  private final class Tally: Sendable {
    private let count = Atomic(0), peak = Atomic(0)
    var value: Int { count.load(ordering: .relaxed) }
    var most: Int { peak.load(ordering: .relaxed) }
    func add(_ change: Int = 1) { peak.max(count.add(change, ordering: .relaxed).newValue, ordering: .relaxed) }
  }

  private static func kind(_ body: () async throws(StoreError) -> Void) async -> StoreError.Kind? {
    do throws(StoreError) {
      try await body()
      return nil
    } catch { return error.kind }
  }

  private static func lock(_ name: String = #function) -> String { "lock of \(name)" }

  /// Keeps the queue of `lock` busy until `gate` opens.
  private static func hold(_ lock: String, until gate: Gate) async throws -> Task<Void, any Error> {
    let begun = Gate()
    let task = Task {
      try await CallQueues.run(at: lock, within: nil) {
        begun.open()
        gate.wait()
      }
    }
    try await poll("the call runs") { CallQueues.waiting(at: lock) == 0 && CallQueues.threads > 0 }
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        begun.wait()
        continuation.resume()
      }
    }
    return task
  }

  @Test func `calls for one lock run one after the other, in the order of their arrival`() async throws {
    let lock = Self.lock(), gate = Gate(), noted = Noted()
    let first = try await Self.hold(lock, until: gate)
    var tasks: [Task<Void, any Error>] = []
    for number in 0..<20 {
      tasks.append(Task { try await CallQueues.run(at: lock, within: nil) { noted.add(number) } })
      try await poll("call \(number) waits") { CallQueues.waiting(at: lock) == number + 1 }
    }
    #expect(noted.values.isEmpty)
    gate.open()
    for task in tasks + [first] { try await task.value }
    #expect(noted.values == Array(0..<20))
  }

  @Test func `a hundred locks wait on 32 threads at most, and all get their turn`() async throws {
    let running = Tally(), done = Tally()
    try await withThrowingTaskGroup { group in
      for number in 0..<100 {
        group.addTask {
          try await CallQueues.run(at: "lock \(number) of a hundred", within: nil) {
            running.add()
            // No event: the more calls overlap, the more threads there are.
            usleep(1_000)
            running.add(-1)
            done.add()
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(done.value == 100)
    #expect((1...CallQueues.mostThreads).contains(running.most))
    #expect(CallQueues.threads <= CallQueues.mostThreads)
  }

  @Test func `a cancelled call that is queued ends at once and releases its closure`() async throws {
    final class Secret: Sendable {}
    let lock = Self.lock(), gate = Gate()
    let first = try await Self.hold(lock, until: gate)
    var secret: Secret? = Secret()
    weak let kept = secret
    let task = Task { [secret] in
      await Self.kind { () throws(StoreError) in
        try await CallQueues.run(at: lock, within: nil) { _ = secret }
      }
    }
    try await poll("the call waits") { CallQueues.waiting(at: lock) == 1 }
    secret = nil
    task.cancel()
    #expect(await task.value == .cancelled)
    try await poll("the closure is released") { kept == nil }
    gate.open()
    try await first.value
  }

  @Test func `a cancelled call that writes ends with its real outcome, and one that reads at once`() async throws {
    let lock = Self.lock(), gate = Gate(), begun = Tally()
    let writing = Task {
      try await CallQueues.run(at: lock, within: nil) {
        begun.add()
        gate.wait()
        return 7
      }
    }
    let reading = Task {
      await Self.kind { () throws(StoreError) in
        try await CallQueues.run(at: lock + " for reading", within: nil, isRead: true) {
          begun.add()
          gate.wait()
        }
      }
    }
    try await poll("both run") { begun.value == 2 }
    writing.cancel()
    reading.cancel()
    #expect(await reading.value == .cancelled)
    gate.open()
    #expect(try await writing.value == 7)
  }

  @Test func `the patience of a call counts from the call, not from its turn`() async throws {
    let lock = Self.lock(), gate = Gate()
    let first = try await Self.hold(lock, until: gate)
    let task = Task {
      try await CallQueues.run(at: lock, within: nil) { LockDeadline.ofCall(.milliseconds(1)).isOver }
    }
    try await poll("the call waits") { CallQueues.waiting(at: lock) == 1 }
    let passed = LockDeadline(after: .milliseconds(2))
    try await poll("its time passes") { passed.isOver }
    #expect(
      await Self.kind { () throws(StoreError) in try await CallQueues.run(at: lock, within: .milliseconds(1)) {} } == .busy)
    gate.open()
    #expect(try await task.value)
    try await first.value
    #expect(!LockDeadline.ofCall(.seconds(3600)).isOver)
  }

  @Test func `an attempt in place gives up at the first wait, even if its error is dropped`() throws {
    let attempt = try Waiting.attempt { () throws(StoreError) in
      do throws(StoreError) { try Waiting.refuse(at: "here") } catch {}
      try Waiting.refuseAgain()
    }
    guard case .refused("here") = attempt else { return #expect(Bool(false), "it went on") }
    try Waiting.refuse(at: "elsewhere")
  }

  @Test(.tags(.campaign), .wholeRun)
  func `a hundred thousand waiting calls, cancelled at random, need one thread and little memory`() async throws {
    let lock = Self.lock(), gate = Gate()
    let first = try await Self.hold(lock, until: gate)
    let before = try Self.residentBytes()
    let ran = Tally()
    let kinds = try await withThrowingTaskGroup(of: StoreError.Kind?.self) { group in
      for _ in 0..<100_000 {
        group.addTask {
          await Self.kind { () throws(StoreError) in
            try await CallQueues.run(at: lock, within: nil) {
              ran.add()
            }
          }
        }
      }
      try await poll("all wait") { CallQueues.waiting(at: lock) == 100_000 }
      #expect(CallQueues.threads <= CallQueues.mostThreads)
      // A task itself takes half of it.
      #expect(try Self.residentBytes() - before < 600 << 20)
      let canceller = Task {
        // No event: the moment is the campaign's choice.
        try await Task.sleep(for: .milliseconds(Int.random(in: 0...20)))
        gate.open()
      }
      if Bool.random() { group.cancelAll() }
      var kinds: [StoreError.Kind?] = []
      for try await kind in group { kinds.append(kind) }
      try await canceller.value
      return kinds
    }
    try await first.value
    #expect(kinds.count == 100_000 && kinds.allSatisfy { $0 == nil || $0 == .cancelled })
    #expect(kinds.filter { $0 == nil }.count == ran.value)
    #expect(CallQueues.waiting(at: lock) == 0)
  }

  private static func residentBytes() throws -> Int {
    let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
    return try #require(Int(pages[1])) * 4096
  }
}
