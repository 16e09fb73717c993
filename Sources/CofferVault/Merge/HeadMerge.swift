package import CofferPlatform
internal import CofferStorage
package import CofferVaultFormat
package import FoundationEssentials

extension MergePlan {
  /// - Parameter base: what both sides last agreed on, and the key of its digests.
  init(
    _ ours: ItemTable, _ theirs: ItemTable, since base: (content: MergeBase, key: MergeKey)? = nil, keeping: Int? = nil,
    keepsDeleted: Bool, leavingOut isLeftOut: (VaultItem) -> Bool, progress: (Int, Int) -> Void = { _, _ in },
    _ change: inout Change
  ) throws(StoreError) {
    var none = Change()
    let pairs = Self.differing(ours, theirs, base?.content, change)
    let other = try MergeSide(theirs, isOurs: false, pairs: pairs, leavingOut: isLeftOut, &none)
    let own = try MergeSide(ours, isOurs: true, pairs: pairs, leavingOut: isLeftOut, &change)
    let lines = try base.map { (base) throws(StoreError) in try MergeLines(base.content, base.key, own, other) }
    try self.init(own, other, lines: lines, keeping: keeping, keepsDeleted: keepsDeleted, progress: progress)
  }

  /// The pairs of buckets to read; nil for all. Under one key, pairs of equal digests have equal rows.
  private static func differing(
    _ ours: ItemTable, _ theirs: ItemTable, _ base: MergeBase?, _ change: borrowing Change
  ) -> [Int]? {
    let mark = ours.view.keys.epochMark
    guard theirs.view.keys.epochMark == mark, base.map({ $0.mark == mark }) ?? true else { return nil }
    let none = Change()
    return (0..<MergeBase.pairs).filter { pair in
      ours.records.digests(ofPair: pair, change) != theirs.records.digests(ofPair: pair, none)
    }
  }
}

/// One write transaction of a vault that merges the heads of other machines.
package struct HeadMerge {
  let vault: OpenVault
  let key: MergeKey
  let keptUntil: Date?
  let isLeftOut: (VaultItem) -> Bool
  var change: Change

  /// The commit that the transaction makes, if it changes anything.
  package mutating func commit() -> CommitID { change.commitID() }

  /// Takes over what `other` changed since `base`. Where only one side changed a record, its rows stay or come as they are,
  /// and no clock is asked. Where both did, and where `base` has nothing of a record, the rules of
  /// ``UnlockedVault/merge(_:keeping:keptUntil:isTrial:acceptingOlderKey:leavingOut:progress:)`` hold, but a change beats a
  /// deletion, and what one side removed for good does not come back with the other's change.
  ///
  /// - Parameters:
  ///   - other: a head, under this vault's key or another one.
  ///   - base: what both agreed on before; nil for a first merge.
  package mutating func merge(
    _ other: borrowing UnlockedVault, since base: MergeBase?
  ) throws(StoreError) -> MergeReport {
    let this = self
    var change = change
    defer { self.change = change }
    return try other.core.read { (theirs) throws(StoreError) in
      try this.vault.view.checkCopy(theirs.view, false)
      let plan = try MergePlan(
        this.vault.items, theirs.items, since: base.map { ($0, this.key) }, keepsDeleted: this.keptUntil != nil,
        leavingOut: this.isLeftOut, &change)
      return try Merger(plan: plan, keptUntil: this.keptUntil).run(&change)
    }
  }
}

extension UnlockedVault {
  /// Runs `body` in one write transaction, which merges heads.
  ///
  /// - Parameters:
  ///   - key: this machine's key for its bases.
  ///   - date: until when an item that the merge deletes can be restored here.
  ///   - isLeftOut: whether to leave out an item of any side.
  package borrowing func mergeHeads<Result: Sendable>(
    _ key: MergeKey, keptUntil date: Date? = .distantFuture,
    leavingOut isLeftOut: @escaping @Sendable (VaultItem) -> Bool = { _ in false },
    _ body: (inout HeadMerge) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try MergeTurn.take { () throws(StoreError) in
      try core.write { (vault, change) throws(StoreError) in
        var merge = HeadMerge(vault: vault, key: key, keptUntil: date, isLeftOut: isLeftOut, change: change)
        defer { change = merge.change }
        return try body(&merge)
      }
    }
  }
}
