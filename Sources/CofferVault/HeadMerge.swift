package import CofferPlatform
internal import CofferStorage
package import CofferVaultFormat
internal import FoundationEssentials

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
  /// and no clock is asked. A side that only lost previous versions, or only gave a number to a name, does not count. Where
  /// both changed it, and where `base` has nothing of a record, the rules of
  /// ``UnlockedVault/merge(_:keeping:keptUntil:isTrial:acceptingOlderKey:leavingOut:progress:)`` hold, but a change beats a
  /// deletion. A record or a previous version that one side removed for good does not come back with the other's change.
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
