/// What must be so for a write to happen.
public enum WriteCondition: Sendable, Equatable {
  /// Whatever is there is replaced.
  case always
  /// Nothing may be there: ``/CofferPlatform/StoreError/Kind/alreadyExists`` otherwise.
  case absent
  /// The item's revision must be this one: ``/CofferPlatform/StoreError/Kind/conflict`` otherwise.
  case revision(UInt64)
}
