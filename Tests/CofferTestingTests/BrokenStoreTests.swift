import CofferTestSupport
import CofferPlatform
import CofferStorage
import CofferTesting
import Foundation
import Synchronization
import Testing

/// Stores with one fault each: a suite that passes them would prove nothing.
@Suite struct BrokenStoreTests {
  static let faults: [(BrokenStore.Fault, Set<ConformanceCheck>)] = [
    (.dropsWrites, [.saving, .replacing, .names, .severalAtOnce, .stamps, .batches, .updates]),
    (.keepsRemoved, [.removing, .batches, .updates, .stamps]),
    (.splitsBatches, [.batches]),
    (.ignoresExpectations, [.expectations, .emptyBatch, .errors]),
    (.ignoresDecisions, [.decisions]),
    (.losesUpdates, [.concurrency]),
    (.allowsReentrancy, [.reentrancy, .errors]),
    (.takesAnyName, [.badNames, .failingUpdates, .batches]),
    (.tellsTwice, [.changes]),
    (.tellsNothing, [.changes, .changeOrder, .unchanged]),
    (.tellsUnchanged, [.unchanged]),
    (.quotesValues, [.errors]),
  ]

  @Test(.tags(.slow), .defaultRun, arguments: faults) func `a broken store fails the check that is about its fault`(
    fault: BrokenStore.Fault, checks: Set<ConformanceCheck>
  ) async throws {
    var suite = StoreConformance<Plain>("broken") { BrokenStore(fault) }
    // A broken store's missing reports are awaited in vain until the patience ends.
    suite.patience = .seconds(1)
    var failed: Set<ConformanceCheck> = []
    for check in ConformanceCheck.allCases {
      do { try await suite.run(check) } catch {
        failed.insert(error.check)
        #expect("\(error)".hasPrefix("broken fails '\(check.rawValue)': "))
      }
    }
    // Other checks fail at times: a doubled report may be read between the two.
    let found = try #require(failed.intersection(checks).first, "\(fault) fails \(failed.map(\.rawValue))")
    let error = await #expect(throws: ConformanceFailure.self) { try await suite.run(found) }
    #expect(error?.store == "broken")
  }

  @Test func `without a fault it passes`() async throws {
    try await StoreConformance<Plain>("sound") { BrokenStore(.none) }.run()
  }

  @Test func `an exception must fail, and is then no failure`() async throws {
    let excepted = StoreConformance<Plain>("broken", exceptions: [.saving: "it drops writes"]) { BrokenStore(.dropsWrites) }
    try await excepted.run(.saving)
    let outdated = StoreConformance<Plain>("sound", exceptions: [.saving: "it dropped writes once"]) { MemoryStore<Plain>() }
    let error = await #expect(throws: ConformanceFailure.self) { try await outdated.run(.saving) }
    #expect(error?.what.contains("it dropped writes once") == true)
  }
}

final class BrokenStore: LayeredStore {
  enum Fault: Sendable {
    case none, dropsWrites, keepsRemoved, splitsBatches, ignoresExpectations, ignoresDecisions, losesUpdates, allowsReentrancy
    case takesAnyName, tellsTwice, tellsNothing, tellsUnchanged, quotesValues
  }

  let fault: Fault
  let place = "broken"
  let changes = ChangeFeed()
  private let values = Mutex<[String: PlainForm]>([:])
  private let lock = Mutex(())
  private let updating = Atomic<Int>(0)

  init(_ fault: Fault) { self.fault = fault }

  private func check() throws(StoreError) {
    if fault != .allowsReentrancy { try Reentrancy.check(place) }
  }

  func load(_ name: String) throws(StoreError) -> PlainForm? {
    try check()
    return values.withLock { $0[name] }
  }
  func load(_ names: [String]) throws(StoreError) -> [Reading<Plain>] {
    try check()
    return values.withLock { values in names.map { Reading(form: values[$0], stamp: values[$0]) } }
  }
  func names() throws(StoreError) -> [String] {
    try check()
    return values.withLock { $0.keys.sorted() }
  }
  func update(_ name: String, _ body: (PlainForm?) throws(StoreError) -> PlainForm?) throws(StoreError) {
    try check()
    if fault != .takesAnyName { try StoredName.check(name) }
    if fault == .allowsReentrancy || fault == .losesUpdates {
      let old = values.withLock { $0[name] }
      if fault == .losesUpdates, name == "count", old != nil { waitForAnotherUpdate() }
      let new = try body(old)
      return apply([name: Write(new)])
    }
    try lock.withLock { (_) throws(StoreError) in
      let old = values.withLock { $0[name] }
      let new = try Reentrancy.inside { () throws(StoreError) in try body(old) }
      apply([name: Write(new)])
    }
  }
  /// The first update of the shared value continues after a second one has read as well: then one is lost on any schedule.
  private func waitForAnotherUpdate() {
    guard updating.add(1, ordering: .relaxed).newValue == 1 else { return }
    let deadline = ContinuousClock.now + .seconds(120)
    while updating.load(ordering: .relaxed) < 2, ContinuousClock.now < deadline { usleep(200) }
  }

  func commit(_ batch: Batch<Plain>, decision: Decision?) throws(StoreError) {
    try check()
    if fault == .splitsBatches { apply(batch.writes.filter { !$0.key.contains("\n") }) }
    if fault != .takesAnyName { for name in batch.writes.keys { try StoredName.check(name) } }
    try lock.withLock { (_) throws(StoreError) in
      for (name, expected) in batch.expectations where fault != .ignoresExpectations {
        let value = values.withLock { $0[name] }
        guard value != expected else { continue }
        throw StoreError(
          .conflict, fault == .quotesValues ? "changed to \(String(describing: value))" : "changed", key: name, place: place,
          cure: "retry")
      }
      if fault != .ignoresDecisions { try decision?.make(.random()) }
      apply(batch.writes)
    }
  }

  private func apply(_ writes: [String: Write<PlainForm>]) {
    let told = values.withLock { values in
      writes.compactMap { name, write -> Change? in
        let old = values[name]
        if fault != .dropsWrites, !(fault == .keepsRemoved && write.form == nil) { values[name] = write.form }
        guard write.form != old || fault == .tellsUnchanged else { return nil }
        return Change(name, write.form == nil ? .removed : .set, by: .thisProcess)
      }
    }
    guard !told.isEmpty, fault != .tellsNothing else { return }
    changes.send(.changes(told))
    if fault == .tellsTwice { changes.send(.changes(told)) }
  }
}
