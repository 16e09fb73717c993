internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials
internal import SystemPackage

extension ItemTable {
  /// Where an item is to be written: its place, and what stands there.
  private struct Target {
    let name: ItemName
    let index: RecordIndex
    let old: RecordMeta?
  }

  private func target(_ name: ItemName, _ change: inout Change) throws(StoreError) -> Target {
    let index = index(of: name)
    let list = try records.touch(bucket(of: index), change)
    // Read once: what is written next goes on with it.
    change.lists[bucket(of: index)] = list
    let old = try list.record(at: index).map { (id) throws(StoreError) in try meta(index, id, of: name) }
    return Target(name: name, index: index, old: old)
  }

  /// Seals `value` under its description, at the next revision, in the place of what stands at `target`.
  private func store(
    _ described: RecordMeta, _ value: borrowing SecretBytes, at target: Target, _ change: inout Change
  ) throws(StoreError) -> RecordMeta {
    var meta = described
    meta.revision = try revision(after: target.old)
    try RecordLimits.check(meta)
    let sealed = meta
    let record = try value.withUnsafeBytes { (value) throws(StoreError) in
      try records.seal(sealed, value, at: target.index)
    }
    try records.put(record, in: .present, &change)
    change.events.append(entry(.itemSet, target.index))
    return meta
  }

  /// Stores `form` under `name` within a write transaction.
  func put(
    _ form: SecretForm, for name: ItemName, if condition: WriteCondition, _ change: inout Change
  ) throws(StoreError) -> VaultItem {
    try check(form)
    let target = try target(name, &change)
    try require(condition, revision: target.old?.revision)
    return item(try store(description(of: form, name, replacing: target.old), form.bytes, at: target, &change))
  }

  /// What will be said of the item: a label or attributes left empty are those of before. An expiry is not kept: it belonged
  /// to the old value.
  private func description(of form: SecretForm, _ name: ItemName, replacing old: RecordMeta?) -> RecordMeta {
    var meta = RecordMeta(
      revision: 0, service: name.service, account: name.account, created: old?.created ?? view.now, modified: view.now,
      valueCount: form.bytes.count)
    meta.take(form.metadata)
    if let old {
      if meta.label.isEmpty { meta.label = old.label }
      if meta.attributes.isEmpty { meta.setAttributes(old.attributes) }
    }
    return meta
  }

  /// Stores an imported item within a write transaction, with its own times and nothing of what was there but the count of writes.
  func adopt(_ item: ImportedItem, _ change: inout Change) throws(StoreError) {
    try check(item.form)
    var meta = RecordMeta(
      revision: 0, service: item.name.service, account: item.name.account,
      created: item.created.map(Milliseconds.count) ?? view.now,
      modified: item.modified.map(Milliseconds.count) ?? view.now, valueCount: item.form.bytes.count)
    meta.take(item.form.metadata)
    try adopt(meta, item.form.bytes, &change)
  }

  /// Stores a record of these names, whatever is there.
  func adopt(_ meta: RecordMeta, _ value: borrowing SecretBytes, _ change: inout Change) throws(StoreError) {
    try RecordLimits.checkValue(value.count)
    try RecordLimits.check(meta)
    let target = try target(ItemName(sealed: meta.service, meta.account), &change)
    _ = try store(meta, value, at: target, &change)
  }

  private func check(_ form: SecretForm) throws(StoreError) {
    guard form.bytes.isIntact else {
      throw StoreError(.afterFork, "the value is gone from this forked process", cure: "read it again in this process")
    }
    try RecordLimits.checkValue(form.bytes.count)
    try RecordLimits.check(form.metadata)
  }

  /// The revision of what takes the place of `old`, or of nothing.
  func revision(after old: RecordMeta?) throws(StoreError) -> UInt64 {
    try view.checked { () throws(FormatError) in try FileCounter.next(old?.revision ?? 0, RecordMeta.part) }
  }

  /// Removes `name` within a write transaction; false when there is nothing.
  func remove(_ name: ItemName, _ change: inout Change) throws(StoreError) -> Bool {
    let index = index(of: name)
    guard try records.drop(index, in: .present, &change) else { return false }
    change.events.append(entry(.itemDeleted, index))
    return true
  }

