public import FoundationEssentials

/// A condition for a write.
public enum WriteCondition: Sendable, Equatable {
  /// Replaces any current item.
  case always
  /// The item must not exist; otherwise ``/CofferPlatform/StoreError/Kind/alreadyExists``.
  case absent
  /// The item must be at this revision; otherwise ``/CofferPlatform/StoreError/Kind/conflict``. An item that was removed for
  /// good and stored again counts from 1, so it may reach this revision too.
  case revision(UInt64)
  /// The item must have this ``VaultItem/id`` and be at this revision; otherwise
  /// ``/CofferPlatform/StoreError/Kind/conflict``.
  case item(UUID, revision: UInt64)
}
