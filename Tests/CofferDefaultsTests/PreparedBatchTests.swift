import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import Synchronization
import SystemPackage
import Testing

@testable import CofferDefaults

@Suite
struct PreparedBatchTests {
  private static func before(_ folder: TemporaryFolder) throws {
    let store = try folder.open(isShared: false)
    try store.save(.string("before"), for: "a")
    try store.save(.string("before"), for: "b")
  }

  static let steps = [
    ("prepared", false), ("deciding", false), ("decided", true), ("committed", true), ("commitDurable", true),
  ]

  @Test(.tags(.process), .defaultRun, arguments: steps)
  func `whoever comes next completes or drops what a dead process left`(_ step: String, _ isDecided: Bool) throws {
    let folder = try TemporaryFolder()
    try Self.before(folder)
    let tool = try Tool("commit-and-die", folder, step, folder.decisions.string)
    tool.finish()
    #expect(tool.wasKilled)
    let value = isDecided ? "string(\"after\")" : "string(\"before\")"
    let told = try Tool("outcome", folder, "readable").finish()
    #expect(told == "a \(value)\nb \(value)\nother string(\"written\")\n")
    let left = try FileManager.default.contentsOfDirectory(atPath: folder.decisions.string)
    #expect(left.count { $0.hasSuffix(".dropped") } == (isDecided ? 0 : 1), "what is dropped was recorded so before")
    #expect(left.isEmpty == (step == "decided"), "a completed transaction's record is forgotten")
    #expect(try Tool("outcome", folder, "none").finish() == told)
  }

  @Test(.tags(.process), .defaultRun, arguments: ["unreadable", "none"])
  func `when the outcome cannot be learnt its keys throw and the others work, across folds`(_ lookup: String) throws {
    let folder = try TemporaryFolder()
    try Self.before(folder)
    try Tool("commit-and-die", folder, "decided", folder.decisions.string).finish()
    for _ in 0..<3 {
      let told = try Tool("outcome", folder, lookup, "fold").finish()
      #expect(told == "a pending\nb pending\nother string(\"written\")\n")
    }
    let store = try folder.open(isShared: false)
    #expect(isPending { try store.save(.integer(1), for: "a") })
    #expect(isPending { try store.removeAll() })
    #expect(isPending { try store.update("b") { (_) throws(StoreError) in nil } })
    #expect(isPending { _ = try store.load(["other", "a"]) })
    var batch = Batch<Plain>()
    batch.expectations["a"] = .some(.string("before"))
    #expect(isPending { try store.commit(batch, decision: Decision(place: "x") { (_) throws(StoreError) in }) })
    batch.writes["unrelated"] = .set(.bool(true))
    #expect(isPending { try store.commit(batch, decision: nil) })
    #expect(isPending { try store.commit(batch, decision: Decision(place: "x") { (_) throws(StoreError) in }) })
    #expect(try store.load("unrelated") == nil)
    try store.save(.integer(3), for: "third")
    try store.synchronize()
    let told = try Tool("outcome", folder, "readable").finish()
    #expect(told == "a string(\"after\")\nb string(\"after\")\nother string(\"written\")\n")
    #expect(try store.load("a") == .string("after"), "a store that could not tell learns it from the journal")
  }

  @Test(.tags(.process), .defaultRun) func `a running reader learns the outcome by itself once the writer has died`() throws {
    let folder = try TemporaryFolder()
    try Self.before(folder)
    let place = folder.decisions
    let lookup = DecisionLookup(
      outcome: { (_, _) in nil },
      settle: { (id, _) in FileManager.default.fileExists(atPath: place.appending("\(id)").string) ? .committed : .dropped },
      forget: { (_, _) in })
    let reader = try folder.open(decisions: lookup, isShared: false)
    #expect(try reader.load("a") == .string("before"))
    try Tool("commit-and-die", folder, "decided", place.string).finish()
    #expect(try reader.load("a") == .string("after"))
  }

