internal import CofferPlatform
internal import CofferStorage
internal import Synchronization

extension Examination {
  private final class Listener: Sendable {
    private let events = Mutex<[ChangeFeed.Event]>([])
    var all: [ChangeFeed.Event] { events.withLock { $0 } }
    var changes: [Change] {
      all.flatMap { event -> [Change] in if case .changes(let changes) = event { changes } else { [] } }
    }
    func add(_ event: ChangeFeed.Event) { events.withLock { $0.append(event) } }
  }

  private func wait(_ what: String, until condition: () throws -> Bool) async throws {
    let deadline = ContinuousClock.now + suite.patience
    while try !condition() {
      try expect(ContinuousClock.now < deadline, what)
      try await Task.sleep(for: .milliseconds(2))
    }
  }

  /// A store that reports no changes must have a feed that has ended.
  private func listening(_ body: (Listener) async throws -> Void) async throws {
    let listener = Listener()
    let subscription = try store.changes.subscribe { listener.add($0) }
    defer { subscription.cancel() }
    guard suite.abilities.tellsChanges else {
      return try await wait("a store that tells nothing has a feed that goes on") { listener.all == [.ended] }
    }
    try await body(listener)
  }

  func changes() async throws {
    try await listening { listener in
      try store.save(try samples.number(1), for: "a")
      try await wait("a set is not told") { listener.changes == [Change("a", .set, by: .thisProcess)] }
      try store.save(nil, for: "a")
      try await wait("a removal is not told") { listener.changes.last == Change("a", .removed, by: .thisProcess) }
      try store.update("b") { (_) throws(StoreError) in
        do { return try samples.number(2) } catch { throw StoreError(.refused, "no sample", cure: "none", underlying: error) }
      }
      try await wait("an update is not told") { listener.changes.last == Change("b", .set, by: .thisProcess) }
      try expect(listener.changes.count == 3, "something was told twice: \(listener.changes.map(\.name))")
    }
  }

  func unchanged() async throws {
    try store.save(try samples.number(1), for: "a")
    try await listening { listener in
      try store.save(nil, for: "absent")
      try store.commit(Batch<R>(), decision: nil)
      // A secret that is stored again is a new version; an equal preference is the same value.
      if R.self == Plain.self { try store.save(try samples.number(1), for: "a") }
      try store.save(try samples.number(1), for: "end")
      try await wait("a set is not told") { listener.changes.contains { $0.name == "end" } }
      try expect(listener.changes.map(\.name) == ["end"], "a write that changes nothing is told: \(listener.changes.map(\.name))")
    }
  }

  func changeOrder() async throws {
    try await listening { listener in
      for number in 0..<20 { try store.save(try samples.number(number), for: "key \(number)") }
      var batch = Batch<R>()
      for name in ["x", "y", "z"] { batch.writes[name] = .set(try samples.number(1)) }
      try store.commit(batch, decision: nil)
      try await wait("not every change is told") { listener.changes.count >= 23 }
      let names = listener.changes.map(\.name)
      try expect(Array(names.prefix(20)) == (0..<20).map { "key \($0)" }, "changes are not told in their order")
      let together = listener.all.contains { event in
        guard case .changes(let changes) = event else { return false }
        return Set(changes.map(\.name)).isSuperset(of: ["x", "y", "z"])
      }
      try expect(together, "a batch is told in parts")
    }
  }

  func closing() async throws {
    guard let close = subject.close else { return }
    try store.save(try samples.number(1), for: "a")
    let listener = Listener()
    let subscription = try store.changes.subscribe { listener.add($0) }
    defer { subscription.cancel() }
    try close()
    if suite.abilities.tellsChanges {
      try await wait("the feed of a closed store goes on") { listener.all.last == .ended }
    }
    try expect(.closed, "load after close") { _ = try store.load("a") }
    try expect(.closed, "load of several after close") { _ = try store.load(["a"]) }
    try expect(.closed, "contains after close") { _ = try subject.contains("a") }
    try expect(.closed, "names after close") { _ = try store.names() }
    try expect(.closed, "save after close") { try store.save(nil, for: "a") }
    try expect(.closed, "update after close") { try store.update("a") { (old) throws(StoreError) in old } }
    try close()
  }
}
