package import CofferPlatform
internal import CofferStorage
package import CofferVaultFormat
internal import FoundationEssentials

/// One write transaction of a vault that merges the heads of other machines.
package struct HeadMerge {
  let vault: OpenVault
  package let key: MergeKey
  let keptUntil: Date?
  var change: Change
  /// Set once the transaction has replaced the header.
  var followed: HeadKey?

  /// The commit that the transaction makes, if it changes anything.
  package mutating func commit() -> CommitID { change.commitID() }

  /// Takes over what `other` changed since `base`. Where only one side changed a record, its rows stay or come as they are,
  /// and no clock is asked. A side that only lost previous versions, or only gave a number to a name, does not count. Where
  /// both changed it, and where `base` has nothing of a record, the rules of
  /// ``UnlockedVault/merge(_:keeping:keptUntil:isTrial:acceptingOlderKey:leavingOut:progress:)`` hold, but a change beats a
  /// deletion. A record or a previous version that one side removed for good does not come back with the other's change.
  ///
  /// Slots are joined by id. A later key that comes from this vault's is followed: this vault gets that header, and the rows
  /// of `other` where both have one content; all others are sealed to that key. The first merge of a transaction may do so.
  ///
  /// - Parameters:
  ///   - other: a head, under this vault's key or another one.
  ///   - base: what both agreed on before; nil for a first merge.
  ///   - taken: the key of `other` if that is of another line, as a person chose it.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/conflict`` for a slot that got two other secrets,
  ///   ``/CofferPlatform/StoreError/Kind/forked`` for a key of another line; the errors of a merge.
  package mutating func merge(
    _ other: borrowing UnlockedVault, since base: MergeBase?, taking taken: EpochMark? = nil
  ) throws(StoreError) -> MergeReport {
    let this = self
    var (change, followed) = (change, followed)
    // Also after an error: the view must then forget a header that was never committed.
    defer { (self.change, self.followed) = (change, followed) }
    return try other.core.read { (theirs) throws(StoreError) in
      let isTaken = theirs.view.keys.epochMark == taken
      if !isTaken { try this.vault.view.checkCopy(theirs.view, false) }
      let slots = try this.joinSlots(theirs, since: base, isTaken: isTaken, &change, &followed)
      let plan = try MergePlan(
        this.vault.items, theirs.items, since: base.map { ($0, this.key) }, keepsDeleted: this.keptUntil != nil,
        leavingOut: MergeBase.leavesOut, hides: true, &change)
      var report = try Merger(plan: plan, keptUntil: this.keptUntil).run(&change)
      report.slots = slots
      report.isEmpty = report.isEmpty && followed === this.followed
      return report
    }
  }

  /// Makes a change of this machine's own in the transaction.
  package mutating func apply(_ item: ItemChange) throws(StoreError) { _ = try vault.items.whole.apply([item], &change) }

  /// The content of the vault with the transaction's changes so far.
  ///
  /// - Parameter previous: an earlier base; its pairs that did not change are not read again.
  package mutating func content(from previous: MergeBase?) throws(StoreError) -> MergeBase {
    try MergeBase(of: vault.items.whole, key, from: previous, &change)
  }

  /// The vault's commit before the transaction.
  package var rows: CommittedRows { CommittedRows(view: vault.view) }
}
