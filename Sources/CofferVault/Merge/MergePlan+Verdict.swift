internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat

extension MergePlan {
  /// The items or fields that match no other one by name: a base has them, or the other vault deleted them.
  func apart(_ own: [MergeRecord], _ others: [MergeRecord]) throws(StoreError) -> Set<ItemID> {
    var apart: Set<ItemID> = []
    for (records, side, other) in [(own, ours, theirs), (others, theirs, ours)] {
      for record in records {
        let deletion = try other.deletion(of: record, in: side)
        if deletion != nil || since(record.id) != nil { apart.insert(record.id) }
      }
    }
    return apart
  }

  /// The content that stays. If only one vault knows the other's content, it has continued from that, whatever its clock
  /// said; otherwise the newer value stays.
  func verdict(_ own: MergeRecord, _ other: MergeRecord) throws(StoreError) -> MergeVerdict {
    let id = own.id
    let own = try ours.source(of: own).open(ours.change)
    let other = try theirs.source(of: other).open(theirs.change)
    // Both adopt one write of it, so each knows the other's content and means the same item.
    guard !own.isSame(as: other) else { return .same(isLaterThere: own.isEarlierWrite(than: other)) }
    // Of a description and a new name, only one is a new content.
    let (isOurs, isTheirs) = (lines?.isKnown(own, of: id) ?? false, lines?.isKnown(other, of: id) ?? false)
    guard isOurs == isTheirs else { return isOurs ? .theirs(isConflict: false) : .ours(isConflict: false) }
    let (weKnow, theyKnow) = (try knows(ours, own.meta, other), try knows(theirs, other.meta, own))
    guard weKnow == theyKnow else { return weKnow ? .ours(isConflict: false) : .theirs(isConflict: false) }
    // Each reverted to a version of the other, so neither has anything new.
    return own.isBefore(other) ? .theirs(isConflict: !weKnow) : .ours(isConflict: !weKnow)
  }

  private func knows(_ side: MergeSide, _ meta: RecordMeta, _ content: borrowing OpenRecord) throws(StoreError) -> Bool {
    var change = side.change
    return try past(of: meta, side, &change).hasWrite(content, change)
  }

  func past(of meta: RecordMeta, _ side: MergeSide, _ change: inout Change) throws(StoreError) -> [MergeSource] {
    try side.items.history.past(of: meta, at: meta.index(side.items.view.keys), &change)
      .map { MergeSource($0, of: side.items, isOurs: side.isOurs) }
  }
}
