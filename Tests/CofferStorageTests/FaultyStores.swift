import CofferPlatform
import CofferStorage
import Synchronization

final class FaultyVault: DecidingStore {
  enum Fault { case nothing, commit, forget, everything }

  let kind: StoreError.Kind
  let fault: Fault
  let place = "faulty"
  private let inner = MemoryStore<Vault>()
  private let log = Mutex((decided: [TransactionID](), forgotten: [TransactionID]()))

  init(fails kind: StoreError.Kind, at fault: Fault) {
    self.kind = kind
    self.fault = fault
  }

  var decided: [TransactionID] { log.withLock(\.decided) }
  var forgotten: [TransactionID] { log.withLock(\.forgotten) }

  private func check(_ call: Fault) throws(StoreError) {
    guard fault == .everything || fault == call else { return }
    throw StoreError(kind, "refused", place: place, cure: "none")
  }

  func load(_ name: String) throws(StoreError) -> SecretForm? {
    try check(.everything)
    return try inner.load(name)
  }
  func load(_ names: [String]) throws(StoreError) -> [Reading<Vault>] {
    try check(.everything)
    return try inner.load(names)
  }
  func names() throws(StoreError) -> [String] { try inner.names() }
  func update(_ name: String, _ body: (SecretForm?) throws(StoreError) -> SecretForm?) throws(StoreError) {
    try inner.update(name, body)
  }
  func commit(_ batch: Batch<Vault>, decision: Decision?) throws(StoreError) {
    try check(batch.forgets == nil ? .commit : .forget)
    try inner.commit(batch, decision: decision)
    if let id = batch.decides { log.withLock { $0.decided.append(id) } }
    if let id = batch.forgets { log.withLock { $0.forgotten.append(id) } }
  }
}

/// An empty plain store whose disk fills up between the decision and its own part.
final class BreakingPlain: LayeredStore {
  let place = "breaking"

  func load(_ name: String) throws(StoreError) -> PlainForm? { nil }
  func load(_ names: [String]) throws(StoreError) -> [Reading<Plain>] { names.map { _ in Reading(form: nil, stamp: nil) } }
  func names() throws(StoreError) -> [String] { [] }
  func update(_ name: String, _ body: (PlainForm?) throws(StoreError) -> PlainForm?) throws(StoreError) {}
  func commit(_ batch: Batch<Plain>, decision: Decision?) throws(StoreError) {
    try decision?.make(.random())
    throw StoreError(.noSpace, "the disk is full", place: place, cure: "free some")
  }
}
