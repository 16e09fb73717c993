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
  /// An unshared engine behaves like another process's.
  package var isShared = true

  package init(
    access: DefaultsAccess = .readWrite, damage: DamagePolicy = .fail, decisions: DecisionLookup? = nil
  ) {
    self.access = access
    self.damage = damage
    self.decisions = decisions
  }
}

/// The treatment of an unreadable property list. Every policy but ``fail`` first copies its bytes to
/// `<name>.plist.damaged-<time>` beside the list.
public enum DamagePolicy: Sendable {
  /// Throws ``/CofferPlatform/StoreError/Kind/damaged`` and changes nothing.
  case fail
  /// Restores the copy from the last rewrite of the list; throws `.damaged` if it is missing or damaged too.
  case restoreLastGood
  /// Starts with an empty list, and applies the journal's changes.
  case startEmpty
}

/// A store's access to its files.
public enum DefaultsAccess: Sendable {
  /// Reading and writing. A missing journal is made, because it holds the lock of all writers.
  case readWrite
  /// Reading without a trace: writes throw ``/CofferPlatform/StoreError/Kind/readOnly``, and no folder or journal is made or
  /// changed. Reads still see acknowledged writes of other processes.
  case readOnly
}
