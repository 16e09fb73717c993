internal import CofferPlatform
internal import CofferStorage

extension Examination {
  private func batch(_ writes: [String: R.Form], removing removed: String? = nil) -> Batch<R> {
    var batch = Batch<R>()
    for (name, form) in writes { batch.writes[name] = .set(form) }
    if let removed { batch.writes[removed] = .remove }
    return batch
  }

  private func stamp(_ name: String) throws -> R.Stamp { try store.load([name])[0].stamp }

  func batches() throws {
    let (one, two) = (try samples.number(1), try samples.number(2))
    try store.save(one, for: "old")
    try store.commit(batch(["a": one, "b": two], removing: "old"), decision: nil)
    try expectValue(one, of: "a", "after a batch")
    try expectValue(two, of: "b", "after a batch")
    try expectValue(nil, of: "old", "after a batch that removed it")
    try expect(.invalidName, "a batch with a bad name") { try store.commit(batch(["a": two, "x\ny": one]), decision: nil) }
    try expectValue(one, of: "a", "after a batch was refused")
  }

  func expectations() throws {
    let (one, two) = (try samples.number(1), try samples.number(2))
    let absent = try stamp("a")
    var creation = batch(["a": one, "b": one])
    creation.expectations["a"] = absent
    try store.commit(creation, decision: nil)
    try expectValue(one, of: "a", "after a batch that expected its absence")
    creation.writes["b"] = .set(two)
    try expect(.conflict, "a batch that expects the absence of what is there") { try store.commit(creation, decision: nil) }
    try expectValue(one, of: "b", "after a conflict")
    var change = batch(["a": two])
    change.expectations["a"] = try stamp("a")
    change.expectations["b"] = try stamp("b")
    try store.save(two, for: "b")
    try expect(.conflict, "a batch that expects what has changed") { try store.commit(change, decision: nil) }
    try expectValue(one, of: "a", "after a conflict over another name")
    change.expectations["b"] = try stamp("b")
    try store.commit(change, decision: nil)
    try expectValue(two, of: "a", "after a batch whose expectations hold")
  }

  func emptyBatch() throws {
    try store.commit(Batch<R>(), decision: nil)
    try expect(try store.names().isEmpty, "an empty batch made a name")
    var comparison = Batch<R>()
    comparison.expectations["a"] = try stamp("a")
    try store.commit(comparison, decision: nil)
    try expect(try store.names().isEmpty, "a comparison made a name")
    try store.save(try samples.number(1), for: "a")
    try expect(.conflict, "a comparison with what was") { try store.commit(comparison, decision: nil) }
  }

  func decisions() throws {
    let (one, two) = (try samples.number(1), try samples.number(2))
    try store.save(one, for: "a")
    let seen = Seen()
    let decision = Decision(place: "elsewhere") { (id) throws(StoreError) in seen.id = id }
    guard suite.abilities.prepares else {
      try expect(.unsupported, "a batch with a decision") { try store.commit(batch(["a": two]), decision: decision) }
      return try expectValue(one, of: "a", "after a decision was refused")
    }
    try store.commit(batch(["a": two]), decision: decision)
    try expect(seen.id != nil, "the decision was not made")
    try expectValue(two, of: "a", "after the decision")
    let refusal = StoreError(.noSpace, "no", cure: "none")
    try expect(.noSpace, "a batch whose decision throws") {
      try store.commit(
        batch(["a": one, "b": one]), decision: Decision(place: "elsewhere") { (_) throws(StoreError) in throw refusal })
    }
    try expectValue(two, of: "a", "after a decision that was not made")
    try expectValue(nil, of: "b", "after a decision that was not made")
    var conflict = batch(["a": one])
    conflict.expectations["a"] = try stamp("b")
    seen.id = nil
    try expect(.conflict, "a batch with a decision, out of date") { try store.commit(conflict, decision: decision) }
    try expect(seen.id == nil, "a decision was made although the batch was out of date")
  }

  func forgetting() throws {
    try store.commit(Batch(forgetting: .random()), decision: nil)
    var deciding = batch(["a": try samples.number(1)])
    let id = TransactionID.random()
    deciding.decides = id
    guard suite.abilities.decides else {
      try expect(.unsupported, "a batch that decides") { try store.commit(deciding, decision: nil) }
      return try expectValue(nil, of: "a", "after a deciding batch was refused")
    }
    try store.commit(deciding, decision: nil)
    try expectValue(try samples.number(1), of: "a", "after a deciding batch")
    for _ in 1...2 { try store.commit(Batch(forgetting: id), decision: nil) }
    try expect(try store.names() == ["a"], "a decision shows among the names")
  }

  /// The id that a decision's closure got on this thread.
  private final class Seen { var id: TransactionID? }
}
