internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat

extension ItemTable {
  struct Target {
    let name: ItemName
    let index: RecordIndex
    let old: RecordMeta?
  }

  func target(_ name: ItemName, _ change: inout Change) throws(StoreError) -> Target {
    try refuseHidden(name)
    let index = index(of: name)
    let bucket = self.bucket(of: index)
    // Read once: the next write in this change continues with it.
    if change.lists[bucket] == nil { change.lists[bucket] = try view.list(of: bucket, fresh: true) }
    let id = change.lists[bucket]?.record(at: index)
    let old = try id.map { (id) throws(StoreError) in try meta(index, id, of: name) }
    return Target(name: name, index: index, old: old)
  }

  /// Keeps the record at `target` if the description says so.
  ///
  /// - Parameter above: the number of revisions to leave free for previous versions that follow.
  func store(
    _ described: RecordMeta, _ value: borrowing SecretBytes, at target: Target, above: Int = 0, _ change: inout Change
  ) throws(StoreError) -> RecordMeta {
    var meta = described
    meta.revision = try revision(after: target, above: above, &change)
    // A secret that a logout removes must not survive in a history.
    if meta.history > 0, try endsWithSession(meta, target.name, &change) { meta.history = 0 }
    try RecordLimits.check(meta)
    if let old = target.old {
      // Neither does a withheld record replace another: a former one could come back with the rules of then.
      for part in [old, meta] { try refuseWithheld(part) }
      try history.keep(old, at: target.index, replacedBy: meta, &change)
    } else {
      try checkRoom(for: target.name, &change)
    }
    // Including the earlier history, and that of its fields.
    if meta.itemMetadata.isSessionItem, meta.field.isEmpty { try history.forget(target.index, &change) }
    let sealed = meta
    let record = try value.withUnsafeBytes { (value) throws(StoreError) in
      try records.seal(sealed, value, at: target.index)
    }
    try records.put(record, of: meta, &change)
    change.events.append(entry(.itemSet, target.index))
    return meta
  }

  /// Nothing of such a record is kept.
  func endsWithSession(
    _ meta: RecordMeta, _ name: ItemName, _ change: inout Change
  ) throws(StoreError) -> Bool {
    guard !meta.itemMetadata.isSessionItem else { return true }
    guard !name.field.isEmpty else { return false }
    let item = index(of: name.item)
    guard let id = try records.touch(bucket(of: item), change).record(at: item) else { return false }
    return try self.meta(item, id, of: name.item).itemMetadata.isSessionItem
  }

  func checkRoom(for name: ItemName, _ change: inout Change) throws(StoreError) {
    guard !name.field.isEmpty else { return }
    let item = index(of: name.item)
    guard try records.touch(bucket(of: item), change).record(at: item) != nil else {
      throw StoreError(
        .notFound, "the field's item does not exist", place: view.place.description, cure: "store the item first")
    }
    guard try records.notes(of: item, in: .present, &change).count < RecordMeta.mostFields else {
      throw StoreError(
        .tooLarge(limit: RecordMeta.mostFields), "the item has \(RecordMeta.mostFields) fields, and no room for another",
        place: view.place.description, cure: "delete a field first, or make another item")
    }
  }

  /// The next revision, above all ever known under this name.
  private func revision(after target: Target, above: Int, _ change: inout Change) throws(StoreError) -> UInt64 {
    // The current version has the highest revision. After a kept deletion the count continues.
    let last: UInt64
    if let old = target.old { last = old.revision } else { last = try records.highestRevision(of: target.index, &change) }
    return try view.checked { () throws(FormatError) in try FileCounter.next(last + UInt64(above), "revision of an item") }
  }

  /// - Parameter keeping: the number of previous versions to keep from now on; nil for as many as before.
  func put(
    _ form: SecretForm, for name: ItemName, if condition: WriteCondition, keeping: Int? = nil, _ change: inout Change
  ) throws(StoreError) -> VaultItem {
    try check(form)
    let target = try target(name, &change)
    try require(condition, of: target.old.map(item))
    var meta = description(of: form, name, replacing: target.old)
    if let keeping { meta.history = try RecordLimits.history(keeping) }
    // A caller that wants no history also wants the replaced value gone.
    if keeping == 0, target.old != nil { change.removesForGood = true }
    return item(try store(meta, form.bytes, at: target, &change))
  }

  /// An empty label or empty attributes come from the old description, but not the expiry, which belonged to the old value.
  private func description(of form: SecretForm, _ name: ItemName, replacing old: RecordMeta?) -> RecordMeta {
    let now = view.now
    var meta = RecordMeta(
      revision: 0, id: old?.id ?? .random(), service: name.service, account: name.account, field: name.field,
      created: old?.created ?? now, modified: now, valueCount: form.bytes.count)
    meta.take(form.metadata)
    if let old {
      if meta.label.isEmpty { meta.label = old.label }
      if meta.attributes.isEmpty { meta.setAttributes(old.attributes) }
      meta.named = old.named
      meta.history = old.history
    }
    return meta
  }

  func adopt(
    _ meta: RecordMeta, _ value: borrowing SecretBytes, at target: Target, above: Int = 0, _ change: inout Change
  ) throws(StoreError) -> RecordMeta {
    try RecordLimits.checkValue(value.count)
    try RecordLimits.check(meta)
    return try store(meta, value, at: target, above: above, &change)
  }

  func check(_ form: SecretForm) throws(StoreError) {
    guard form.bytes.isIntact else {
      throw StoreError(.afterFork, "the value is gone from this forked process", cure: "read it again in this process")
    }
    try RecordLimits.checkValue(form.bytes.count)
    try RecordLimits.check(form.metadata)
  }

  func apply(_ batch: Batch<Vault>, service: String, _ change: inout Change) throws(StoreError) {
    for (account, expected) in batch.expectations {
      guard try version(of: ItemName(service: service, account: account)) == expected else {
        throw StoreError(
          .conflict, "it was changed since it was read", key: account, place: view.place.description,
          cure: "read it again and retry")
      }
    }
    for (account, write) in batch.writes {
      let name = try ItemName(service: service, account: account)
      switch write {
      case .set(let form): _ = try put(form, for: name, if: .always, &change)
      case .remove: _ = try removals.remove(name, &change)
      }
    }
    if let id = batch.decides { try view.database.outcomes.commit(id, now: view.now) }
  }

  func entry(_ event: LogEntry.Event, _ index: RecordIndex) -> LogEntry {
    LogEntry(event, by: .current, time: view.now, index: index)
  }

  func require(_ condition: WriteCondition, of there: VaultItem?) throws(StoreError) {
    switch condition {
    case .always: return
    case .absent:
      guard there != nil else { return }
      throw StoreError(
        .alreadyExists, "the item already exists", place: view.place.description,
        cure: "choose another name, or remove that item first")
    case .revision(let expected):
      guard there?.revision != expected else { return }
      throw conflict("the item is at revision \(there?.revision ?? 0), not \(expected)")
    case .item(let id, let expected):
      guard let there, there.id == id else {
        throw conflict(there == nil ? "the item was removed" : "the item was removed, and another is stored under its name")
      }
      guard there.revision != expected else { return }
      throw conflict("the item is at revision \(there.revision), not \(expected)")
    }
  }

  private func conflict(_ what: String) -> StoreError {
    StoreError(.conflict, what, place: view.place.description, cure: "read it again and retry")
  }
}
