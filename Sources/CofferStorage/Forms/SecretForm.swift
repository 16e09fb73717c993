public import CofferMemory
public import FoundationEssentials

/// A value on its way into or out of an encrypted store: guarded bytes and what is said about them, all of it sealed at rest.
///
/// Copies share the bytes, so that other metadata can be said of a secret without another copy of it. It prints as
/// `SecretForm(•••)`.
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

/// Bytes that several forms share. They are wiped when the last of these is gone.
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

/// What is said about an item of the vault. Sealed like the value, but apart from it: listing opens this and never the value.
public struct ItemMetadata: Sendable, Equatable {
  /// A name for people, at most 1 024 bytes.
  public var label: String
  /// The media type of the value, for example `text/plain`; empty when unknown.
  public var contentType: String
  /// Free attributes by name, found again by search.
  public var attributes: [String: String]
  /// From when on the value is no longer handed out; nil for never. Milliseconds count.
  public var expires: Date?

  /// Metadata with the given parts.
  public init(label: String = "", contentType: String = "", attributes: [String: String] = [:], expires: Date? = nil) {
    self.label = label
    self.contentType = contentType
    self.attributes = attributes
    self.expires = expires
  }

  /// Whether both say the same, byte by byte. Swift's own `==` on strings would take two spellings of `é` for one text.
  public static func == (left: ItemMetadata, right: ItemMetadata) -> Bool {
    left.label.hasSameBytes(as: right.label) && left.contentType.hasSameBytes(as: right.contentType)
      && left.expires == right.expires && left.attributes.count == right.attributes.count
      && left.attributes.holds(right.attributes)
  }
}

extension ItemMetadata {
  private static let own = "coffer."
  /// What earlier versions said under names of no such kind: where a login is renewed, and what the Secret Service shows.
  private static let formerlyOwn: Set = [
    "oauth.token-endpoint", "oauth.revocation-endpoint", "oauth.client", "oauth.scope", "oauth.secret-in-body", "secret-service",
  ]

  /// Whether Coffer believes what an attribute of that name says, so that nobody else may say it: no client of the Secret
  /// Service, no import, no option of a command.
  package static func isOwn(attribute name: String) -> Bool {
    name.utf8.starts(with: own.utf8) || formerlyOwn.contains(name)
  }

  /// Whether Coffer or its library keeps the item by itself, as it does logins and what ends with a session.
  package var isKeptByCoffer: Bool { attributes.keys.contains { $0.utf8.starts(with: Self.own.utf8) } }

  /// The attributes that are nobody's but Coffer's.
  package var ownAttributes: [String: String] { attributes.filter { Self.isOwn(attribute: $0.key) } }
  /// All others.
  package var freeAttributes: [String: String] { attributes.filter { !Self.isOwn(attribute: $0.key) } }
}
