/// The traits of a key's declaration beside its name and type.
public struct KeyTraits: Sendable {
  /// True for keys of the vault.
  public internal(set) var isSecret = false
  /// Whether a logout removes the value.
  public internal(set) var endsWithSession = false
  /// Whether the key says when its secret expires.
  public internal(set) var expires = false
  /// The display name.
  public internal(set) var label = ""
  /// The most bytes of the value's encoded form; nil for the store's own limit.
  public internal(set) var maximumBytes: Int?
  /// Whether an undecodable stored value reads as the default instead of throwing.
  public internal(set) var readsDefaultWhenUndecodable = false
  /// Names that older programs stored the value under.
  public internal(set) var formerNames: [String] = []
  var isOutdated: (@Sendable (any Sendable) -> Bool)?
  /// Converts a copy in the plain store for the vault.
  var promotion: (@Sendable (PlainForm) throws(StoreError) -> SecretForm)?
  var failureReport: (@Sendable (StoreError) -> Void)?
}
