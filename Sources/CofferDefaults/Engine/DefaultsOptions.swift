package import CofferPlatform
package import CofferStorage

/// Of several openers in one process, the last non-default option counts.
package struct EngineOptions: Sendable {
  package var access = DefaultsAccess.readWrite
  package var damage = DamagePolicy.fail
  /// See ``DefaultsStore/settle(with:)``.
  package var decisions: DecisionLookup?
  package var calls = SystemCalls()
  /// Tests that look at the journal turn idle folds off.
  package var foldsWhenIdle = true
  /// An engine that is not shared behaves as another process's would.
  package var isShared = true

  package init(
    access: DefaultsAccess = .readWrite, damage: DamagePolicy = .fail, decisions: DecisionLookup? = nil
  ) {
    self.access = access
    self.damage = damage
    self.decisions = decisions
  }
}

/// The treatment of a property list that cannot be read. Every policy but ``fail`` first copies its bytes to
/// `<name>.plist.damaged-<time>` beside the list.
public enum DamagePolicy: Sendable {
  /// Throw ``/CofferPlatform/StoreError/Kind/damaged`` and change nothing.
  case fail
  /// Restore the copy from the last rewrite of the list; `.damaged` when there is none or it is damaged too.
  case restoreLastGood
  /// Start with an empty list, and apply the journal's changes.
  case startEmpty
}

/// A store's access to its files.
public enum DefaultsAccess: Sendable {
  /// Reading and writing. A missing journal is made, for it holds the lock of all writers.
  case readWrite
  /// Reading without a trace: writes throw ``/CofferPlatform/StoreError/Kind/readOnly``, and no folder or journal is made or
  /// changed. The next read still sees acknowledged writes of other processes.
  case readOnly
}
