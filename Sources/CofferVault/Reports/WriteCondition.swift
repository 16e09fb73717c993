internal import CofferVaultFormat
internal import CofferVaultRows
public import FoundationEssentials

/// What must be so for a write to happen.
public enum WriteCondition: Sendable, Equatable {
  /// Replaces any current item.
  case always
  /// Nothing may be there: ``/CofferPlatform/StoreError/Kind/alreadyExists`` otherwise.
  case absent
  /// The item's revision must be this one: ``/CofferPlatform/StoreError/Kind/conflict`` otherwise. An item that was removed for
  /// good and stored anew counts from 1 again, so that it may be at this revision too.
  case revision(UInt64)
  /// It must be this very item, as ``VaultItem/id`` names it, at this revision: ``/CofferPlatform/StoreError/Kind/conflict``
  /// otherwise.
  case item(UUID, revision: UInt64)
}
