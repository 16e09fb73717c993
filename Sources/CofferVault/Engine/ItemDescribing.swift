internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
internal import SystemPackage

struct ItemDescribing {
  let items: ItemTable
  private var view: VerifiedView { items.view }
  private var records: RecordSet { items.records }

  func describe(
    _ name: ItemName, as metadata: ItemMetadata, if condition: WriteCondition, keeping: Int?, _ change: inout Change
  ) throws(StoreError) -> VaultItem {
    try RecordLimits.check(metadata)
    let target = try items.target(name, &change)
    try items.require(condition, of: target.old.map(items.item))
    guard let id = try records.touch(items.bucket(of: target.index), change).record(at: target.index) else {
      throw missing("there is no such item", "list the items")
    }
    let record = try view.withRow(target.index, id, .all) { (row) throws(StoreError) in
      try view.checked { () throws(FormatError) in try row.open(keys: view.keys) }
    }
    var meta = record.meta
    meta.take(metadata)
    meta.modified = view.now
    if let keeping { meta.history = try RecordLimits.history(keeping) }
    if keeping == 0 { change.removesForGood = true }
    switch record.value {
    case .some(let value): return items.item(try items.store(meta, value, at: target, &change))
    case .none: throw ItemTable.withoutValue(name, view.place)
    }
  }

  private func missing(_ what: String, _ cure: String) -> StoreError {
    StoreError(.notFound, what, place: view.place.description, cure: cure)
  }
}
