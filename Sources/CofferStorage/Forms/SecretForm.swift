public import CofferMemory
public import FoundationEssentials

/// A value on its way into or out of an encrypted store: guarded bytes and their metadata, all sealed at rest.
///
/// Copies share the bytes, so a secret can get other metadata without another copy of it. It prints as `SecretForm(•••)`.
public struct SecretForm: Sendable {
  @usableFromInline let box: GuardedBox
  /// Label, content type, attributes and expiry.
  public var metadata: ItemMetadata

  /// A form of `bytes`.
  public init(_ bytes: consuming SecretBytes, metadata: ItemMetadata = ItemMetadata()) {
    box = GuardedBox(bytes)
    self.metadata = metadata
  }

  /// The value.
  @inlinable public var bytes: SecretBytes { _read { yield box.bytes } }
}

/// Bytes that several forms share. The release of the last form wipes them.
@usableFromInline
final class GuardedBox: Sendable {
  @usableFromInline let bytes: SecretBytes

  init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
}

extension SecretForm: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Always `SecretForm(•••)`.
  public var description: String { "SecretForm(•••)" }
  /// Always `SecretForm(•••)`.
  public var debugDescription: String { description }
  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The metadata of a vault item. Sealed like the value but separately: a listing opens the metadata and never the value.
public struct ItemMetadata: Sendable, Equatable {
  /// A display name, at most 1 024 bytes.
  public var label: String
  /// The media type of the value, for example `text/plain`; empty if unknown.
  public var contentType: String
  /// Free attributes by name, found by search.
  public var attributes: [String: String]
  /// The moment, in milliseconds, from which the value is no longer handed out; nil for never.
  public var expires: Date?

  /// Metadata with the given parts.
  public init(label: String = "", contentType: String = "", attributes: [String: String] = [:], expires: Date? = nil) {
    self.label = label
    self.contentType = contentType
    self.attributes = attributes
    self.expires = expires
  }

  /// Compares byte by byte. Swift's `==` on strings treats two spellings of `é` as one text.
  public static func == (left: ItemMetadata, right: ItemMetadata) -> Bool {
    left.label.hasSameBytes(as: right.label) && left.contentType.hasSameBytes(as: right.contentType)
      && left.expires == right.expires && left.attributes.count == right.attributes.count
      && left.attributes.holds(right.attributes)
  }
}

extension ItemMetadata {
  private static let own = "coffer."
  /// Names without the prefix, from earlier versions: for renewing a login, and for the Secret Service.
  private static let formerlyOwn: Set = [
    "oauth.token-endpoint", "oauth.revocation-endpoint", "oauth.client", "oauth.scope", "oauth.secret-in-body", "secret-service",
  ]

  /// Whether Coffer trusts an attribute of that name. Clients of the Secret Service, imports and command options must not set
  /// it.
  package static func isOwn(attribute name: String) -> Bool {
    name.utf8.starts(with: own.utf8) || formerlyOwn.contains(name)
  }

  /// Whether Coffer or its library manages the item, such as a login or an item that ends with a session.
  package var isKeptByCoffer: Bool { attributes.keys.contains { $0.utf8.starts(with: Self.own.utf8) } }

  /// The attributes that only Coffer may set.
  package var ownAttributes: [String: String] { attributes.filter { Self.isOwn(attribute: $0.key) } }
  package var freeAttributes: [String: String] { attributes.filter { !Self.isOwn(attribute: $0.key) } }
}
