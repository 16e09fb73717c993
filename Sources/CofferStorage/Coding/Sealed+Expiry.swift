public import FoundationEssentials

extension Sealed {
  /// From when on the vault no longer hands the secret out; nil for never. Set for a secret that was read from a store; a new
  /// secret gets its expiry from its key.
  public var expires: Date? { form.metadata.expires }
}
