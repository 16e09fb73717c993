import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Synchronization
import SystemPackage
import Testing

@testable import CofferDefaults

/// What becomes of acknowledged values and of open transactions where a journal is taken away and something else fails.
@Suite
struct CarriedBatchTests {
  private func takeJournalAway(_ folder: TemporaryFolder) {
    #expect(rename(folder.file(".d.plist.coffer").string, folder.file("moved").string) == 0)
    waitForTheNextLook()
  }

  private func waitForTheNextLook() {
    let due = CoarseClock.now() + CoarseClock.lookInterval
    #expect(eventually { CoarseClock.now() > due })
  }

  /// A store that has committed whatever it is asked for, until it is told to forget it.
  private final class Decisions: Sendable {
    private let isForgotten = Mutex(false)
    var lookup: DecisionLookup {
      DecisionLookup(
        outcome: { (_, _) throws(StoreError) in self.outcome },
        settle: { (_, _) throws(StoreError) in self.outcome },
        forget: { (_, _) throws(StoreError) in self.isForgotten.withLock { $0 = true } })
    }
    private var outcome: TransactionOutcome { isForgotten.withLock { $0 } ? .dropped : .committed }
  }

  @Test func `a transaction is not settled in a journal that was given up, but in the one that it was carried over to`() throws {
    let folder = try TemporaryFolder()
    let decisions = Decisions()
    let writer = try folder.open(isShared: false)
    try writer.save(.string("before"), for: "a")
    let frozen = try folder.open(decisions: decisions.lookup, isShared: false)
    try writer.leavePending(.string("after"), for: "a")
    #expect(try frozen.load("other") == nil)
    // Stopped before it looks at its files again.
    frozen.engine.state.withLock { $0.nextLook = .max }
    takeJournalAway(folder)
    #expect(try writer.load("other") == nil, "which carries over")
    #expect(folder.exists(".d.plist.coffer"))
    _ = try frozen.load("a")
    #expect(try frozen.load("a") == .string("after"))
    #expect(try folder.open(decisions: decisions.lookup, isShared: false).load("a") == .string("after"))
    #expect(try writer.load("a") == .string("after"))
  }

  @Test func `what others wrote into a journal that was taken away is not missed where the list cannot be read just now`() throws
  {
    let folder = try TemporaryFolder()
    let failures = Atomic<Int>(0)
    var calls = SystemCalls()
    let open = calls.open
    let list = folder.file("d.plist").string
    calls.open = { path, flags, mode in
      guard path == list, failures.load(ordering: .relaxed) > 0 else { return open(path, flags, mode) }
      failures.subtract(1, ordering: .relaxed)
      return -EMFILE
    }
    let idle = try folder.open(isShared: false, calls: calls)
    do {
      let writer = try folder.open(isShared: false)
      try writer.save(.integer(1), for: "a")
      try writer.synchronize()
      try writer.save(.integer(2), for: "b")
    }
    takeJournalAway(folder)
    failures.store(1, ordering: .relaxed)
    #expect(kind { _ = try idle.load("b") } == .io(EMFILE))
    waitForTheNextLook()
    #expect(try idle.load("b") == .integer(2))
    #expect(try folder.open(isShared: false).contents() == ["a": .integer(1), "b": .integer(2)])
  }
}
