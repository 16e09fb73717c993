internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials
internal import SystemPackage

extension ItemTable {
  /// Where a content is to be written: its name and place, and what stands there.
  struct Target {
    let name: ItemName
    let index: RecordIndex
    let old: RecordMeta?
  }

  func target(_ name: ItemName, _ change: inout Change) throws(StoreError) -> Target {
    let index = index(of: name)
    let bucket = self.bucket(of: index)
    // Read once: what is written next goes on with it.
    if change.lists[bucket] == nil { change.lists[bucket] = try view.list(of: bucket, fresh: true) }
    let id = change.lists[bucket]?.record(at: index)
    let old = try id.map { (id) throws(StoreError) in try meta(index, id, of: name) }
    return Target(name: name, index: index, old: old)
  }

  /// Seals `value` under its description, at the next revision, in the place of what stands at `target`, which is kept where the
  /// description says so.
  ///
  /// - Parameter above: how many revisions are left out, for contents of the past that come along.
  func store(
    _ described: RecordMeta, _ value: borrowing SecretBytes, at target: Target, above: Int = 0, _ change: inout Change
  ) throws(StoreError) -> RecordMeta {
    var meta = described
    meta.revision = try revision(after: target, above: above, &change)
    // What a logout removes is gone then, and was nowhere else before.
    if meta.history > 0, try endsWithSession(meta, target.name, &change) { meta.history = 0 }
    try RecordLimits.check(meta)
    if let old = target.old {
      try history.keep(old, at: target.index, replacedBy: meta, &change)
    } else {
      try checkRoom(for: target.name, &change)
    }
    // Also what was kept before it was one, and of its fields.
    if meta.itemMetadata.isSessionItem, meta.field.isEmpty { try history.forget(target.index, &change) }
    let sealed = meta
    let record = try value.withUnsafeBytes { (value) throws(StoreError) in
      try records.seal(sealed, value, at: target.index)
    }
    try records.put(record, of: meta, &change)
    change.events.append(entry(.itemSet, target.index))
    return meta
  }

  /// Checks that a field that is not there yet may be made: its item is there, and has room for it.
  func checkRoom(for name: ItemName, _ change: inout Change) throws(StoreError) {
    guard !name.field.isEmpty else { return }
    let item = index(of: name.item)
    guard try records.touch(bucket(of: item), change).record(at: item) != nil else {
      throw StoreError(
        .notFound, "there is no such item, whose field it would be", place: view.path.string, cure: "store the item first")
    }
    guard try records.notes(of: item, in: .present, &change).count < RecordMeta.mostFields else {
      throw StoreError(
        .tooLarge(limit: RecordMeta.mostFields), "the item has \(RecordMeta.mostFields) fields, and no room for another",
        place: view.path.string, cure: "delete a field first, or make another item")
    }
  }

  /// The revision of what is stored at `target`: one above all that were ever known under its name.
  private func revision(after target: Target, above: Int, _ change: inout Change) throws(StoreError) -> UInt64 {
    // A present content's is the highest. One that was deleted and kept goes on counting.
    let last: UInt64
    if let old = target.old { last = old.revision } else { last = try records.highestRevision(of: target.index, &change) }
    return try view.checked { () throws(FormatError) in try FileCounter.next(last + UInt64(above), RecordMeta.part) }
  }

  /// Stores `form` under `name` within a write transaction.
  ///
  /// - Parameter keeping: how many former contents are kept from now on; nil for as many as before.
  func put(
    _ form: SecretForm, for name: ItemName, if condition: WriteCondition, keeping: Int? = nil, _ change: inout Change
  ) throws(StoreError) -> VaultItem {
    try check(form)
    let target = try target(name, &change)
    try require(condition, revision: target.old?.revision)
    var meta = description(of: form, name, replacing: target.old)
    if let keeping { meta.history = try RecordLimits.history(keeping) }
    return item(try store(meta, form.bytes, at: target, &change))
  }

