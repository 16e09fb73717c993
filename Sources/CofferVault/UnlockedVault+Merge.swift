public import CofferPlatform
internal import CofferStorage
public import FoundationEssentials
internal import Synchronization

extension UnlockedVault {
  /// Takes over what is newer in `other`: another vault, a copy of this one that went its own way, or a backup. It is not changed.
  ///
  /// An item or field of both is one that has the same id in both, or else the same name. Of two contents the one stays whose vault knows the
  /// other, as a former content of its own; else the one whose value is newer by ``VaultItem/written``, then by ``VaultItem/modified``, and of
  /// one time by its bytes. That is a conflict. The one that loses is kept as a former content, the newest of those that both had. A rename
  /// there is followed where it is the later one. What was deleted in one vault stays deleted where it was not changed later in the other.
  /// Where that leaves two items with one name, one of them gets a number behind it. Logins and what else ends with a session are left out.
  ///
  /// Once each of two vaults has merged the other they have the same items, but for what ``MergeReport/leftOut`` names. A second merge changes
  /// nothing. What was removed for good leaves no trace: where the other vault has it, it comes back.
  ///
  /// ```swift
  /// let report = try vault.merge(laptop, keeping: 10)
  /// for conflict in report.conflicts { print(conflict.name, conflict.winner) }
  /// ```
  ///
  /// - Parameters:
  ///   - other: the vault to read.
  ///   - keeping: how many former contents are kept at least of an item or field that is written; 0 for none, nil for as many as in either vault.
  ///   - date: until when an item that was deleted there can be brought back here; nil where it goes for good.
  ///   - isTrial: only look what would happen.
  ///   - isLeftOut: whether an item of either vault takes no part.
  ///   - progress: told how many items were compared, and of how many.
  /// - Throws: what reading `other` and writing here throw; nothing has changed then, unless it is `.outcomeUnknown`.
  public borrowing func merge(
    _ other: borrowing UnlockedVault, keeping: Int? = nil, keptUntil date: Date? = .distantFuture, isTrial: Bool = false,
    leavingOut isLeftOut: (VaultItem) -> Bool = { _ in false }, progress: (Int, Int) -> Void = { _, _ in }
  ) throws(StoreError) -> MergeReport {
    if let keeping { _ = try RecordLimits.history(keeping) }
    return try MergeTurn.take { () throws(StoreError) in
      try other.core.read { (theirs) throws(StoreError) in
        let other = try MergeSide(theirs.items, leavingOut: isLeftOut)
        guard !isTrial else {
          return try core.read { (ours) throws(StoreError) in
            try MergePlan(MergeSide(ours.items, leavingOut: isLeftOut), other, keeping: keeping, progress: progress).report
          }
        }
        return try core.write { (ours, change) throws(StoreError) in
          let own = try MergeSide(ours.items, leavingOut: isLeftOut)
          return try Merger(plan: MergePlan(own, other, keeping: keeping, progress: progress), keptUntil: date).run(&change)
        }
      }
    }
  }
}

/// One merge at a time in a process: two that took two vaults in opposite order would wait for each other.
private enum MergeTurn {
  private static let turn = Mutex(())

  static func take<Result>(_ body: () throws(StoreError) -> sending Result) throws(StoreError) -> sending Result {
    try turn.withLock { (_) throws(StoreError) in try body() }
  }
}
