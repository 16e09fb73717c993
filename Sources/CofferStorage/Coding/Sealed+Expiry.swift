public import FoundationEssentials

extension Sealed {
  /// The moment from which the vault no longer hands the secret out; nil for never. Only a secret read from a store has it; a
  /// new one gets its expiry from its key.
  public var expires: Date? { form.metadata.expires }
}
