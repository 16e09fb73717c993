internal import CofferPlatform
internal import SystemPackage

/// The batches in the journal's records: open ones, and committed ones that another store may still remember.
struct OpenBatches {
  /// Without an outcome in the journal, oldest first.
  private(set) var prepared: [Record.Prepared] = []
  private(set) var preparedBytes = 0
  /// Committed, oldest first.
  private(set) var finished: [(id: TransactionID, place: String)] = []
  /// These names have their old values until the outcome is known.
  private var undecided: [String: TransactionID] = [:]
  private var unresolvable: [TransactionID: StoreError] = [:]
  private var nextResolution: UInt64 = 0

  var undecidedNames: [String] { Array(undecided.keys) }

  @inline(__always)
  func isUndecided(_ name: String) -> Bool { !undecided.isEmpty && undecided[name] != nil }

  func checkDecided(_ name: String, _ place: FilePath) throws(StoreError) {
    guard let id = undecided[name], let cause = unresolvable[id] else { return }
    throw StoreError(
      .pending(id), "part of transaction \(id), whose outcome is unknown", key: name, place: place.string,
      cure: "make the other store of that transaction readable, and open the domain with it", underlying: cause)
  }

  /// The batches that a fold may have to keep.
  var ids: Set<TransactionID> { Set(prepared.map(\.id) + finished.map(\.id)) }

  // MARK: What records say

  mutating func beginAgain() {
    prepared = []
    preparedBytes = 0
    undecided = [:]
    finished = []
  }

  mutating func prepare(_ batch: Record.Prepared) {
    prepared.append(batch)
    preparedBytes += Record.prepare(batch).count
    for change in batch.changes { undecided[change.name] = batch.id }
  }

  mutating func commit(_ id: TransactionID) -> Record.Prepared? {
    guard let batch = settle(id) else { return nil }
    finished.append((id, batch.place))
    return batch
  }

  mutating func drop(_ id: TransactionID) { _ = settle(id) }

  private mutating func settle(_ id: TransactionID) -> Record.Prepared? {
    guard let index = prepared.firstIndex(where: { $0.id == id }) else { return nil }
    unresolvable[id] = nil
    let batch = prepared.remove(at: index)
    preparedBytes -= Record.prepare(batch).count
    undecided = [:]
    for batch in prepared { for change in batch.changes { undecided[change.name] = batch.id } }
    return batch
  }

  // MARK: Outcomes

  /// Omits failed lookups until the next attempt is due.
  func toResolve(_ now: UInt64) -> [Record.Prepared] {
    prepared.filter { unresolvable[$0.id] == nil || now >= nextResolution }
  }

  mutating func couldNotResolve(_ id: TransactionID, _ error: StoreError, nextAttempt: UInt64) {
    // The journal has the outcome, and only its sync failed.
    guard prepared.contains(where: { $0.id == id }) else { return }
    unresolvable[id] = error
    nextResolution = nextAttempt
  }

  /// False if no outcome is open.
  mutating func askAgain() -> Bool {
    nextResolution = 0
    return !prepared.isEmpty
  }

  mutating func learn(_ id: TransactionID) { unresolvable[id] = nil }

  // MARK: Committed ones

  mutating func forget(_ ids: Set<TransactionID>) { finished.removeAll { ids.contains($0.id) } }
  mutating func forgetFinished() { finished = [] }
  mutating func keepFinished(_ count: Int) { finished = finished.suffix(count) }

  /// Without the changes, which the list has.
  func finishedRecords(except known: Set<TransactionID> = []) -> [Record] {
    finished.filter { !known.contains($0.id) }
      .flatMap { [.prepare(.init(id: $0.id, place: $0.place, changes: [])), .commit($0.id)] }
  }
  var records: [Record] { prepared.map(Record.prepare) + finishedRecords() }
}
