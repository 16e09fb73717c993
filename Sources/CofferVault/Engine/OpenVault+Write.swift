internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

extension OpenVault {
  /// Stores `form` under `name` within a write transaction.
  func put(
    _ form: SecretForm, for name: ItemName, if condition: WriteCondition, _ change: inout Change
  ) throws(StoreError) -> VaultItem {
    guard form.bytes.isIntact else {
      throw StoreError(.locked, "the value is gone from this forked process", cure: "read it again in this process")
    }
    try RecordLimits.checkValue(form.bytes.count)
    try RecordLimits.check(form.metadata)
    let index = index(of: name)
    var list = try touch(index.bucket, change)
    let old = try list.record(at: index).map { (id) throws(StoreError) in try self.meta(index, id, of: name) }
    try require(condition, revision: old?.revision)

    let meta = try description(of: form, name, replacing: old)
    try RecordLimits.check(meta)
    let record = try form.bytes.withUnsafeBytes { (value) throws(StoreError) in
      try checked { () throws(FormatError) in try SealedRecord(meta, value: value, index: index, keys: keys) }
    }
    try put(record, replacing: old != nil)
    list.put(record.id, at: index)
    change.lists[index.bucket] = list
    if old == nil { change.added += 1 }
    change.events.append(entry(.itemSet, index))
    return item(meta)
  }

  /// What will be said of the item: a label or attributes left empty are those of before. An expiry is not kept: it belonged
  /// to the old value.
  private func description(
    of form: SecretForm, _ name: ItemName, replacing old: RecordMeta?
  ) throws(StoreError) -> RecordMeta {
    var meta = RecordMeta(
      revision: try revision(after: old), service: name.service, account: name.account, created: old?.created ?? now,
      modified: now, valueCount: form.bytes.count)
    meta.take(form.metadata)
    if let old {
      if meta.label.isEmpty { meta.label = old.label }
      if meta.attributes.isEmpty { meta.setAttributes(old.attributes) }
    }
    return meta
  }

  /// The revision of what takes the place of `old`, or of nothing.
  func revision(after old: RecordMeta?) throws(StoreError) -> UInt64 {
    try checked { () throws(FormatError) in try FileCounter.next(old?.revision ?? 0, RecordMeta.part) }
  }

  /// Stores a record's row, in place of the one that the verified list names there, or of none.
  func put(_ record: SealedRecord, replacing: Bool) throws(StoreError) {
    let isThere = try record.withRow { (row) throws(StoreError) in
      try row.index.withBytes { (index) throws(StoreError) in
        try row.id.withBytes { (id) throws(StoreError) in
          try database.putRecord(idx: index, rid: id, meta: row.meta, value: row.value, replacing: replacing)
        }
      }
    }
    guard isThere else { throw Self.tampered("a record that should exist is missing", path) }
  }

  /// Removes `name` within a write transaction; false when there is nothing.
  func remove(_ name: ItemName, _ change: inout Change) throws(StoreError) -> Bool {
    let index = index(of: name)
    var list = try touch(index.bucket, change)
    guard list.record(at: index) != nil else { return false }
    try index.withBytes { (index) throws(StoreError) in try database.deleteRecord(index) }
    list.remove(at: index)
    change.lists[index.bucket] = list
    change.added -= 1
    change.events.append(entry(.itemDeleted, index))
    return true
  }

  /// Applies a batch of one service within a write transaction.
  func apply(_ batch: Batch<Vault>, service: String, _ change: inout Change) throws(StoreError) {
    for (account, expected) in batch.expectations {
      guard try version(of: ItemName(service: service, account: account)) == expected else {
        throw StoreError(
          .conflict, "changed since it was read", key: account, place: path.string, cure: "read it again and retry")
      }
    }
    for (account, write) in batch.writes {
      let name = try ItemName(service: service, account: account)
      switch write {
      case .set(let form): _ = try put(form, for: name, if: .always, &change)
      case .remove: _ = try remove(name, &change)
      }
    }
    if let id = batch.decides { try database.commit(id, now: now) }
  }

  /// Seals what `change` did: digests, log, state, with the next generation.
  func seal(_ change: Change) throws(StoreError) -> SealedChange {
    var changed: [(bucket: Int, digest: Digest32)] = []
    for (bucket, list) in change.lists {
      let digest = DigestTree.digest(bucket, list.entries, keys: keys)
      changed.append((bucket, digest))
      guard digest != .zero else {
        try database.deleteDigest(bucket: bucket)
        continue
      }
      try digest.withBytes { (digest) throws(StoreError) in try database.putDigest(digest, bucket: bucket) }
    }
    let tree = tree.change(changed, keys: keys)
    var next = state
    for event in change.events { try Self.append(event, to: &next, database, keys) }
    try trimLog(&next)
    next.generation = try checked { () throws(FormatError) in
      max(try FileCounter.next(state.generation, VaultState.part), change.leastGeneration)
    }
    next.commit = .random()
    next.root = tree.root
    next.records = min(FileCounter.most, UInt64(clamping: Int64(clamping: state.records) + Int64(change.added)))
    next.time = now
    if let replica = change.formerReplica { next.note(replica) }
    if let replica = change.replica ?? pins?.replica { next.note(replica) }
    try Self.put(next, header, headerDigest, database, keys)
    return SealedChange(state: next, tree: tree, lists: change.lists)
  }

  /// Adds a row to the log, whose end `state` names.
  static func append(
    _ entry: LogEntry, to state: inout VaultState, _ database: VaultDatabase, _ keys: borrowing Subkeys
  ) throws(StoreError) {
    let last = state.logSequence
    let sequence = try checked(database.path) { () throws(FormatError) in try FileCounter.next(last, LogEntry.part) }
    let row = LogBox.seal(entry, sequence: sequence, after: state.logHead, keys: keys)
    state.logHead = try row.span.bytes.withUnsafeBytes { (row) throws(StoreError) in
      try database.appendLog(row, seq: sequence)
      return LogBox.head(after: state.logHead, sequence: sequence, row: row, keys: keys)
    }
    state.logSequence = sequence
  }

  static func put(
    _ state: VaultState, _ header: VaultHeader, _ headerDigest: Digest32, _ database: VaultDatabase,
    _ keys: borrowing Subkeys
  ) throws(StoreError) {
    let sealed = state.sealed(epoch: header.epoch, header: headerDigest, keys: keys)
    try sealed.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in try database.putState(bytes) }
  }

  /// A log entry about the record at `index`, by whoever asked for the change, now.
  private func entry(_ event: LogEntry.Event, _ index: RecordIndex) -> LogEntry {
    LogEntry(event, by: .current, time: now, index: index)
  }

  /// The list of a bucket that is about to change: the change's own, or the rows as they are, verified.
  func touch(_ bucket: Int, _ change: borrowing Change) throws(StoreError) -> BucketList {
    if let list = change.lists[bucket] { return list }
    return try list(of: bucket, fresh: true)
  }

  func require(_ condition: WriteCondition, revision: UInt64?) throws(StoreError) {
    switch condition {
    case .always: return
    case .absent:
      guard revision != nil else { return }
      throw StoreError(
        .alreadyExists, "the item exists already", place: path.string,
        cure: "choose another name, or replace it")
    case .revision(let expected):
      guard revision != expected else { return }
      throw StoreError(
        .conflict, "the item is at revision \(revision ?? 0), not \(expected)", place: path.string,
        cure: "read it again and retry")
    }
  }
}
