internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials
internal import SystemPackage

extension OpenVault {
  /// What an import will do, within a transaction.
  func plan(_ items: [ImportedItem], _ duplicates: DuplicatePolicy) throws(StoreError) -> ImportReport {
    var report = ImportReport()
    var seen: Set<ItemName> = []
    for item in items {
      guard seen.insert(item.name).inserted else {
        throw StoreError(
          .ambiguous, "the import names the item twice", key: item.name.description, place: path.string,
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
          place: path.string, cure: "say whether imported items replace those that are there, or those are kept")
      }
    }
    return report
  }

  /// Stores an imported item within a write transaction, with its own times and nothing of what was there but the count of writes.
  func adopt(_ item: ImportedItem, _ change: inout Change) throws(StoreError) {
    try RecordLimits.check(item.form.metadata)
    guard item.form.bytes.isIntact else {
      throw StoreError(.locked, "the value is gone from this forked process", cure: "read it again in this process")
    }
    var meta = RecordMeta(
      revision: 0, service: item.name.service, account: item.name.account, created: item.created.map(Milliseconds.count) ?? now,
      modified: item.modified.map(Milliseconds.count) ?? now, valueCount: item.form.bytes.count)
    meta.take(item.form.metadata)
    try adopt(meta, item.form.bytes, &change)
  }

  /// Stores a record of these names, whatever is there.
  private func adopt(
    _ imported: RecordMeta, _ value: borrowing SecretBytes, _ change: inout Change
  ) throws(StoreError) {
    var meta = imported
    try RecordLimits.checkValue(value.count)
    try RecordLimits.check(meta)
    let index = meta.index(.item, keys: keys)
    var list = try touch(index.bucket, change)
    let name = ItemName(sealed: meta.service, meta.account)
    let old = try list.record(at: index).map { (id) throws(StoreError) in try self.meta(index, id, of: name) }
    meta.revision = try revision(after: old)
    let sealed = meta
    let record = try value.withUnsafeBytes { (value) throws(StoreError) in
      try checked { () throws(FormatError) in try SealedRecord(sealed, value: value, index: index, keys: keys) }
    }
    try put(record, replacing: old != nil)
    list.put(record.id, at: index)
    change.lists[index.bucket] = list
    if old == nil { change.added += 1 }
    change.events.append(LogEntry(.itemSet, by: .current, time: now, index: index))
  }

  /// Stores the record of `name` under another name, and removes it, within a write transaction.
  func move(
    _ name: ItemName, to new: ItemName, if condition: WriteCondition, _ change: inout Change
  ) throws(StoreError) -> VaultItem {
    let (from, to) = (index(of: name), index(of: new))
    guard let id = try touch(from.bucket, change).record(at: from) else {
      throw StoreError(.notFound, "there is no such item", place: path.string, cure: "look at the list of items")
    }
    let taken = try touch(to.bucket, change).record(at: to).map { (id) throws(StoreError) in try self.meta(to, id, of: new) }
    try require(condition, revision: taken?.revision)
    let record = try withRow(from, id, .all) { (row) throws(StoreError) in
      try checked { () throws(FormatError) in try row.open(keys: keys) }
    }
    var meta = record.meta
    (meta.service, meta.account) = (new.service, new.account)
    switch record.value {
    case .some(let value): try adopt(meta, value, &change)
    case .none: throw Self.withoutValue(name, path)
    }
    _ = try remove(name, &change)
    meta.revision = try revision(after: taken)
    return item(meta)
  }

  /// The value and metadata of `name`, expired or not; nil within where the item has no value, and nil when there is no such item.
  func form(_ name: ItemName) throws(StoreError) -> SecretForm?? {
    guard let record = try record(name) else { return nil }
    return .some(record.form())
  }

  /// The error of an item that another program stored without a value: it can be told of, and there is nothing to hand out.
  static func withoutValue(_ name: ItemName, _ path: FilePath) -> StoreError {
    StoreError(
      .damaged, "the item has no value", key: name.description, place: path.string, cure: "store it again, or delete it")
  }

  private func record(_ name: ItemName) throws(StoreError) -> OpenRecord? {
    let index = index(of: name)
    guard let id = try list(of: index.bucket).record(at: index) else { return nil }
    return try withRow(index, id, .all) { (row) throws(StoreError) in
      try checked { () throws(FormatError) in try row.open(keys: keys) }
    }
  }

  /// Copies the items of some services, or all, to `target` in one transaction of its own, and returns how many.
  func copyItems(of services: [String]?, to target: OpenVault) throws(StoreError) -> Int {
    var names: [ItemName] = []
    for service in services.map({ $0.map(Optional.some) }) ?? [nil] {
      let found = try list(service: service).map(\.name)
      if let service, found.isEmpty {
        throw StoreError(.notFound, "no item is of this service", key: service, place: path.string, cure: "check its spelling")
      }
      names += found
    }
    try target.write { (change) throws(StoreError) in
      for name in Set(names).sorted() {
        guard let record = try record(name) else { continue }
        switch record.value {
        case .some(let value): try target.adopt(record.meta, value, &change)
        case .none: throw Self.withoutValue(name, path)
        }
      }
    }
    return Set(names).count
  }
}
