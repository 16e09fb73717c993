public import FoundationEssentials

extension Sealed {
  /// From when on the vault no longer hands the secret out; nil for never. Known of what was read from a store: a secret that is
  /// yet to be stored gets its expiry from its key.
  public var expires: Date? { form.metadata.expires }
}
