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