  @Test func `readers ignore a batch while its decision is being made`() throws {
    let folder = try TemporaryFolder()
    try Self.before(folder)
    let store = try folder.open(), other = try folder.open(isShared: false)
    var batch = Batch<Plain>()
    batch.writes = ["a": .set(.string("after")), "new": .set(.integer(1))]
    batch.expectations = ["a": .string("before"), "new": nil]
    try store.commit(
      batch,
      decision: Decision(place: "elsewhere") { (_) throws(StoreError) in
        #expect(try store.load("a") == .string("before"))
        #expect(try other.load("a") == .string("before"))
        #expect(try other.load("new") == nil)
      })
    #expect(try store.load("a") == .string("after"))
    #expect(try other.load("a") == .string("after"))
    #expect(try other.load("new") == .integer(1))
  }

  @Test func `a write to the domain from inside its decision is refused, and nothing of the batch happens`() throws {
    let folder = try TemporaryFolder()
    try Self.before(folder)
    let store = try folder.open()
    for writes in [["a": Write<PlainForm>.remove], [:]] {
      var batch = Batch<Plain>()
      batch.writes = writes
      batch.expectations = ["b": .string("before")]
      let refusal = kind {
        try store.commit(
          batch, decision: Decision(place: "x") { (_) throws(StoreError) in try store.save(.integer(1), for: "c") })
      }
      #expect(refusal == .reentrant)
    }
    #expect(try folder.open(isShared: false).names() == ["a", "b"])
    try store.save(.integer(1), for: "c")
  }

  @Test func `a decision that is not made leaves nothing behind`() throws {
    let folder = try TemporaryFolder()
    try Self.before(folder)
    let store = try folder.open()
    var batch = Batch<Plain>()
    batch.writes = ["a": .remove, "c": .set(.integer(1))]
    let refusal = kind {
      try store.commit(
        batch, decision: Decision(place: "x") { (_) throws(StoreError) in throw StoreError(.locked, "no", cure: "unlock") })
    }
    #expect(refusal == .locked)
    #expect(try store.load("a") == .string("before"))
    #expect(try folder.open(isShared: false).names() == ["a", "b"])
  }

  /// The other store's answer; `nil` if it cannot be asked.
  @Test(arguments: [TransactionOutcome.committed, .dropped, nil])
  func `a decision whose outcome is unknown is learnt at once, or leaves the batch pending`(outcome: TransactionOutcome?) throws {
    let folder = try TemporaryFolder()
    try Self.before(folder)
    let isReachable = Mutex(outcome != nil)
    let forgotten = Mutex(0)
    let lookup = DecisionLookup(
      outcome: { (_, _) in nil },
      settle: { (_, _) throws(StoreError) in
        guard isReachable.withLock({ $0 }) else { throw StoreError(.io(EIO), "unreadable", cure: "none") }
        return outcome ?? .committed
      },
      forget: { (ids, _) in forgotten.withLock { $0 += ids.count } })
    let store = try folder.open(decisions: lookup, isShared: false)
    var batch = Batch<Plain>()
    batch.writes = ["a": .set(.string("after"))]
    let decision = Decision(place: "x") { (_) throws(StoreError) in throw StoreError(.outcomeUnknown, "no answer", cure: "none") }
    let thrown = kind { try store.commit(batch, decision: decision) }
    switch outcome {
    case .committed:
      #expect(thrown == nil)
      #expect(try store.load("a") == .string("after"))
    case .dropped:
      #expect(thrown == .busy)
      #expect(try store.load("a") == .string("before"))
    case nil:
      if case .pending? = thrown {} else { Issue.record("\(String(describing: thrown))") }
      #expect(isPending { _ = try store.load("a") })
      #expect(try store.load("b") == .string("before"))
      isReachable.withLock { $0 = true }
      while kind({ _ = try store.load("a") }) != nil { usleep(1000) }
      #expect(try store.load("a") == .string("after"))
      #expect(forgotten.withLock { $0 } == 1)
    }
    try store.save(.integer(1), for: "a")
    #expect(try folder.open(isShared: false).load("a") == .integer(1))
  }

