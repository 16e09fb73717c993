import CofferTestSupport
import Foundation
import Synchronization
import Testing

@testable import CofferDefaults

@Suite struct BiasedLockTests {
  /// Two numbers on different cache lines, which only a reader parallel to a writer can find unequal.
  private struct Pair: ~Copyable {
    let memory = UnsafeMutablePointer<UInt64>.allocate(capacity: 64)
    init() { memory.initialize(repeating: 0, count: 64) }
    deinit { memory.deallocate() }
    func add() {
      memory[0] += 1
      memory[63] += 1
    }
    var isEqual: Bool { memory[0] == memory[63] }
  }

  private final class Shared: Sendable {
    let lock = BiasedLock(Pair())
    let torn = Atomic(0)
    let beside = Atomic(0)
    let written = Atomic(0)

    func read() {
      let isEqual = lock.withoutLock { (pair) -> Bool? in pair.isEqual }
      if isEqual != nil { beside.add(1, ordering: .relaxed) }
      if !(isEqual ?? lock.withReadLock { $0.isEqual }) { torn.add(1, ordering: .relaxed) }
    }

    func write() {
      lock.withLock { $0.add() }
      written.add(1, ordering: .relaxed)
    }
  }

  @Test(arguments: [10, 200, 5000])
  func `no reader sees half a change, and no change is lost`(readsPerWrite: Int) {
    let shared = Shared()
    // More threads than slots, so that some share one.
    let threads = (0..<20).map { number in
      let done = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        for round in 1...5000 {
          shared.read()
          if (round + number).isMultiple(of: readsPerWrite) { shared.write() }
        }
        done.signal()
      }
      return done
    }
    for thread in threads { thread.wait() }
    #expect(shared.torn.load(ordering: .relaxed) == 0)
    let count = shared.lock.withLock { $0.isEqual ? $0.memory[0] : 0 }
    #expect(count == UInt64(shared.written.load(ordering: .relaxed)))
    if readsPerWrite > 100 { #expect(shared.beside.load(ordering: .relaxed) > 0) }
  }

  @Test
  func `the bias comes with reads, goes with a write, and a reader that throws leaves`() {
    struct Failure: Error {}
    let lock = BiasedLock(1)
    #expect(lock.withoutLock { $0 } == nil)
    for _ in 0..<64 { _ = lock.withReadLock { $0 } }
    #expect(lock.withoutLock { $0 } == 1)
    #expect(throws: Failure.self) { try lock.withoutLock { (_) throws(Failure) -> Int? in throw Failure() } }
    lock.withLock { $0 = 2 }
    #expect(lock.withoutLock { $0 } == nil)
    #expect(lock.withReadLock { $0 } == 2)
  }
}
