internal import CofferPlatform

/// What one of the vaults of a merge knows of what it deleted.
struct MergeDeletions {
  /// One record that was deleted and is kept.
  private struct Deletion {
    let id: ItemID
    let moment: UInt64
    /// The deleted content, and those that came before it since the record was made.
    let content: MergeSource, past: [MergeSource]
  }

  /// The last first.
  private var byID: [ItemID: [Deletion]] = [:], byName: [ItemName: [Deletion]] = [:]

  init(_ items: ItemTable) throws(StoreError) {
    var none = Change()
    let source = { (note: RecordNote) in
      // Nothing is written to these: which vault is whose does not matter.
      MergeSource(items: items, table: .old, index: note.index, revision: note.revision, isOurs: false)
    }
    let known = try items.records.notes(in: .old, &none)
    for notes in Dictionary(grouping: known, by: \.present).values {
      var past: [MergeSource] = []
      for note in notes.sorted(by: { $0.revision < $1.revision }) {
        guard note.kind == .deleted else {
          past.append(source(note))
          continue
        }
        let meta = try items.history.meta(note)
        let deletion = Deletion(id: meta.id, moment: meta.modified, content: source(note), past: past)
        byID[meta.id, default: []].append(deletion)
        byName[meta.name, default: []].append(deletion)
        past = []
      }
    }
    byID = byID.mapValues { $0.sorted { $0.moment > $1.moment } }
    byName = byName.mapValues { $0.sorted { $0.moment > $1.moment } }
  }

  func hasOne(of id: ItemID) -> Bool { byID[id] != nil }

  /// When `record` of the other vault was deleted in this one; nil where it was not, or was changed since.
  ///
  /// Where only the name is that of what was deleted, the record may be something else. It is the same where this vault had its content, and
  /// where the other vault `knows` nothing of the deleted one: what a vault knows under two ids are two records to it.
  func moment(
    of record: MergeRecord, _ source: MergeSource, where knows: (ItemID) -> Bool
  ) throws(StoreError) -> UInt64? {
    let isByID = byID[record.id] != nil
    let candidates = byID[record.id] ?? byName[record.name]?.filter { !knows($0.id) } ?? []
    guard !candidates.isEmpty else { return nil }
    // A deletion after the last change needs no look at the values where the id says that it is the same.
    if isByID, let first = candidates.first, record.modified <= first.moment { return first.moment }
    let content = try source.open(Change())
    for deletion in candidates {
      if try Self.had(content, deletion) { return deletion.moment }
      if record.modified <= deletion.moment, try deletion.content.open(Change()).isSame(as: content) { return deletion.moment }
    }
    return nil
  }

  /// Whether the content of the other vault, as it was written there, is one that was deleted here, whatever the clocks said.
  private static func had(_ content: borrowing OpenRecord, _ deletion: Deletion) throws(StoreError) -> Bool {
    let none = Change()
    if try deletion.content.open(none).isDeletedValue(of: content) { return true }
    for former in deletion.past {
      guard try former.meta(none).isOfOneWrite(with: content.meta) else { continue }
      if try former.open(none).isSameWrite(as: content) { return true }
    }
    return false
  }
}

extension MergeSide {
  /// When this side deleted what `other` has as the item or field `record`; nil where it did not, or `other` has changed it since.
  func deletion(of record: MergeRecord, in other: MergeSide) throws(StoreError) -> UInt64? {
    let source = MergeSource(items: other.items, table: .present, index: record.index, isOurs: false)
    return try deletions.moment(of: record, source, where: other.knows)
  }

  /// The same of an item with its fields: a field that was changed since keeps its item.
  func deletion(ofItem item: MergeRecord, in other: MergeSide) throws(StoreError) -> UInt64? {
    guard let moment = try deletion(of: item, in: other) else { return nil }
    let isByID = deletions.hasOne(of: item.id)
    for field in other.fields(of: item) where !isByID || field.modified > moment {
      guard try deletion(of: field, in: other) != nil else { return nil }
    }
    return moment
  }
}
