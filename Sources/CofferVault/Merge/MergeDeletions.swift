internal import CofferPlatform
internal import CofferVaultFormat

/// A deleted content with the previous versions of its time.
struct MergeDeletion {
  let id: ItemID
  let name: ItemName
  let history: UInt8
  /// As recorded, which both vaults compare alike, and as it is carried on: a clock ahead of this one deletes nothing that is
  /// written after the merge, but what it deleted stays deleted.
  let recorded: UInt64
  fileprivate(set) var moment: UInt64
  let deletion: RecordMeta.Deletion
  /// Whether the other vault takes it over.
  let isCarried: Bool
  let line: MergeLine

  /// Items go before fields.
  var order: (Int, UInt64, ItemName) { (name.field.isEmpty ? 0 : 1, recorded, name) }
}

struct MergeDeletions {
  /// In the order of their revisions for each record.
  private(set) var all: [MergeDeletion] = []
  /// The previous versions of present records, by the index of these.
  private(set) var formers: [RecordIndex: [MergeSource]] = [:]
  /// All previous and deleted versions, by their own id, wherever a merge put them.
  private(set) var versions: [ItemID: [MergeSource]] = [:]
  /// Deleted contents that take no part, with the previous versions of their time.
  private(set) var hidden: [MergeSource] = []
  /// Latest first. A record is found by the id of each of its versions, because a merge may have made it of two.
  private var byID: [ItemID: [MergeDeletion]] = [:]

  /// - Parameter pairs: the pairs of buckets to read; nil for all.
  init(
    _ items: ItemTable, isOurs: Bool, pairs: [Int]?, leavingOut isLeftOut: (VaultItem) -> Bool, hides: Bool,
    _ change: inout Change
  ) throws(StoreError) {
    let source = { (note: RecordNote) in MergeSource(note, of: items, isOurs: isOurs) }
    let known = try items.records.notes(in: .old, pairs: pairs, &change)
    var ids: [Set<ItemID>] = [], latest: [ItemID: UInt64] = [:]
    for (present, notes) in Dictionary(grouping: known, by: \.present) {
      var past: [MergeSource] = [], lineIDs: Set<ItemID> = []
      for note in notes.sorted(by: { $0.revision < $1.revision }) {
        let meta = try items.history.meta(note, change)
        lineIDs.insert(meta.id)
        versions[meta.id, default: []].append(source(note))
        guard let deletion = meta.deletion else {
          past.append(source(note))
          latest[meta.id] = max(latest[meta.id] ?? 0, meta.modified)
          continue
        }
        let isLeftOut = MergeSide.exclusion(meta, items.item(meta), isLeftOut) != nil
        guard !hides || !isLeftOut else {
          hidden += past + [source(note)]
          (past, ids) = ([], [])
          continue
        }
        let isCarried = !items.history.isOver(note) && !isLeftOut
        let found = MergeDeletion(
          id: meta.id, name: meta.name, history: meta.history, recorded: meta.modified,
          moment: min(meta.modified, items.view.now), deletion: deletion, isCarried: isCarried,
          line: MergeLine(top: source(note), past: past))
        all.append(found)
        ids.append(lineIDs)
        (past, lineIDs) = ([], [])
      }
      if !past.isEmpty { formers[present] = past }
    }
    for place in all.indices {
      all[place].moment = max(all[place].moment, min(all[place].recorded, latest[all[place].id] ?? 0))
    }
    for (found, ids) in zip(all, ids) { for id in ids { byID[id, default: []].append(found) } }
    byID = byID.mapValues { $0.sorted { $0.recorded > $1.recorded } }
  }

  /// The last deletion of a record of this very id, not only of one made of it.
  func last(of id: ItemID) -> MergeDeletion? { byID[id]?.first { $0.id == id } }

  /// The name of a deleted record, or of the one that it had become a part of.
  func name(of id: ItemID) -> ItemName? { (last(of: id) ?? byID[id]?.first)?.name }

  /// Nil if this vault did not delete `record`, or if the record changed since.
  ///
  /// Names do not decide: a merge changes names, so a later merge would match other deletions. A record deleted as a part of
  /// another is deleted with this vault's version.
  func deletion(
    of record: MergeRecord, _ source: MergeSource, _ change: borrowing Change
  ) throws(StoreError) -> MergeDeletion? {
    guard let candidates = byID[record.id] else { return nil }
    // A deletion after the last change needs no look at the values.
    if let last = last(of: record.id), record.modified <= last.recorded { return last }
    let content = try source.open(change)
    // Whether the other vault's version was deleted here, regardless of the clocks.
    for deletion in candidates {
      if try deletion.line.top.open(change).isDeletedValue(of: content) { return deletion }
      if try deletion.line.past.hasWrite(content, change) { return deletion }
    }
    return nil
  }
}

extension MergeSide {
  /// The deletion of an item with its fields, or of a field. A field changed since keeps its item.
  func deletion(of record: MergeRecord, in other: MergeSide) throws(StoreError) -> MergeDeletion? {
    // Of the two, only this vault has a change.
    let change = isOurs ? change : other.change
    guard let found = try deletions.deletion(of: record, other.source(of: record), change) else { return nil }
    let isByID = deletions.last(of: record.id) != nil
    for field in other.fields(of: record) where !isByID || field.modified > found.recorded {
      guard try deletions.deletion(of: field, other.source(of: field), change) != nil else { return nil }
    }
    return found
  }
}
