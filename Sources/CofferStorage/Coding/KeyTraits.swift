/// The traits of a key's declaration beside its name and type.
public struct KeyTraits: Sendable {
  /// True for keys of the vault.
  public internal(set) var isSecret = false
  /// Removed by a logout.
  public internal(set) var endsWithSession = false
  /// Whether the key says when its secret expires.
  public internal(set) var expires = false
  /// A name for people.
  public internal(set) var label = ""
  /// The value's encoded form may have this many bytes at most; nil for the store's own limit.
  public internal(set) var maximumBytes: Int?
  /// An undecodable stored value reads as the default instead of throwing.
  public internal(set) var readsDefaultWhenUndecodable = false
  /// Names under which older programs stored the value.
  public internal(set) var formerNames: [String] = []
  /// Whether a stored form is of a former type.
  var isOutdated: (@Sendable (any Sendable) -> Bool)?
  /// Converts a copy in the plain store for the vault.
  var promotion: (@Sendable (PlainForm) throws(StoreError) -> SecretForm)?
  var failureReport: (@Sendable (StoreError) -> Void)?
}
