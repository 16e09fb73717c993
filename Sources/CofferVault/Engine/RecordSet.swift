internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat

/// Called within a transaction, which gathers its changes in its ``Change``.
struct RecordSet {
  let view: VerifiedView

  /// The change's own list, or one that is reread and verified.
  func touch(_ bucket: Int, _ change: borrowing Change) throws(StoreError) -> BucketList {
    if let list = change.lists[bucket] { return list }
    return try view.list(of: bucket, fresh: true)
  }

  func list(of bucket: Int, _ change: borrowing Change) throws(StoreError) -> BucketList {
    if let list = change.lists[bucket] { return list }
    return try view.list(of: bucket)
  }

  /// - Parameter index: that of the description, if already known.
  func seal(
    _ meta: RecordMeta, _ value: UnsafeRawBufferPointer?, at index: RecordIndex? = nil
  ) throws(StoreError) -> SealedRecord {
    try view.checked { () throws(FormatError) in try SealedRecord(meta, value: value, index: index, keys: view.keys) }
  }

  func put(_ record: SealedRecord, of meta: RecordMeta, _ change: inout Change) throws(StoreError) {
    let table = meta.kind.table
    let bucket = table.bucket(of: record.index)
    if change.lists[bucket] == nil { change.lists[bucket] = try view.list(of: bucket, fresh: true) }
    // In place, without a copy of the list. A failed write ends the transaction, and this change with it.
    let replacing = change.lists[bucket]?.put(record.id, at: record.index) ?? false
    try view.database.put(record, in: table, replacing: replacing)
    if table == .old { change.hasTouchedPast = true }
    if !meta.isItem { note(meta, at: record.index, inBucket: bucket, &change) }
    if !replacing { change.added.count(meta.role) }
  }

  /// - Parameter forGood: whether no byte may be left. False for a content that is stored elsewhere, or that a write drops
  ///   from the history without a request to shorten it.
  /// - Returns: false if there is none.
  func drop(
    _ index: RecordIndex, as role: RecordCounts.Role, forGood: Bool = true, _ change: inout Change
  ) throws(StoreError) -> Bool {
    let table = role == .past ? RecordTable.old : .present
    let bucket = table.bucket(of: index)
    var list = try touch(bucket, change)
    guard list.record(at: index) != nil else { return false }
    try view.database.deleteRecord(at: index, in: table)
    list.remove(at: index)
    change.lists[bucket] = list
    note(nil, at: index, inBucket: bucket, &change)
    change.added.count(role, -1)
    if forGood { change.removesForGood = true }
    return true
  }
}

extension SealedRecord {
  /// A copy of a lent row.
  init(_ row: RecordRow) {
    self.init(index: row.index, id: row.id, meta: Array(row.meta), value: row.value.map { Array($0) })
  }
}

extension OpenRecord {
  borrowing func sealed(as meta: RecordMeta, keys: borrowing Subkeys) throws(FormatError) -> SealedRecord {
    switch value {
    case .some(let value):
      try value.withUnsafeBytes { (value) throws(FormatError) in try SealedRecord(meta, value: value, keys: keys) }
    case .none: try SealedRecord(meta, value: nil, keys: keys)
    }
  }
}
