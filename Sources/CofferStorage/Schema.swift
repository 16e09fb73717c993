public import FoundationEssentials

/// The keys that a program declares, to compare with what is stored: to find leftovers, or to refuse a change.
///
/// ```swift
/// try app.schema.json().write(to: URL(filePath: "schema.json"))  // for `coffer doctor --keys schema.json`
/// ```
///
/// It holds no stored value, and no default for keys of the vault.
public struct Schema: Codable, Sendable, Equatable {
  /// The version of the JSON that ``json()`` writes.
  public static let version = 1
  /// The version of the JSON that this schema was read from.
  public let version: Int
  /// The keys and families, by name.
  public let keys: [Entry]

  /// A key or a family of keys.
  public struct Entry: Codable, Sendable, Equatable {
    /// The name that the value is stored under; for a family, the prefix of its members' names.
    public let name: String
    /// Whether it is a family.
    public let isFamily: Bool
    /// The store of the value.
    public let route: Place
    /// The type as Swift names it, without optionals and seals.
    public let type: String
    /// The property-list kinds that a value is read from, spelled as in ``PlainForm/kindName``. Nil if only the type can
    /// tell, and for keys of the vault.
    public let kinds: [String]?
    /// The default as JSON text; nil if there is none, and for keys of the vault.
    public let defaultText: String?
    /// Whether the key says when its secret expires.
    public let expires: Bool
    /// Whether a logout removes it.
    public let endsWithSession: Bool
    /// Names that older programs stored the value under.
    public let formerNames: [String]
    /// The display name; empty if there is none.
    public let label: String
    /// The place of the declaration: `Module/File.swift:12`.
    public let site: String

    private enum CodingKeys: String, CodingKey {
      case name, route, type, kinds, expires, endsWithSession, formerNames, label, site
      case isFamily = "family"
      case defaultText = "default"
    }

    /// Decodes an entry that ``Schema/json()`` wrote.
    ///
    /// - Throws: `DecodingError` if a field is missing or has another type.
    public init(from decoder: any Decoder) throws {
      let fields = try decoder.container(keyedBy: CodingKeys.self)
      name = try fields.decode(String.self, forKey: .name)
      isFamily = try fields.decode(Bool.self, forKey: .isFamily)
      route = try fields.decode(Place.self, forKey: .route)
      type = try fields.decode(String.self, forKey: .type)
      kinds = try fields.decodeIfPresent([String].self, forKey: .kinds)
      defaultText = try fields.decodeIfPresent(String.self, forKey: .defaultText)
      expires = try fields.decode(Bool.self, forKey: .expires)
      endsWithSession = try fields.decode(Bool.self, forKey: .endsWithSession)
      formerNames = try fields.decode([String].self, forKey: .formerNames)
      label = try fields.decode(String.self, forKey: .label)
      site = try fields.decode(String.self, forKey: .site)
    }
  }

  /// The stores for values.
  public enum Place: String, Codable, Sendable {
    /// The plain store.
    case plain
    /// The vault.
    case vault
  }

  /// Decodes a schema that ``json()`` wrote.
  ///
  /// - Throws: `DecodingError` if a field is missing or has another type.
  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    version = try fields.decode(Int.self, forKey: .version)
    keys = try fields.decode([Entry].self, forKey: .keys)
  }

  private enum CodingKeys: String, CodingKey { case version, keys }

  init(_ declared: DeclaredKeys) {
    version = Self.version
    let all = Array(declared.byName.values) + declared.families.map { $0 as any DeclaredKey }
    keys = all.compactMap { ($0 as? any DescribedKey)?.described }.sorted { $0.name < $1.name }
  }

  /// The schema as JSON with sorted keys: equal schemas are equal bytes.
  ///
  /// - Throws: the encoder's error.
  public func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
    return try encoder.encode(self) + Data("\n".utf8)
  }
}

extension Schema.Entry {
  init(_ key: any DeclaredKey, of type: Any.Type, default form: PlainForm?) {
    let traits = key.traits
    name = key.name
    isFamily = false
    route = traits.isSecret ? .vault : .plain
    self.type = "\(FormKinds.stored(type))"
    let read = traits.isSecret || traits.isOutdated != nil ? nil : FormKinds.of(type)
    // A type may have its own form. Its default then shows it.
    let isUsual = form.map { read?.contains($0.kindName) ?? false } ?? true
    kinds = isUsual ? read : nil
    defaultText = traits.isSecret ? nil : form.flatMap(PlainFormJSON.text)
    expires = traits.expires
    endsWithSession = traits.endsWithSession
    formerNames = traits.formerNames
    label = traits.label
    site = key.site.description
  }

  func ofFamily(_ prefix: String) -> Self { Self(self, prefix) }

  private init(_ pattern: Self, _ prefix: String) {
    name = prefix
    isFamily = true
    (route, type, kinds, defaultText) = (pattern.route, pattern.type, pattern.kinds, pattern.defaultText)
    (expires, endsWithSession, formerNames) = (pattern.expires, pattern.endsWithSession, pattern.formerNames)
    (label, site) = (pattern.label, pattern.site)
  }
}

protocol DescribedKey: DeclaredKey {
  var described: Schema.Entry { get }
}

enum FormKinds {
  private static let numbers = ["integer", "real", "boolean"]

  /// Nil if only the type can tell.
  static func of(_ type: Any.Type) -> [String]? {
    switch type {
    case let type as any Layered.Type: type.inner
    case is Bool.Type: ["boolean", "integer"]
    case is any FixedWidthInteger.Type: numbers
    case is any BinaryFloatingPoint.Type: ["real", "integer"]
    case is String.Type: ["string"]
    case is Data.Type: ["data"]
    // A key may store its date as a number of seconds.
    case is Date.Type: ["date", "real", "integer"]
    case let type as any RawRepresentable.Type: raw(type)
    default: nil
    }
  }

  private static func raw<T: RawRepresentable>(_: T.Type) -> [String]? { of(T.RawValue.self) }

  /// `type` without optionals and seals.
  static func stored(_ type: Any.Type) -> Any.Type { (type as? any Layered.Type)?.stored ?? type }
}

/// A type that wraps a value of another type, or holds several.
private protocol Layered {
  static var inner: [String]? { get }
  static var stored: Any.Type { get }
}

extension Layered {
  static var stored: Any.Type { Self.self }
}

extension Optional: Layered {
  static var inner: [String]? { FormKinds.of(Wrapped.self) }
  static var stored: Any.Type { FormKinds.stored(Wrapped.self) }
}

extension Sealed: Layered {
  static var inner: [String]? { nil }
  static var stored: Any.Type { FormKinds.stored(Payload.self) }
}

extension Array: Layered {
  static var inner: [String]? { ["array"] }
}

extension Set: Layered {
  static var inner: [String]? { ["array"] }
}

extension Dictionary: Layered {
  static var inner: [String]? { ["dictionary"] }
}
