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
    #expect(untilTheNextLookIsDue())
  }

  /// A store that has committed whatever it is asked for, until it is told to forget it.
  private final class Decisions: Sendable {
    private let isForgotten = Mutex(false)
    var lookup: DecisionLookup {
      DecisionLookup(
        outcome: { (_, _) throws(StoreError) in self.outcome },
        settle: { (_, _) throws(StoreError) in self.outcome },
        forget: { (_, _) throws(StoreError) in
          if self.refuses { throw StoreError(.busy, "not now", cure: "none") }
          self.isForgotten.withLock { $0 = true }
        })
    }
    /// Whether it cannot be told to forget just now.
    var refuses: Bool {
      get { refusing.withLock { $0 } }
      set { refusing.withLock { $0 = newValue } }
    }
    private let refusing = Mutex(false)
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

  @Test func `who follows to a journal that it cannot write settles nothing in the one before it`() throws {
    let folder = try TemporaryFolder(), disk = FaultyDisk()
    let decisions = Decisions()
    let writer = try folder.open(isShared: false)
    try writer.save(.string("before"), for: "a")
    var options = EngineOptions(decisions: decisions.lookup)
    options.isShared = false
    options.foldsWhenIdle = false
    options.calls = disk.readOnly
    let reader = try DefaultsStore.open(domain: "d", in: folder.path, options: options)
    try writer.leavePending(.string("after"), for: "a")
    takeJournalAway(folder)
    #expect(try writer.load("other") == nil, "which carries over")
    disk.isFaulty = true
    #expect(untilTheNextLookIsDue())
    #expect(try reader.load("other") == nil)
    var batch = Batch<Plain>()
    batch.expectations["other"] = .some(nil)
    try reader.commit(batch, decision: nil)
    #expect(try folder.open(decisions: decisions.lookup, isShared: false).load("a") == .string("after"))
  }

  @Test func `a transaction that was completed in one journal is not completed again over a newer value in one that is put back`()
    throws
  {
    let folder = try TemporaryFolder()
    let decisions = Decisions()
    let store = try folder.open(decisions: decisions.lookup, isShared: false)
    try folder.open(isShared: false).leavePending(.string("after"), for: "a")
    takeJournalAway(folder)
    decisions.refuses = true
    #expect(eventually { kind { _ = try store.load("a") } == nil })
    #expect(try store.load("a") == .string("after"))
    try store.save(.string("newer"), for: "a")
    #expect(rename(folder.file("moved").string, folder.file(".d.plist.coffer").string) == 0)
    #expect(untilTheNextLookIsDue())
    #expect(try store.load("a") == .string("newer"))
    let next = try folder.open(decisions: decisions.lookup, isShared: false)
    #expect(try next.load("a") == .string("newer") && store.load("a") == .string("newer"))
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
    #expect(untilTheNextLookIsDue())
    #expect(try idle.load("b") == .integer(2))
    #expect(try folder.open(isShared: false).contents() == ["a": .integer(1), "b": .integer(2)])
  }

  @Test func `what a journal held that was spoilt and taken away is what its readers know of it`() throws {
    for spoilt in [UInt64(9), 0] {
      let folder = try TemporaryFolder()
      let store = try folder.open(isShared: false)
      try store.save(.integer(1), for: "a")
      let journal = try #require(store.engine.state.withLock { $0.journal })
      try folder.open(isShared: false).save(.integer(2), for: "b")
      try journal.memory.store(spoilt, .version)
      // The word of another epoch: whoever follows it looks at the header first.
      try journal.memory.store(JournalWord(epoch: 5, end: 0).rawValue, .word)
      takeJournalAway(folder)
      #expect(try store.load("a") == .integer(1))
      #expect(try folder.open(isShared: false).load("a") == .integer(1))
    }
  }

  @Test
  func `while the journal in place has no room for what the one held that was taken away, readers go on with what they know`()
    throws
  {
    let folder = try TemporaryFolder()
    let store = try folder.open(isShared: false)
    // Longer than what is left.
    let known = PlainForm.string(String(repeating: "known", count: 200))
    try store.save(known, for: "a")
    takeJournalAway(folder)
    let next = try folder.open(isShared: false)
    try next.engine.holdingLock { (journal) throws(StoreError) in
      try next.engine.state.withLock { (state) throws(StoreError) in
        for count in [16 << 20, 16 << 20, 16 << 20, (14 << 20) + 1_043_000, 600] {
          try next.engine.append(.write([("fill", .data(Data(count: count)))]), &state, journal)
        }
      }
    }
    #expect(try store.load("a") == known)
    // A writer has it folded first.
    try store.save(.integer(1), for: "b")
    #expect(try next.load("a") == known && next.load("b") == .integer(1))
  }

  @Test func `a fold whose journal is taken away in its midst does not undo the fold of who goes on in its place`() throws {
    let folder = try TemporaryFolder()
    let next = Mutex<DefaultsStore?>(nil)
    var calls = SystemCalls()
    let (rename, renameAnew) = (calls.rename, calls.renameAnew)
    let (list, journal, moved) = (
      folder.file("d.plist").string, folder.file(".d.plist.coffer").string, folder.file("moved").string
    )
    calls.reached = { step in
      guard step == .listWritten, rename(journal, moved) == 0 else { return }
      next.withLock { store in
        _ = kind {
          store = try folder.open(isShared: false)
          try store?.save(.integer(2), for: "b")
        }
      }
    }
    calls.renameAnew = { from, to in
      if to == list { _ = kind { try next.withLock { try $0?.synchronize() } } }
      return renameAnew(from, to)
    }
    let store = try folder.open(isShared: false, calls: calls)
    try store.save(.integer(1), for: "a")
    _ = kind { try store.synchronize() }
    #expect(untilTheNextLookIsDue())
    #expect(try store.load("b") == .integer(2))
    #expect(try folder.open(isShared: false).contents() == ["a": .integer(1), "b": .integer(2)])
  }
}