  @Test func `a batch that cannot be made durable is dropped, and nothing is decided`() throws {
    let folder = try TemporaryFolder()
    try Self.before(folder)
    let fails = Mutex(false)
    var calls = SystemCalls()
    calls.synchronize = { _ in fails.withLock { $0 } ? -EIO : 0 }
    let store = try folder.open(isShared: false, calls: calls)
    var batch = Batch<Plain>()
    batch.writes = ["a": .set(.string("after")), "new": .set(.integer(1))]
    fails.withLock { $0 = true }
    let refusal = kind {
      try store.commit(batch, decision: Decision(place: "x") { (_) throws(StoreError) in Issue.record("decided") })
    }
    fails.withLock { $0 = false }
    #expect(refusal == .io(EIO))
    #expect(try store.load("a") == .string("before") && store.load("new") == nil)
    let other = try folder.open(isShared: false)
    try other.save(.integer(2), for: "new")
    #expect(try other.load("a") == .string("before") && store.load("new") == .integer(2))
  }

  @Test(.tags(.process), .defaultRun)
  func `where not even that can be written, whoever comes next finds no decision and drops the batch`() throws {
    let folder = try TemporaryFolder()
    try Self.before(folder)
    let fails = Mutex(false)
    var calls = SystemCalls()
    let write = calls.write
    // A store into memory does not fail, but a call does.
    calls.fileSystem = { _ in 0 }
    calls.write = { fd, bytes, offset in fails.withLock { $0 } ? Int(-EIO) : write(fd, bytes, offset) }
    let store = try folder.open(isShared: false, calls: calls)
    var batch = Batch<Plain>()
    batch.writes = ["a": .set(.string("after"))]
    let decision = Decision(place: folder.decisions.string) { (_) throws(StoreError) in
      fails.withLock { $0 = true }
      throw StoreError(.locked, "no", cure: "unlock")
    }
    #expect(kind { try store.commit(batch, decision: decision) } == .locked, "why it was not decided, and not what came after")
    let told = try Tool("outcome", folder, "readable").finish()
    #expect(told == "a string(\"before\")\nb string(\"before\")\nother string(\"written\")\n")
  }

  @Test(arguments: [true, false])
  func `a batch without writes needs no place that can be written`(_ hasJournal: Bool) throws {
    let folder = try TemporaryFolder()
    try Self.before(folder)
    if !hasJournal {
      try folder.open(isShared: false).close()
      try FileManager.default.removeItem(atPath: folder.file(".d.plist.coffer").string)
    }
    var calls = SystemCalls()
    let open = calls.open
    calls.open = { path, flags, mode in flags & O_ACCMODE == O_RDONLY ? open(path, flags, mode) : -EROFS }
    let store = try folder.open(isShared: false, calls: calls)
    #expect(kind { try store.save(.integer(1), for: "a") } == .readOnly)

    var batch = Batch<Plain>()
    batch.expectations = ["a": .string("before"), "new": nil]
    try store.commit(batch, decision: nil)
    var decisions = 0
    let decision = Decision(place: "x") { (_) throws(StoreError) in decisions += 1 }
    try store.commit(batch, decision: decision)
    #expect(decisions == 1)
    batch.expectations["b"] = .string("something else")
    #expect(kind { try store.commit(batch, decision: decision) } == .conflict)
    #expect(kind { try store.commit(batch, decision: nil) } == .conflict)
    #expect(decisions == 1)
  }

