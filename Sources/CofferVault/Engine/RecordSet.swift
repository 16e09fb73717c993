internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows

/// The records of a vault, by their places. Called within a transaction, which gathers its changes in its ``Change``.
struct RecordSet {
  let view: VerifiedView

  /// The list of a bucket that is about to change: the change's own, or the rows as they are, verified.
  func touch(_ bucket: Int, _ change: borrowing Change) throws(StoreError) -> BucketList {
    if let list = change.lists[bucket] { return list }
    return try view.list(of: bucket, fresh: true)
  }

  /// The list of a bucket, as the change has it so far.
  func list(of bucket: Int, _ change: borrowing Change) throws(StoreError) -> BucketList {
    if let list = change.lists[bucket] { return list }
    return try view.list(of: bucket)
  }

  /// Seals `value`, nil for none, under its description.
  ///
  /// - Parameter index: that of the description, where the caller has it already.
  func seal(
    _ meta: RecordMeta, _ value: UnsafeRawBufferPointer?, at index: RecordIndex? = nil
  ) throws(StoreError) -> SealedRecord {
    try view.checked { () throws(FormatError) in try SealedRecord(meta, value: value, index: index, keys: view.keys) }
  }

  /// Stores a record, which `meta` describes, in its table, in the place of the one with its index, if there is one.
  func put(_ record: SealedRecord, of meta: RecordMeta, _ change: inout Change) throws(StoreError) {
    let table = meta.kind.table
    let bucket = table.bucket(of: record.index)
    if change.lists[bucket] == nil { change.lists[bucket] = try view.list(of: bucket, fresh: true) }
    // In its place, without a copy of the list. A write that fails ends the transaction, and this change with it.
    let replacing = change.lists[bucket]?.put(record.id, at: record.index) ?? false
    try view.database.put(record, in: table, replacing: replacing)
    if table == .old { change.hasTouchedPast = true }
    if !meta.isItem { note(meta, at: record.index, inBucket: bucket, &change) }
    if !replacing { change.added.count(meta.role) }
  }

  /// Removes the record at `index`, which counts as `role`; false where there is none.
  ///
  /// - Parameter forGood: whether nothing may be left of its bytes: not of a content that is stored elsewhere, nor of one that a
  ///   write without a wish about the past pushes out.
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

extension OpenRecord {
  /// The record, sealed anew under another description of the same value, or other keys.
  borrowing func sealed(as meta: RecordMeta, keys: borrowing Subkeys) throws(FormatError) -> SealedRecord {
    switch value {
    case .some(let value):
      try value.withUnsafeBytes { (value) throws(FormatError) in try SealedRecord(meta, value: value, keys: keys) }
    case .none: try SealedRecord(meta, value: nil, keys: keys)
    }
  }
}
