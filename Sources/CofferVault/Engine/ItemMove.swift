internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows

/// Changes of names and descriptions, which leave the values.
struct ItemMove {
  let items: ItemTable
  private var view: VerifiedView { items.view }
  private var records: RecordSet { items.records }
  private var history: ItemHistory { items.history }

  /// Moves a record with its fields and their history. Replaces an item of the new name and its fields.
  func move(
    _ name: ItemName, to new: ItemName, if condition: WriteCondition, _ change: inout Change
  ) throws(StoreError) -> VaultItem {
    guard name.field.isEmpty == new.field.isEmpty else {
      throw StoreError(
        .invalidName, "an item cannot become a field, nor a field an item", place: view.place.description,
        cure: "store it under the new name")
    }
    try items.refuseHidden(name)
    let from = items.index(of: name)
    guard try records.touch(items.bucket(of: from), change).record(at: from) != nil else {
      throw missing
    }
    let taken = try items.target(new, &change).old
    try items.require(condition, of: taken.map(items.item))
    guard new.field.isEmpty else { return items.item(try moveRecord(from, to: new, &change)) }
    let fields = try records.notes(of: from, in: .present, &change)
    let moved = try moveRecord(from, to: new, &change)
    for field in fields {
      let name = try self.name(ofRecordAt: field.index, change)
      _ = try moveRecord(field.index, to: ItemName(sealed: new.service, new.account, field: name.field), &change)
    }
    return items.item(moved)
  }

  private func moveRecord(_ from: RecordIndex, to new: ItemName, _ change: inout Change) throws(StoreError) -> RecordMeta {
    let taken = try items.target(new, &change)
    // The replaced item goes for good, with its fields and history. The revisions continue.
    if taken.old != nil { _ = try items.removals.remove(new, &change) }
    let target = ItemTable.Target(name: new, index: taken.index, old: nil)
    guard let id = try records.touch(items.bucket(of: from), change).record(at: from) else {
      throw StoredParts.tampered("a record that should exist is missing", view.place)
    }
    let record = try view.open(from, id)
    let past = try history.past(of: record.meta, at: from, &change)
    var meta = record.meta
    // A field that moves with its item keeps its own name.
    if new.field.isEmpty || !new.field.hasSameBytes(as: meta.field) { meta.named = view.now }
    (meta.service, meta.account, meta.field) = (new.service, new.account, new.field)
    let stored: RecordMeta
    switch record.value {
    case .some(let value):
      stored = try items.adopt(meta, value, at: target, above: past.count + Int(taken.old?.revision ?? 0), &change)
    case .none: throw ItemTable.withoutValue(record.meta.name, view.place)
    }
    try history.move(past, before: stored, &change)
    _ = try records.drop(from, as: record.meta.role, forGood: false, &change)
    change.events.append(items.entry(.itemDeleted, from))
    return stored
  }

  private func name(ofRecordAt index: RecordIndex, _ change: borrowing Change) throws(StoreError) -> ItemName {
    guard let id = try records.touch(items.bucket(of: index), change).record(at: index) else {
      throw StoredParts.tampered("a record that should exist is missing", view.place)
    }
    return try view.openMeta(index, id).name
  }

  func describe(
    _ name: ItemName, as metadata: ItemMetadata, if condition: WriteCondition, keeping: Int?, _ change: inout Change
  ) throws(StoreError) -> VaultItem {
    try RecordLimits.check(metadata)
    let target = try items.target(name, &change)
    try items.require(condition, of: target.old.map(items.item))
    guard let id = try records.touch(items.bucket(of: target.index), change).record(at: target.index) else {
      throw missing
    }
    let record = try view.open(target.index, id)
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

  private var missing: StoreError {
    StoreError(.notFound, "there is no such item", place: view.place.description, cure: "list the items")
  }
}
