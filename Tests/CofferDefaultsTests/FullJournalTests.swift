import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferDefaults

/// Journals without room for one more record, as those become whose folds fail or find nothing to do.
@Suite
struct FullJournalTests {
  private static let tooLarge = StoreError.Kind.tooLarge(limit: JournalLayout.capacity)

  /// These tests are not about the disk.
  private var calls: SystemCalls {
    var calls = SystemCalls()
    calls.synchronize = { _ in 0 }
    return calls
  }

  private func fill(_ store: DefaultsStore) throws {
    for count in [1 << 20, 1 << 12, 16] {
      let record = Record.write([("fill", .data(Data(count: count)))])
      let refusal = kind {
        while true {
          try store.engine.holdingLock { (journal) throws(StoreError) in
            try store.engine.state.withLock { (state) throws(StoreError) in try store.engine.append(record, &state, journal) }
          }
        }
      }
      #expect(refusal == Self.tooLarge)
    }
  }

  @Test func `a write to a full journal folds it first`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open(isShared: false, calls: calls)
    try fill(store)
    try store.save(.data(Data(count: 64)), for: "one more")
    #expect(try PropertyList.decode(folder.bytes(of: "d.plist")).values["fill"] != nil)
    try expectWrites(folder, store)
  }

  private func expectWrites(_ folder: TemporaryFolder, _ store: DefaultsStore) throws {
    for number in 0..<3 { try store.save(.data(Data(count: 1 << 19)), for: "after \(number)") }
    try folder.open(isShared: false, calls: calls).save(.integer(2), for: "another process")
    #expect(try store.load("another process") == .integer(2))
  }

  @Test func `a full journal has room again after a fold, though a transaction of unknown outcome survives it`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open(isShared: false, calls: calls)
    try store.leavePending(.string("after"), for: "a")
    try fill(store)
    try store.synchronize()
    try expectWrites(folder, store)
    var batch = Batch<Plain>()
    batch.writes["b"] = .set(.string("a second transaction"))
    try store.commit(batch, decision: Decision(place: "x") { (_) throws(StoreError) in })
    #expect(try store.load("b") == .string("a second transaction"))
  }

  @Test func `a full journal can be folded however large the transactions are whose outcome is unknown`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open(isShared: false, calls: calls)
    let values = (0..<4).map { PlainForm.data(Data(repeating: UInt8($0), count: 1_000_000)) }
    for (number, value) in values.enumerated() { try store.leavePending(value, for: "key \(number)") }
    try fill(store)
    try store.synchronize()
    try expectWrites(folder, store)
    let committed = DecisionLookup(
      outcome: { (_, _) throws(StoreError) in .committed }, settle: { (_, _) throws(StoreError) in .committed },
      forget: { (_, _) throws(StoreError) in })
    let found = try folder.open(decisions: committed, isShared: false, calls: calls)
    for (number, value) in values.enumerated() { #expect(try found.load("key \(number)") == value) }
  }

  @Test func `a full journal that died in its fold has room again after the next, though that one has nothing to write`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open(isShared: false, calls: calls)
    try store.leavePending(.string("after"), for: "a")
    try fill(store)
    // The point of its death: the list is written, and surviving records are behind all others.
    try store.engine.holdingLock { (journal) throws(StoreError) in
      try store.engine.state.withLock { (state) throws(StoreError) in
        (state.seen, state.last) = try journal.beginEpoch(
          after: state.seen, from: JournalMark(end: state.seen.end, last: state.last), list: state.list, foldedFrom: nil,
          survivors: state.batches.records, writer: store.engine.writer)
      }
    }
    let next = try folder.open(isShared: false, calls: calls)
    try next.synchronize()
    try expectWrites(folder, next)
  }

  @Test func `transactions that fail again and again leave room for writes`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open(isShared: false, calls: calls)
    var batch = Batch<Plain>()
    batch.writes["a"] = .set(.data(Data(count: 1_000_000)))
    let decision = Decision(place: "x") { (_) throws(StoreError) in throw StoreError(.locked, "no", cure: "unlock") }
    for _ in 0..<70 { #expect(kind { try store.commit(batch, decision: decision) } == .locked) }
    try expectWrites(folder, store)
    #expect(try #require(try FileStatus(at: folder.file(".d.plist.coffer"))).size < 4 * JournalLayout.foldAt)
  }

  @Test func `a transaction over a whole domain has room behind what a domain of its size leaves unfolded`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.open(isShared: false, calls: calls)
    let value = { (byte: UInt8) in PlainForm.data(Data(repeating: byte, count: 1_000_000)) }
    for round in 0..<3 { for key in 0..<16 { try store.save(value(UInt8(round)), for: "key \(key)") } }
    var batch = Batch<Plain>()
    for key in 0..<16 { batch.writes["key \(key)"] = .set(value(9)) }
    try store.commit(batch, decision: Decision(place: "x") { (_) throws(StoreError) in })
    #expect(try store.load("key 15") == value(9))
  }
}