  @Test func `a journal that is full for writes has room for the outcome of a transaction that it took`() throws {
    let folder = try TemporaryFolder()
    var calls = SystemCalls()
    // Folds fail once there is a list.
    calls.exchange = { _, _ in -EIO }
    let store = try folder.open(isShared: false, calls: calls)
    try store.save(.string("before"), for: "a")
    try store.synchronize()
    let prepared = Record.Prepared(id: .random(), place: "x", changes: [("a", .string("after"))])
    // Its own room, and that of a fold's remainder.
    let room = 2 * Record.prepare(prepared).count
    // Filled by hand, as a journal is eventually.
    try store.engine.holdingLock { (journal) throws(StoreError) in
      try store.engine.state.withLock { (state) throws(StoreError) in
        let free = JournalLayout.capacity - JournalLayout.keptForOutcomes - state.seen.end
        let check = state.last.check
        (state.seen, state.last) = try journal.append(
          free - room, after: state.seen, upTo: JournalLayout.capacity, keeping: JournalLayout.keptForOutcomes
        ) { buffer in
          buffer.storeBytes(of: check.littleEndian, toByteOffset: 4, as: UInt32.self)
          return RecordLink(check: check, count: free - room)
        }
      }
    }
    let long = PlainForm.string(String(repeating: "x", count: room))
    #expect(kind { try store.save(long, for: "b") } == .tooLarge(limit: JournalLayout.capacity))
    var batch = Batch<Plain>()
    batch.writes["a"] = .set(.string("after"))
    try store.commit(batch, decision: Decision(place: "x") { (_) throws(StoreError) in })
    #expect(try store.load("a") == .string("after"))
  }

  @Test func `an expectation that does not hold is a conflict, before the decision`() throws {
    let folder = try TemporaryFolder()
    try Self.before(folder)
    let store = try folder.open()
    var batch = Batch<Plain>()
    batch.expectations = ["a": .string("something else")]
    batch.writes = ["b": .remove]
    let decision = Decision(place: "x") { (_) throws(StoreError) in Issue.record("decided") }
    #expect(kind { try store.commit(batch, decision: decision) } == .conflict)
    #expect(kind { try store.commit(batch, decision: nil) } == .conflict)
    #expect(try store.load("b") == .string("before"))
  }

  @Test func `a journal that cannot be told of a decision says pending, and completes later`() throws {
    let folder = try TemporaryFolder()
    try Self.before(folder)
    nonisolated(unsafe) var syncs = 0
    var calls = SystemCalls()
    calls.synchronize = { _ in
      syncs += 1
      return syncs == 2 ? -5 : 0
    }
    let store = try folder.open(isShared: false, calls: calls)
    syncs = 0
    var batch = Batch<Plain>()
    batch.writes = ["a": .set(.string("after"))]
    #expect(isPending { try store.commit(batch, decision: Decision(place: "x") { (_) throws(StoreError) in }) })
    #expect(try store.load("a") == .string("after"))
  }

  private func isPending(_ body: () throws -> Void) -> Bool {
    if case .pending? = kind(body) { true } else { false }
  }

  @Test(.tags(.process), .defaultRun)
  func `values that only a batch of unknown outcome would make are not removed, and that is said`() throws {
    let folder = try TemporaryFolder()
    try Tool("commit-and-die", folder, "decided", folder.decisions.string).finish()
    let store = try folder.open(isShared: false)
    #expect(isPending { try store.removeAll() })
    #expect(try Tool("outcome", folder, "readable").finish().hasPrefix("a string(\"after\")\n"))
  }

  @Test func `a key that two batches of unknown outcome would change stays undecided until both are known`() {
    let (first, second) = (TransactionID.random(), TransactionID.random())
    var batches = OpenBatches()
    batches.prepare(.init(id: first, place: "x", changes: [("a", .integer(1)), ("b", .integer(1))]))
    batches.prepare(.init(id: second, place: "x", changes: [("a", .integer(2))]))
    batches.drop(second)
    #expect(batches.isUndecided("a") && batches.isUndecided("b"))
    batches.drop(first)
    #expect(!batches.isUndecided("a") && !batches.isUndecided("b"))
  }
}
