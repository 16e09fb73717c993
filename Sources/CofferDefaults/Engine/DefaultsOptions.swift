package import CofferPlatform
package import CofferStorage

/// How an engine behaves. Of several openers in one process, the last to say something other than the default is heard.
package struct EngineOptions: Sendable {
  package var access = DefaultsAccess.readWrite
  package var damage = DamagePolicy.fail
  /// See ``DefaultsStore/settle(with:)``.
  package var decisions: DecisionLookup?
  package var calls = SystemCalls()
  /// Folds when no write came for a while. Tests that look at the journal turn it off.
  package var foldsWhenIdle = true
  /// Whether the process's other stores of the same list use the same engine. One that is not shared behaves as another
  /// process's would.
  package var isShared = true

  package init(
    access: DefaultsAccess = .readWrite, damage: DamagePolicy = .fail, decisions: DecisionLookup? = nil
  ) {
    self.access = access
    self.damage = damage
    self.decisions = decisions
  }
}

/// What opening a domain does when its property list is there but cannot be read as one. Damage is never emptiness: under
/// every policy but ``fail`` the bytes found are first copied to `<name>.plist.damaged-<time>` beside the list.
public enum DamagePolicy: Sendable {
  /// Throw ``/CofferPlatform/StoreError/Kind/damaged`` and change nothing.
  case fail
  /// Put back the copy that was kept at the last rewrite of the list; `.damaged` when there is none or it is damaged too.
  case restoreLastGood
  /// Start with an empty list. Changes that are still in the journal are applied to it.
  case startEmpty
}

/// The access of a store to its files.
public enum DefaultsAccess: Sendable {
  /// Reading and writing; the journal is made if there is none, for it holds the lock of all writers.
  case readWrite
  /// Reading without a trace: no folder, no journal and no change to either. Writes throw
  /// ``/CofferPlatform/StoreError/Kind/readOnly``.
  ///
  /// The next read still sees the acknowledged writes of other processes.
  case readOnly
}
