internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows

/// A current or deleted content, and its previous versions, oldest first.
struct MergeLine {
  let top: MergeSource
  var past: [MergeSource]

  var all: [MergeSource] { past + [top] }
}

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

  private func found(_ change: borrowing Change) throws(StoreError) -> RecordID? {
    let bucket = table.bucket(of: index)
    return try (isOurs ? items.records.list(of: bucket, change) : items.view.list(of: bucket)).record(at: index)
  }

  func id(_ change: borrowing Change) throws(StoreError) -> RecordID {
    guard let id = try found(change) else {
      throw StoredParts.tampered("a record that should exist is missing", items.view.place)
    }
    return id
  }

  /// Whether this merge has not removed it.
  fileprivate func exists(_ change: borrowing Change) throws(StoreError) -> Bool {
    guard row == nil else { return true }
    return try found(change) != nil
  }

  /// Whether the other vault has this very row, under one key.
  func isRow(of other: ItemTable, _ change: borrowing Change) throws(StoreError) -> Bool {
    guard row == nil, other.view.keys.epochMark == items.view.keys.epochMark else { return false }
    return try other.records.list(of: table.bucket(of: index), change).record(at: index) == id(change)
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
    lifted.row = try items.view.withRow(index, id(change), in: table, .all) { SealedRecord($0) }
    return lifted
  }
}

extension MergeSource {
  init(_ note: RecordNote, of items: ItemTable, isOurs: Bool) {
    self.init(items: items, table: .old, index: note.index, revision: note.revision, isOurs: isOurs)
  }
}

extension [MergeSource] {
  func first(matching source: MergeSource, _ change: borrowing Change) throws(StoreError) -> MergeSource? {
    let meta = try source.meta(change)
    for other in self where try other.exists(change) {
      guard try other.meta(change).isOfOneVersion(with: meta) else { continue }
      let one = try source.open(change)
      if try one.isSameVersion(as: other.open(change)) { return other }
    }
    return nil
  }

  /// Whether this very write is among them.
  func hasWrite(_ content: borrowing OpenRecord, _ change: borrowing Change) throws(StoreError) -> Bool {
    for source in self where try source.meta(change).isOfOneWrite(with: content.meta) {
      if try source.open(change).isSameWrite(as: content) { return true }
    }
    return false
  }

  /// Those that `known` has not, each once.
  func missing(in known: [MergeSource], _ change: borrowing Change) throws(StoreError) -> [MergeSource] {
    var missing: [MergeSource] = []
    for source in self where try (known + missing).first(matching: source, change) == nil { missing.append(source) }
    return missing
  }

  /// Oldest first; of one moment as they are.
  func sorted(_ change: borrowing Change) throws(StoreError) -> [MergeSource] {
    let times = try map { (source) throws(StoreError) in
      let meta = try source.meta(change)
      return meta.kind == .deleted ? meta.written : meta.modified
    }
    return indices.sorted { (times[$0], $0) < (times[$1], $1) }.map { self[$0] }
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
