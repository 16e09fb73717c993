internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

extension ItemTable {
  /// Replaces what is said of the record of `name` within a write transaction, and leaves its value.
  func describe(
    _ name: ItemName, as metadata: ItemMetadata, if condition: WriteCondition, keeping: Int?, _ change: inout Change
  ) throws(StoreError) -> VaultItem {
    try RecordLimits.check(metadata)
    let target = try target(name, &change)
    try require(condition, revision: target.old?.revision)
    guard let id = try records.touch(bucket(of: target.index), change).record(at: target.index) else {
      throw missing("there is no such item", "look at the list of items")
    }
    let record = try view.withRow(target.index, id, .all) { (row) throws(StoreError) in
      try view.checked { () throws(FormatError) in try row.open(keys: view.keys) }
    }
    var meta = record.meta
    meta.take(metadata)
    meta.modified = view.now
    if let keeping { meta.history = try RecordLimits.history(keeping) }
    switch record.value {
    case .some(let value): return item(try store(meta, value, at: target, &change))
    case .none: throw Self.withoutValue(name, view.path)
    }
  }

  private func missing(_ what: String, _ cure: String) -> StoreError {
    StoreError(.notFound, what, place: view.path.string, cure: cure)
  }
}
