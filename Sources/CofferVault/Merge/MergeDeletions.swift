internal import CofferPlatform
internal import CofferVaultFormat

struct MergeDeletions {
  private struct Deletion {
    let id: ItemID
    let moment: UInt64
    let content: MergeSource, past: [MergeSource]
  }

  /// Latest first. A record is found by the id of each of its versions, because a merge may have made it of two.
  private var byID: [ItemID: [Deletion]] = [:]

  init(_ items: ItemTable) throws(StoreError) {
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
        guard note.kind == .deleted else {
          past.append(source(note))
          continue
        }
        let deletion = Deletion(id: meta.id, moment: meta.modified, content: source(note), past: past)
        for id in ids { byID[id, default: []].append(deletion) }
        (past, ids) = ([], [])
      }
    }
    byID = byID.mapValues { $0.sorted { $0.moment > $1.moment } }
  }

  /// Whether a record of this very id was deleted, not only one made of it.
  func hasOne(of id: ItemID) -> Bool { last(of: id) != nil }

  private func last(of id: ItemID) -> Deletion? { byID[id]?.first { $0.id == id } }

  /// Nil if this vault did not delete `record`, or if the record changed since.
  ///
  /// Names do not decide: a merge changes names, so a later merge would match other deletions. A record deleted as a part of
  /// another is deleted with this vault's version.
  func moment(of record: MergeRecord, _ source: MergeSource) throws(StoreError) -> UInt64? {
    guard let candidates = byID[record.id] else { return nil }
    // A deletion after the last change needs no look at the values.
    if let last = last(of: record.id), record.modified <= last.moment { return last.moment }
    let content = try source.open(Change())
    for deletion in candidates where try Self.had(content, deletion) { return deletion.moment }
    return nil
  }

  /// Whether the other vault's version was deleted here, regardless of the clocks.
  private static func had(_ content: borrowing OpenRecord, _ deletion: Deletion) throws(StoreError) -> Bool {
    let none = Change()
    if try deletion.content.open(none).isDeletedValue(of: content) { return true }
    for previous in deletion.past {
      guard try previous.meta(none).isOfOneWrite(with: content.meta) else { continue }
      if try previous.open(none).isSameWrite(as: content) { return true }
    }
    return false
  }
}

extension MergeSide {
  func deletion(of record: MergeRecord, in other: MergeSide) throws(StoreError) -> UInt64? {
    try deletions.moment(of: record, MergeSource(items: other.items, table: .present, index: record.index, isOurs: false))
  }

  /// Like ``deletion(of:in:)`` for an item with its fields. A field changed since keeps its item.
  func deletion(ofItem item: MergeRecord, in other: MergeSide) throws(StoreError) -> UInt64? {
    guard let moment = try deletion(of: item, in: other) else { return nil }
    let isByID = deletions.hasOne(of: item.id)
    for field in other.fields(of: item) where !isByID || field.modified > moment {
      guard try deletion(of: field, in: other) != nil else { return nil }
    }
    return moment
  }
}