  /// What will be said of the item: a label or attributes left empty are those of before. An expiry is not kept: it belonged
  /// to the old value.
  private func description(of form: SecretForm, _ name: ItemName, replacing old: RecordMeta?) -> RecordMeta {
    var meta = RecordMeta(
      revision: 0, id: old?.id ?? .random(), service: name.service, account: name.account, field: name.field,
      created: old?.created ?? view.now, modified: view.now, valueCount: form.bytes.count)
    meta.take(form.metadata)
    if let old {
      if meta.label.isEmpty { meta.label = old.label }
      if meta.attributes.isEmpty { meta.setAttributes(old.attributes) }
      meta.history = old.history
    }
    return meta
  }

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

  /// Stores an imported item within a write transaction, with its own times and nothing of what was there but the count of writes.
  func adopt(_ item: ImportedItem, _ change: inout Change) throws(StoreError) {
    try check(item.form)
    let target = try target(item.name, &change)
    var meta = RecordMeta(
      revision: 0, id: target.old?.id ?? .random(), service: item.name.service, account: item.name.account,
      field: item.name.field,
      created: item.created.map(Milliseconds.count) ?? view.now,
      modified: item.modified.map(Milliseconds.count) ?? view.now, valueCount: item.form.bytes.count)
    meta.take(item.form.metadata)
    meta.history = target.old?.history ?? 0
    _ = try adopt(meta, item.form.bytes, at: target, &change)
  }

  /// Stores a record of another name or vault, whatever is there.
  func adopt(
    _ meta: RecordMeta, _ value: borrowing SecretBytes, at target: Target, above: Int = 0, _ change: inout Change
  ) throws(StoreError) -> RecordMeta {
    try RecordLimits.checkValue(value.count)
    try RecordLimits.check(meta)
    return try store(meta, value, at: target, above: above, &change)
  }

  private func check(_ form: SecretForm) throws(StoreError) {
    guard form.bytes.isIntact else {
      throw StoreError(.afterFork, "the value is gone from this forked process", cure: "read it again in this process")
    }
    try RecordLimits.checkValue(form.bytes.count)
    try RecordLimits.check(form.metadata)
  }

  /// Removes `name` within a write transaction, an item with its fields; false when there is nothing.
  ///
  /// - Parameter date: until when it can be brought back; nil where all that is known of its past goes as well.
  func remove(_ name: ItemName, keptUntil date: Date? = nil, _ change: inout Change) throws(StoreError) -> Bool {
    let index = index(of: name)
    guard let id = try records.touch(bucket(of: index), change).record(at: index) else { return false }
    var until = date.map { $0 == .distantFuture ? 0 : Milliseconds.count($0) }
    if until != nil, try endsWithSession(meta(index, id, of: name), name, &change) { until = nil }
    let fields = try name.field.isEmpty ? records.notes(of: index, in: .present, lenient: true, &change).map(\.index) : []
    let own: RecordCounts.Role = name.field.isEmpty ? .item : .field
    for (index, role) in [(index, own)] + fields.map({ ($0, .field) }) {
      if let until { try history.keepDeleted(index, until: until, &change) }
      _ = try records.drop(index, as: role, &change)
      change.events.append(entry(.itemDeleted, index))
    }
    if until == nil {
      try history.forget(name.field.isEmpty ? index : self.index(of: name.item), only: name.field.isEmpty ? nil : index, &change)
    } else {
      try history.dropExpired(beside: index, &change)
    }
    return true
  }

