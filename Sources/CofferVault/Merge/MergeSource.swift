internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows

/// The place of a content that a merge compares or stores.
struct MergeSource {
  let items: ItemTable
  let table: RecordTable
  let index: RecordIndex
  /// Set for a previous version.
  var revision: UInt64 = 0
  /// Set for a record already removed from its place.
  var row: SealedRecord?
  /// Whether it is in the vault that changes.
  let isOurs: Bool

  var isInPlace: Bool { isOurs && table == .old && row == nil }

  private func id(_ change: borrowing Change) throws(StoreError) -> RecordID {
    let bucket = table.bucket(of: index)
    let list = isOurs ? try items.records.list(of: bucket, change) : try items.view.list(of: bucket)
    guard let id = list.record(at: index) else {
      throw StoredParts.tampered("a record that should exist is missing", items.view.place)
    }
    return id
  }

  func open(_ change: borrowing Change) throws(StoreError) -> OpenRecord {
    let view = items.view
    if let row { return try view.checked { () throws(FormatError) in try row.open(in: table, keys: view.keys) } }
    return try view.open(index, id(change), in: table)
  }

  func meta(_ change: borrowing Change) throws(StoreError) -> RecordMeta {
    guard row == nil else { return try open(change).meta }
    let view = items.view
    return try view.openMeta(index, id(change), in: table)
  }

  /// The same with its row in memory, for use after its removal.
  func lifted(_ change: borrowing Change) throws(StoreError) -> MergeSource {
    var lifted = self
    lifted.row = try items.view.withRow(index, id(change), in: table, .all) { (row) throws(StoreError) in
      SealedRecord(index: row.index, id: row.id, meta: Array(row.meta), value: row.value.map { Array($0) })
    }
    return lifted
  }
}

extension SealedRecord {
  fileprivate func open(in table: RecordTable, keys: borrowing Subkeys) throws(FormatError) -> OpenRecord {
    try meta.span.bytes.withUnsafeBytes { (meta) throws(FormatError) in
      guard let value else {
        return try RecordRow(table: table, index: index, id: id, meta: meta, value: nil).open(keys: keys)
      }
      return try value.span.bytes.withUnsafeBytes { (value) throws(FormatError) in
        try RecordRow(table: table, index: index, id: id, meta: meta, value: value).open(keys: keys)
      }
    }
  }
}
