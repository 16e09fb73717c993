internal import CofferStorage
internal import CofferVaultFormat

/// A record that the item's name alone does not find: a field, or a previous version. Made by opening every description of a
/// bucket once; valid until the bucket's digest changes.
struct RecordNote: Sendable {
  let index: RecordIndex
  /// The indices of the current versions of its item and of the record. They differ for a field.
  let item: RecordIndex, present: RecordIndex
  let kind: RecordKind
  let revision: UInt64
  let deletion: RecordMeta.Deletion?

  /// Nil for the current version of an item, which its name finds.
  init?(_ meta: RecordMeta, at index: RecordIndex, keys: borrowing Subkeys) {
    guard !meta.isItem, meta.kind != .later else { return nil }
    self.index = index
    kind = meta.kind
    revision = meta.revision
    deletion = meta.deletion
    present = kind == .present ? index : meta.address.present.index(keys)
    item = meta.field.isEmpty ? present : meta.address.item.index(keys)
  }
}

/// Nil before the first look.
struct BucketNotes {
  /// Allocated at first use: most vaults have neither fields nor a past.
  private var notes: [[RecordNote]?] = []

  subscript(bucket: Int) -> [RecordNote]? {
    get { notes.isEmpty ? nil : notes[bucket] }
    set {
      if notes.isEmpty { notes = [[RecordNote]?](repeating: nil, count: DigestTree.buckets) }
      notes[bucket] = newValue
    }
  }

  mutating func forget(_ isChanged: (_ bucket: Int) -> Bool) {
    for bucket in notes.indices where notes[bucket] != nil && isChanged(bucket) { notes[bucket] = nil }
  }
}

extension RecordSet {
  /// The notes of an item, all in one bucket.
  ///
  /// - Parameter lenient: whether to skip records that do not open. A removal must not depend on the soundness of all
  ///   others.
  func notes(
    of item: RecordIndex, in table: RecordTable, lenient: Bool = false, _ change: inout Change
  ) throws(StoreError) -> [RecordNote] {
    guard mayHold(table, change) else { return [] }
    return try notes(inBucket: table.bucket(of: item), lenient: lenient, &change).filter { $0.item == item }
  }

  /// - Parameter pairs: the numbers of the buckets in their table; nil for all.
  func notes(in table: RecordTable, pairs: [Int]? = nil, _ change: inout Change) throws(StoreError) -> [RecordNote] {
    guard mayHold(table, change) else { return [] }
    var found: [RecordNote] = []
    for bucket in pairs?.map({ table.buckets.lowerBound + $0 }) ?? Array(table.buckets)
    where view.tree.digests[bucket] != .zero || change.lists[bucket] != nil {
      found += try notes(inBucket: bucket, lenient: false, &change)
    }
    return found
  }

  /// The highest revision among the previous versions of the record at `index`, which may be deleted.
  func highestRevision(of index: RecordIndex, _ change: inout Change) throws(StoreError) -> UInt64 {
    guard mayHold(.old, change) else { return 0 }
    return try notes(inBucket: RecordTable.old.bucket(of: index), lenient: false, &change).lazy
      .filter { $0.present == index }.map(\.revision).max() ?? 0
  }

  /// Avoids reads: most vaults keep no history and have no fields.
  private func mayHold(_ table: RecordTable, _ change: borrowing Change) -> Bool {
    switch table {
    case .present: view.state.counts.fields > 0 || change.added.addsFields
    case .old: !view.tree.isEmpty(.old) || change.hasTouchedPast
    }
  }

  func notes(inBucket bucket: Int, lenient: Bool, _ change: inout Change) throws(StoreError) -> [RecordNote] {
    view.consulted?.insert(bucket)
    if let known = change.notes[bucket] ?? view.notes[bucket] { return known }
    let isTouched = change.lists[bucket] != nil
    do throws(StoreError) {
      let notes = try read(bucket, change)
      // The notes of a changed bucket become valid with the commit.
      if isTouched { change.notes[bucket] = notes } else { view.notes[bucket] = notes }
      return notes
    } catch {
      guard lenient, error.kind == .tampered || error.kind == .damaged else { throw error }
      return try read(bucket, change, lenient: true)
    }
  }

  private func read(_ bucket: Int, _ change: borrowing Change, lenient: Bool = false) throws(StoreError) -> [RecordNote] {
    let table = RecordTable(ofBucket: bucket)
    var notes: [RecordNote] = []
    do throws(StoreError) {
      for entry in try list(of: bucket, change).entries {
        do throws(StoreError) { if let note = try note(entry, in: table) { notes.append(note) } } catch {
          try pass(error, lenient)
        }
      }
    } catch { try pass(error, lenient) }
    return notes
  }

  private func note(_ entry: BucketEntry, in table: RecordTable) throws(StoreError) -> RecordNote? {
    try view.withRow(entry.index, entry.id, in: table, .metadata) { (row) throws(StoreError) in
      let meta = try view.checked { () throws(FormatError) in try row.openMeta(keys: view.keys) }
      return RecordNote(meta, at: row.index, keys: view.keys)
    }
  }

  private func pass(_ error: StoreError, _ lenient: Bool) throws(StoreError) {
    guard lenient, error.kind == .tampered || error.kind == .damaged else { throw error }
  }

  /// - Parameter meta: nil if the record is removed.
  func note(_ meta: RecordMeta?, at index: RecordIndex, inBucket bucket: Int, _ change: inout Change) {
    guard let known = change.notes[bucket] ?? view.notes[bucket] else { return }
    let note = meta.flatMap { RecordNote($0, at: index, keys: view.keys) }
    guard note != nil || known.contains(where: { $0.index == index }) else { return }
    change.notes[bucket] = known.filter { $0.index != index } + (note.map { [$0] } ?? [])
  }
}