  /// Whether a record, or the item whose field it is, ends with a session: nothing of it is kept.
  private func endsWithSession(
    _ meta: RecordMeta, _ name: ItemName, _ change: inout Change
  ) throws(StoreError) -> Bool {
    guard !meta.itemMetadata.isSessionItem else { return true }
    guard !name.field.isEmpty else { return false }
    let item = index(of: name.item)
    guard let id = try records.touch(bucket(of: item), change).record(at: item) else { return false }
    return try self.meta(item, id, of: name.item).itemMetadata.isSessionItem
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

  /// Stores the record of `name` under another name, with its fields and what is kept of their past, and removes it, within a write
  /// transaction. What has the name already is replaced, with its fields.
  func move(
    _ name: ItemName, to new: ItemName, if condition: WriteCondition, _ change: inout Change
  ) throws(StoreError) -> VaultItem {
    guard name.field.isEmpty == new.field.isEmpty else {
      throw StoreError(
        .invalidName, "an item cannot become a field, nor a field an item", place: view.path.string,
        cure: "store it under the new name")
    }
    let from = index(of: name)
    guard try records.touch(bucket(of: from), change).record(at: from) != nil else {
      throw StoreError(.notFound, "there is no such item", place: view.path.string, cure: "look at the list of items")
    }
    let taken = try target(new, &change).old
    try require(condition, revision: taken?.revision)
    guard new.field.isEmpty else { return item(try moveRecord(from, to: new, &change)) }
    let fields = try records.notes(of: from, in: .present, &change)
    for field in try records.notes(of: index(of: new), in: .present, &change) {
      _ = try remove(self.name(ofRecordAt: field.index, change), &change)
    }
    let moved = try moveRecord(from, to: new, &change)
    for field in fields {
      let name = try self.name(ofRecordAt: field.index, change)
      _ = try moveRecord(field.index, to: ItemName(sealed: new.service, new.account, field: name.field), &change)
    }
    return item(moved)
  }

  /// Stores one record under another name, and removes it.
  private func moveRecord(_ from: RecordIndex, to new: ItemName, _ change: inout Change) throws(StoreError) -> RecordMeta {
    let target = try target(new, &change)
    guard let id = try records.touch(bucket(of: from), change).record(at: from) else {
      throw VerifiedView.tampered("a record that should exist is missing", view.path)
    }
    let record = try view.withRow(from, id, .all) { (row) throws(StoreError) in
      try view.checked { () throws(FormatError) in try row.open(keys: view.keys) }
    }
    let past = try history.past(of: record.meta, at: from, &change)
    var meta = record.meta
    (meta.service, meta.account, meta.field) = (new.service, new.account, new.field)
    let stored: RecordMeta
    switch record.value {
    case .some(let value): stored = try adopt(meta, value, at: target, above: past.count, &change)
    case .none: throw Self.withoutValue(record.meta.name, view.path)
    }
    try history.move(past, before: stored, &change)
    _ = try records.drop(from, as: record.meta.role, &change)
    change.events.append(entry(.itemDeleted, from))
    return stored
  }

  private func name(ofRecordAt index: RecordIndex, _ change: borrowing Change) throws(StoreError) -> ItemName {
    guard let id = try records.touch(bucket(of: index), change).record(at: index) else {
      throw VerifiedView.tampered("a record that should exist is missing", view.path)
    }
    return try view.withRow(index, id, .metadata) { (row) throws(StoreError) in
      try view.checked { () throws(FormatError) in try row.openMeta(keys: view.keys).name }
    }
  }

  /// A log entry about the record at `index`, by whoever asked for the change, now.
  func entry(_ event: LogEntry.Event, _ index: RecordIndex) -> LogEntry {
    LogEntry(event, by: .current, time: view.now, index: index)
  }

  func require(_ condition: WriteCondition, revision: UInt64?) throws(StoreError) {
    switch condition {
    case .always: return
    case .absent:
      guard revision != nil else { return }
      throw StoreError(
        .alreadyExists, "the item exists already", place: view.path.string,
        cure: "choose another name, or remove that item first")
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
    // A field goes the way of its item: parts of one and parts of the other would be neither.
    var kept: Set<ItemName> = []
    if duplicates == .keep {
      for item in items where item.name.field.isEmpty {
        if try version(of: item.name) != .absent { kept.insert(item.name) }
      }
    }
    for item in items {
      guard seen.insert(item.name).inserted else {
        throw StoreError(
          .ambiguous, "the import names the item twice", key: item.name.description, place: view.path.string,
          cure: "leave one of them out")
      }
      guard !kept.contains(item.name.item) else {
        report.kept.append(item.name)
        continue
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
      let found = try list(service: service, withFields: true).map(\.name)
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
        case .some(let value):
          _ = try target.items.adopt(record.meta, value, at: target.items.target(name, &change), &change)
        case .none: throw Self.withoutValue(name, view.path)
        }
      }
    }
    return Set(names).count(where: \.field.isEmpty)
  }
}
