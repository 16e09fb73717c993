internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat

extension MergePlan {
  /// The content that stays. If only one vault knows the other's content, it has continued from that, whatever its clock
  /// said; otherwise the newer value stays.
  func verdict(_ own: MergeRecord, _ other: MergeRecord) throws(StoreError) -> MergeVerdict {
    let none = Change()
    let own = try source(of: own, isOurs: true).open(none)
    let other = try source(of: other, isOurs: false).open(none)
    // Both adopt one write of it, so each knows the other's content and means the same item.
    guard !own.isSame(as: other) else { return .same(isLaterThere: own.isEarlierWrite(than: other)) }
    let (weKnow, theyKnow) = (try knows(ours, own.meta, other), try knows(theirs, other.meta, own))
    guard weKnow == theyKnow else { return weKnow ? .ours(isConflict: false) : .theirs(isConflict: false) }
    // Each reverted to a version of the other, so neither has anything new.
    return own.isBefore(other) ? .theirs(isConflict: !weKnow) : .ours(isConflict: !weKnow)
  }

  private func knows(_ side: MergeSide, _ meta: RecordMeta, _ content: borrowing OpenRecord) throws(StoreError) -> Bool {
    var none = Change()
    for source in try past(of: meta, side, isOurs: side.items.view === ours.items.view, &none) {
      guard try source.meta(none).isOfOneWrite(with: content.meta) else { continue }
      if try source.open(none).isSameWrite(as: content) { return true }
    }
    return false
  }

  func source(of record: MergeRecord, isOurs: Bool) -> MergeSource {
    MergeSource(items: (isOurs ? ours : theirs).items, table: .present, index: record.index, isOurs: isOurs)
  }

  func past(
    of meta: RecordMeta, _ side: MergeSide, isOurs: Bool, _ change: inout Change
  ) throws(StoreError) -> [MergeSource] {
    try side.items.history.past(of: meta, at: meta.index(side.items.view.keys), &change).map {
      MergeSource(items: side.items, table: .old, index: $0.index, revision: $0.revision, isOurs: isOurs)
    }
  }
}
