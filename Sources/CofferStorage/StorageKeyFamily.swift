public import CofferPlatform
public import FoundationEssentials

/// The typed address of values whose names are data: a token for each customer, a zoom for each document. Declare it once, in
/// a ``KeySpace``.
///
/// ```swift
/// struct ServerKeys: KeySpace {
///   let tokens = StorageKeyFamily("api", secret: String.self)
///   let limits = StorageKeyFamily("limit", default: 100)
/// }
/// try app.set(Sealed(token), for: keys.tokens["acme"])  // the item api/acme
/// try app.members(of: keys.tokens)  // ["acme"]
/// ```
///
/// Each member is a ``StorageKey``. The family owns all names that begin with ``prefix``: opening the router refuses another
/// key or family among them. Members cannot be renamed or change their type. Plain members become secrets when the family is
/// declared with `secret:` or `vaulted:`.
public struct StorageKeyFamily<Value: Sendable, R: Route>: Sendable {
  /// The prefix of its members' names: the family's name and a slash.
  public let prefix: String
  private let pattern: StorageKey<Value, R>

  private init(_ pattern: StorageKey<Value, R>) {
    prefix = pattern.name + "/"
    self.pattern = pattern
  }

  /// The key of the member `name`. Use of the key checks the name: it must not be empty, and with the prefix it has the
  /// limits of ``StoredName``.
  public subscript(_ name: String) -> StorageKey<Value, R> { StorageKey(prefix + name, declaredLike: pattern) }
}

extension StorageKeyFamily where R == Plain {
  /// Preferences that read as `value` while nothing is stored.
  public init(_ name: String, default value: Value, fileID: String = #fileID, line: Int = #line) where Value: PlainValue {
    self.init(StorageKey(name, default: value, fileID: fileID, line: line))
  }

  /// Preferences that may be absent.
  public init<Wrapped: PlainValue>(_ name: String, of type: Wrapped.Type, fileID: String = #fileID, line: Int = #line)
  where Value == Wrapped? { self.init(StorageKey(name, of: type, fileID: fileID, line: line)) }
}

extension StorageKeyFamily where R == Vault {
  /// Secrets, handed out sealed.
  public init<Payload: Codable & Sendable>(
    _ name: String, secret type: Payload.Type, fileID: String = #fileID, line: Int = #line
  ) where Value == Sealed<Payload>? { self.init(StorageKey(name, secret: type, fileID: fileID, line: line)) }

  /// Values stored in the vault and handed out unsealed.
  public init<Wrapped: Codable & Sendable>(
    _ name: String, vaulted type: Wrapped.Type, fileID: String = #fileID, line: Int = #line
  ) where Value == Wrapped? { self.init(StorageKey(name, vaulted: type, fileID: fileID, line: line)) }

  /// The same family, whose secrets expire at `moment`: see ``StorageKey/expires(_:)``.
  public func expires<Payload: Codable & Sendable>(
    _ moment: @escaping @Sendable (Payload) -> Date?
  ) -> Self where Value == Sealed<Payload>? { Self(pattern.expires(moment)) }
}

extension StorageKeyFamily {
  /// The same family with a display name for listings.
  public func labelled(_ label: String) -> Self { Self(pattern.labelled(label)) }

  /// The same family, whose members a logout removes.
  public func endsWithSession() -> Self { Self(pattern.endsWithSession()) }

  /// The same family, refusing values whose encoded form exceeds `bytes`: see ``StorageKey/limited(toBytes:)``.
  public func limited(toBytes bytes: Int) -> Self { Self(pattern.limited(toBytes: bytes)) }

  /// Sets how a read treats undecodable bytes: see ``StorageKey/whenUndecodable(_:report:)``.
  public func whenUndecodable(_ policy: UndecodablePolicy, report: (@Sendable (StoreError) -> Void)? = nil) -> Self {
    Self(pattern.whenUndecodable(policy, report: report))
  }
}

extension StorageKeyFamily: DescribedKey {
  var described: Schema.Entry { pattern.described.ofFamily(prefix) }
}

extension StorageKeyFamily: OpenedFamily {
  /// The prefix of its members' names.
  public var name: String { prefix }
  /// The place of the declaration.
  public var site: DeclarationSite { pattern.site }
  /// The traits of each member.
  public var traits: KeyTraits { pattern.traits }

  var isReadableText: Bool { pattern.isReadableText }
  func member(named name: String) -> any OpenedKey { StorageKey(name, declaredLike: pattern) }
}

/// The operations of a router on a family of unknown types.
protocol OpenedFamily: DeclaredKey {
  /// Whether a property list holds the members' values as readable text or data.
  var isReadableText: Bool { get }

  func member(named name: String) -> any OpenedKey
}

extension DeclaredKey {
  package func owns(_ name: String) -> Bool {
    self is any OpenedFamily ? name.utf8.starts(with: self.name.utf8) : name == self.name
  }
}
