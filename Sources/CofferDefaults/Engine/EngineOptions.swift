package import CofferPlatform
internal import CofferStorage

/// How an engine behaves. Of several openers in one process, the last to say something other than the default is heard.
package struct EngineOptions: Sendable {
  package var access = DefaultsAccess.readWrite
  package var damage = DamagePolicy.fail
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
