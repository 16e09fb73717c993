internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

/// The batches that the journal's records name: those whose outcome is open, and those that were committed and whose names
/// another store may still remember.
struct OpenBatches {
  /// Batches whose outcome the journal does not tell, oldest first.
  private(set) var prepared: [Record.Prepared] = []
  /// Bytes of the journal that they take.
  private(set) var preparedBytes = 0
  /// Batches that were committed, oldest first: the store that decided them may still remember them.
  private(set) var finished: [(id: TransactionID, place: String)] = []
  /// The names in ``prepared``: they have their old values until the outcome is known.
  private var undecided: [String: TransactionID] = [:]
  /// Why an outcome could not be learnt.
  private var unresolvable: [TransactionID: StoreError] = [:]
  /// When to ask again.
  private var nextResolution: UInt64 = 0

  /// The names whose values depend on an outcome.
  var undecidedNames: [String] { Array(undecided.keys) }

  /// Whether the value of `name` depends on an outcome.
  @inline(__always)
  func isUndecided(_ name: String) -> Bool { !undecided.isEmpty && undecided[name] != nil }

  /// Throws when the value of `name` depends on an outcome that could not be learnt.
  func checkDecided(_ name: String, _ place: FilePath) throws(StoreError) {
    guard let id = undecided[name], let cause = unresolvable[id] else { return }
    throw StoreError(
      .pending(id), "part of transaction \(id), whose outcome cannot be learnt", key: name, place: place.string,
      cure: "make the other store of that transaction readable, and open the domain with it", underlying: cause)
  }

  // MARK: What records say

  /// Forgets what records said, for they are read anew.
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

  /// The batch `id`, which was committed; nil where it is none of those prepared.
  mutating func commit(_ id: TransactionID) -> Record.Prepared? {
    guard let batch = settle(id) else { return nil }
    finished.append((id, batch.place))
    return batch
  }

  /// Forgets the batch `id`, which did not happen.
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

  /// The batches whose outcome is to be asked for. What could not be learnt just now is not asked for by every write that
  /// follows.
  func toResolve(_ now: UInt64) -> [Record.Prepared] {
    prepared.filter { unresolvable[$0.id] == nil || now >= nextResolution }
  }

  /// Notes why the outcome of `id` could not be learnt.
  mutating func couldNotResolve(_ id: TransactionID, _ error: StoreError, nextAttempt: UInt64) {
    // Where the journal was told and only its sync failed, there is nothing left to learn.
    guard prepared.contains(where: { $0.id == id }) else { return }
    unresolvable[id] = error
    nextResolution = nextAttempt
  }

  /// Has all outcomes asked for again at the next occasion, for there is somebody else to ask. False where none is open.
  mutating func askAgain() -> Bool {
    nextResolution = 0
    return !prepared.isEmpty
  }

  /// Notes that the store that decides `id` has answered.
  mutating func learn(_ id: TransactionID) { unresolvable[id] = nil }

  // MARK: Committed ones

  /// Notes that the stores that decided `ids` have forgotten them.
  mutating func forget(_ ids: Set<TransactionID>) { finished.removeAll { ids.contains($0.id) } }
  /// Forgets those that were committed, for somebody else has seen to them.
  mutating func forgetFinished() { finished = [] }
  /// Keeps the latest `count` of those that were committed.
  mutating func keepFinished(_ count: Int) { finished = finished.suffix(count) }

  /// What keeps the names of those that were committed, without their changes, which the list has.
  func finishedRecords(except known: Set<TransactionID> = []) -> [Record] {
    finished.filter { !known.contains($0.id) }
      .flatMap { [.prepare(.init(id: $0.id, place: $0.place, changes: [])), .commit($0.id)] }
  }
  /// What keeps all of them.
  var records: [Record] { prepared.map(Record.prepare) + finishedRecords() }
}
