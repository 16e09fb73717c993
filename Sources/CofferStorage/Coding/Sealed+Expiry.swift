public import FoundationEssentials

extension Sealed {
  /// The moment from which the vault no longer hands the secret out; nil for never. It is set for a secret read from a store;
  /// a new secret gets its expiry from its key.
  public var expires: Date? { form.metadata.expires }
}