  /// Applies a batch of one service within a write transaction.
  func apply(_ batch: Batch<Vault>, service: String, _ change: inout Change) throws(StoreError) {
    for (account, expected) in batch.expectations {
      guard try version(of: ItemName(service: service, account: account)) == expected else {
        throw StoreError(
          .conflict, "changed since it was read", key: account, place: view.path.string, cure: "read it again and retry")
      }
    }
    for (account, write) in batch.writes {
      let name = try ItemName(service: service, account: account)
      switch write {
      case .set(let form): _ = try put(form, for: name, if: .always, &change)
      case .remove: _ = try remove(name, &change)
      }
    }
    if let id = batch.decides { try view.database.outcomes.commit(id, now: view.now) }
  }

  /// Stores the record of `name` under another name, and removes it, within a write transaction.
  func move(
    _ name: ItemName, to new: ItemName, if condition: WriteCondition, _ change: inout Change
  ) throws(StoreError) -> VaultItem {
    let from = index(of: name)
    guard let id = try records.touch(bucket(of: from), change).record(at: from) else {
      throw StoreError(.notFound, "there is no such item", place: view.path.string, cure: "look at the list of items")
    }
    let taken = try target(new, &change).old
    try require(condition, revision: taken?.revision)
    let record = try view.withRow(from, id, .all) { (row) throws(StoreError) in
      try view.checked { () throws(FormatError) in try row.open(keys: view.keys) }
    }
    var meta = record.meta
    (meta.service, meta.account) = (new.service, new.account)
    switch record.value {
    case .some(let value): try adopt(meta, value, &change)
    case .none: throw Self.withoutValue(name, view.path)
    }
    _ = try remove(name, &change)
    meta.revision = try revision(after: taken)
    return item(meta)
  }

  /// A log entry about the record at `index`, by whoever asked for the change, now.
  private func entry(_ event: LogEntry.Event, _ index: RecordIndex) -> LogEntry {
    LogEntry(event, by: .current, time: view.now, index: index)
  }

  func require(_ condition: WriteCondition, revision: UInt64?) throws(StoreError) {
    switch condition {
    case .always: return
    case .absent:
      guard revision != nil else { return }
      throw StoreError(
        .alreadyExists, "the item exists already", place: view.path.string,
        cure: "choose another name, or replace it")
    case .revision(let expected):
      guard revision != expected else { return }
      throw StoreError(
        .conflict, "the item is at revision \(revision ?? 0), not \(expected)", place: view.path.string,
        cure: "read it again and retry")
    }
  }
}

extension ItemTable {
  /// What an import will do, within a transaction.
  func plan(_ items: [ImportedItem], _ duplicates: DuplicatePolicy) throws(StoreError) -> ImportReport {
    var report = ImportReport()
    var seen: Set<ItemName> = []
    for item in items {
      guard seen.insert(item.name).inserted else {
        throw StoreError(
          .ambiguous, "the import names the item twice", key: item.name.description, place: view.path.string,
          cure: "leave one of them out")
      }
      guard try version(of: item.name) != .absent else {
        report.added.append(item.name)
        continue
      }
      switch duplicates {
      case .replace: report.replaced.append(item.name)
      case .keep: report.kept.append(item.name)
      case .refuse:
        throw StoreError(
          .alreadyExists, "there is such an item already, and nothing was imported", key: item.name.description,
          place: view.path.string, cure: "say whether imported items replace those that are there, or those are kept")
      }
    }
    return report
  }

  /// Copies the items of some services, or all, to `target` in one transaction of its own, and returns how many.
  func copyItems(of services: [String]?, to target: OpenVault) throws(StoreError) -> Int {
    var names: [ItemName] = []
    for service in services.map({ $0.map(Optional.some) }) ?? [nil] {
      let found = try list(service: service).map(\.name)
      if let service, found.isEmpty {
        throw StoreError(
          .notFound, "no item is of this service", key: service, place: view.path.string, cure: "check its spelling")
      }
      names += found
    }
    try target.write { (target, change) throws(StoreError) in
      for name in Set(names).sorted() {
        guard let record = try record(name) else { continue }
        switch record.value {
        case .some(let value): try target.items.adopt(record.meta, value, &change)
        case .none: throw Self.withoutValue(name, view.path)
        }
      }
    }
    return Set(names).count
  }
}
