internal import CofferPlatform
internal import CofferVaultFormat

/// A deleted content with the previous versions of its time.
struct MergeDeletion {
  let id: ItemID
  let name: ItemName
  let history: UInt8
  /// As recorded, and as it counts: a clock ahead of this one deletes nothing that is written from now on.
  let recorded: UInt64, moment: UInt64
  let deletion: RecordMeta.Deletion
  /// Whether the other vault takes it over.
  let isCarried: Bool
  let line: MergeLine
}

struct MergeDeletions {
  /// In the order of their revisions for each record.
  private(set) var all: [MergeDeletion] = []
  /// Latest first. A record is found by the id of each of its versions, because a merge may have made it of two.
  private var byID: [ItemID: [MergeDeletion]] = [:]

  init(_ items: ItemTable, leavingOut isLeftOut: (VaultItem) -> Bool) throws(StoreError) {
    var none = Change()
    let source = { (note: RecordNote) in
      // Only read, so the flag does not matter.
      MergeSource(items: items, table: .old, index: note.index, revision: note.revision, isOurs: false)
    }
    let known = try items.records.notes(in: .old, &none)
    for notes in Dictionary(grouping: known, by: \.present).values {
      var past: [MergeSource] = [], ids: Set<ItemID> = []
      for note in notes.sorted(by: { $0.revision < $1.revision }) {
        let meta = try items.history.meta(note)
        ids.insert(meta.id)
        guard let deletion = meta.deletion else {
          past.append(source(note))
          continue
        }
        let isCarried = !items.history.isOver(note) && MergeSide.exclusion(meta, items.item(meta), isLeftOut) == nil
        let found = MergeDeletion(
          id: meta.id, name: meta.name, history: meta.history, recorded: meta.modified,
          moment: min(meta.modified, items.view.now), deletion: deletion, isCarried: isCarried,
          line: MergeLine(top: source(note), past: past))
        all.append(found)
        for id in ids { byID[id, default: []].append(found) }
        (past, ids) = ([], [])
      }
    }
    byID = byID.mapValues { $0.sorted { $0.moment > $1.moment } }
  }

  /// The last deletion of a record of this very id, not only of one made of it.
  func last(of id: ItemID) -> MergeDeletion? { byID[id]?.first { $0.id == id } }

  /// Nil if this vault did not delete `record`, or if the record changed since.
  ///
  /// Names do not decide: a merge changes names, so a later merge would match other deletions. A record deleted as a part of
  /// another is deleted with this vault's version.
  func deletion(of record: MergeRecord, _ source: MergeSource) throws(StoreError) -> MergeDeletion? {
    guard let candidates = byID[record.id] else { return nil }
    // A deletion after the last change needs no look at the values.
    if let last = last(of: record.id), record.modified <= last.moment { return last }
    let content = try source.open(Change())
    for deletion in candidates where try Self.had(content, deletion.line) { return deletion }
    return nil
  }

  /// Whether the other vault's version was deleted here, regardless of the clocks.
  private static func had(_ content: borrowing OpenRecord, _ line: MergeLine) throws(StoreError) -> Bool {
    let none = Change()
    if try line.top.open(none).isDeletedValue(of: content) { return true }
    for previous in line.past {
      guard try previous.meta(none).isOfOneWrite(with: content.meta) else { continue }
      if try previous.open(none).isSameWrite(as: content) { return true }
    }
    return false
  }
}

extension MergeSide {
  func deletion(of record: MergeRecord, in other: MergeSide) throws(StoreError) -> MergeDeletion? {
    try deletions.deletion(of: record, MergeSource(items: other.items, table: .present, index: record.index, isOurs: false))
  }

  /// Like ``deletion(of:in:)`` for an item with its fields. A field changed since keeps its item.
  func deletion(ofItem item: MergeRecord, in other: MergeSide) throws(StoreError) -> MergeDeletion? {
    guard let found = try deletion(of: item, in: other) else { return nil }
    let isByID = deletions.last(of: item.id) != nil
    for field in other.fields(of: item) where !isByID || field.modified > found.moment {
      guard try deletion(of: field, in: other) != nil else { return nil }
    }
    return found
  }
}
