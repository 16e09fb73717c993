public import CofferPlatform
public import Synchronization

/// The typed address of one value: its name, type, route and coding. Declare each key once, in a ``KeySpace``.
///
/// ```swift
/// let theme = StorageKey("theme", default: Theme.light)          // plain, reads as .light when absent
/// let nickname = StorageKey("nickname", of: String.self)         // plain, String?
/// let token = StorageKey("token", secret: AuthToken.self)        // vault, Sealed<AuthToken>?
/// let userID = StorageKey("user_id", vaulted: String.self)       // vault, String?
/// ```
///
/// The route is inferred. The name is the storage contract: it outlives a renamed property.
public struct StorageKey<Value: Sendable, R: Route>: Sendable {
  /// The name that the value is stored under.
  public let name: String
  /// The place of the declaration.
  public var site: DeclarationSite { declaration.site }
  /// The declaration's traits apart from the name and the type.
  public internal(set) var traits: KeyTraits {
    get { declaration.traits }
    set { declaration = KeyDeclaration(declaration, newValue) }
  }

  @usableFromInline var declaration: KeyDeclaration<Value, R>

  @usableFromInline
  init(
    name: String, site: DeclarationSite, absent: Value,
    decode: @escaping @Sendable (R.Form) throws(StoreError) -> Value,
    encode: @escaping @Sendable (Value, KeyTraits) throws(StoreError) -> R.Form?
  ) {
    self.name = name
    declaration = KeyDeclaration(site: site, absent: absent, decode: decode, encode: encode)
  }

  init(_ name: String, declaredLike pattern: StorageKey) {
    self.name = name
    declaration = KeyDeclaration(pattern.declaration, pattern.traits)
  }

  /// Only a missing form reads as the default or nil.
  @inlinable
  func read(_ form: R.Form?) throws(StoreError) -> Value {
    guard let form else { return declaration.absent }
    do { return try declaration.decode(form) } catch { return try substitute(for: form, error) }
  }

  @usableFromInline
  func substitute(for form: R.Form, _ error: StoreError) throws(StoreError) -> Value {
    let isOverride = if case .argument? = form as? PlainForm { true } else { false }
    guard case .undecodable = error.kind, traits.readsDefaultWhenUndecodable, !isOverride else { throw error.about(key: name) }
    traits.failureReport?(error.about(key: name))
    return declaration.absent
  }

  /// Nil removes.
  @inlinable
  func form(of value: Value) throws(StoreError) -> R.Form? {
    do { return try declaration.encode(value, declaration.traits) } catch { throw error.about(key: name) }
  }
}

/// Copies of a key share this part, so that passing a key costs no more than its name.
@usableFromInline
final class KeyDeclaration<Value: Sendable, R: Route>: Sendable {
  /// The router that already checked this declaration: the check costs a read one atomic load.
  @usableFromInline let admittedBy = Atomic<UInt64>(0)
  @usableFromInline let decode: @Sendable (R.Form) throws(StoreError) -> Value
  @usableFromInline let encode: @Sendable (Value, KeyTraits) throws(StoreError) -> R.Form?
  @usableFromInline let traits: KeyTraits
  let site: DeclarationSite
  @usableFromInline let absent: Value

  init(
    site: DeclarationSite, absent: Value, decode: @escaping @Sendable (R.Form) throws(StoreError) -> Value,
    encode: @escaping @Sendable (Value, KeyTraits) throws(StoreError) -> R.Form?
  ) {
    self.site = site
    self.absent = absent
    self.decode = decode
    self.encode = encode
    traits = KeyTraits()
  }

  init(_ other: KeyDeclaration, _ traits: KeyTraits) {
    site = other.site
    absent = other.absent
    decode = other.decode
    encode = other.encode
    self.traits = traits
  }
}

/// The place in a program where a key is declared.
public struct DeclarationSite: Sendable, Hashable, CustomStringConvertible {
  /// `Module/File.swift`.
  public let fileID: String
  /// One-based.
  public let line: Int
  /// `Module/File.swift:12`.
  public var description: String { "\(fileID):\(line)" }

  @usableFromInline
  package init(fileID: String, line: Int) {
    self.fileID = fileID
    self.line = line
  }
}

extension StorageKey {
  /// The same key with a display name for listings.
  public func labelled(_ label: String) -> Self {
    var key = self
    key.traits.label = label
    return key
  }

  /// The same key, removed from its store by a logout. Programs that do not know the key also remove its value at logout if
  /// the value was stored, or moved from a former name, since this declaration.
  public func endsWithSession() -> Self {
    var key = self
    key.traits.endsWithSession = true
    return key
  }

  /// The same key, refusing values whose encoded form exceeds `bytes` with
  /// ``/CofferPlatform/StoreError/Kind/tooLarge(limit:)``.
  public func limited(toBytes bytes: Int) -> Self {
    var key = self
    key.traits.maximumBytes = bytes
    return key
  }

  /// Sets how a read treats stored bytes that are not a value of the key's type. The stored bytes stay in either case.
  public func whenUndecodable(
    _ policy: UndecodablePolicy, report: (@Sendable (StoreError) -> Void)? = nil
  ) -> Self {
    var key = self
    key.traits.readsDefaultWhenUndecodable = policy == .useDefault
    key.traits.failureReport = report
    return key
  }
}

/// The result of a read of undecodable bytes: see ``StorageKey/whenUndecodable(_:report:)``.
public enum UndecodablePolicy: Sendable {
  /// Throws ``/CofferPlatform/StoreError/Kind/undecodable(stored:)``. This is the default policy.
  case `throw`
  /// Reads as the default (or nil) and reports the error. An unsuitable override still throws.
  case useDefault
}

extension StorageKey {
  package var defaultValue: Value { declaration.absent }

  package func transcoded<New>(
    absent: New, decode: @escaping @Sendable (Value) throws(StoreError) -> New,
    encode: @escaping @Sendable (New) throws(StoreError) -> Value
  ) -> StorageKey<New, R> {
    let (inner, outer) = (declaration.decode, declaration.encode)
    var key = StorageKey<New, R>(
      name: name, site: site, absent: absent,
      decode: { (form) throws(StoreError) in try decode(inner(form)) },
      encode: { (value, traits) throws(StoreError) in try outer(encode(value), traits) })
    key.traits = traits
    return key
  }
}

extension StorageKey where R == Plain {
  package init(raw name: String, fileID: String = #fileID, line: Int = #line) where Value == PlainForm? {
    self.init(
      name: name, site: DeclarationSite(fileID: fileID, line: line), absent: nil,
      decode: { (form) throws(StoreError) in form }, encode: { (form, _) throws(StoreError) in form })
  }
}

extension StorageKey where R == Vault {
  package init(raw name: String, fileID: String = #fileID, line: Int = #line) where Value == SecretForm? {
    self.init(
      name: name, site: DeclarationSite(fileID: fileID, line: line), absent: nil,
      decode: { (form) throws(StoreError) in form }, encode: { (form, _) throws(StoreError) in form })
  }
}

extension StorageKey {
  var route: any Route.Type { R.self }
}

/// The keys of one part of a program: a struct whose stored properties are keys or families of keys.
///
/// ```swift
/// struct AppKeys: KeySpace {
///   let theme = StorageKey("theme", default: Theme.light)
///   let token = StorageKey("token", secret: AuthToken.self).endsWithSession()
/// }
/// ```
///
/// A router is opened with a list of spaces, and so finds collisions before the first read. It sees only stored properties.
/// Return static and computed keys, and keys in a collection or a nested space, from ``declaredKeys``, a ``Declarations``.
/// Keys whose names are data are members of a ``StorageKeyFamily``.
public protocol KeySpace: Sendable {
  /// The keys of this space. By default these are its stored properties.
  var declaredKeys: [any DeclaredKey] { get }
}

extension KeySpace {
  /// The type of ``declaredKeys``, under a name that needs no other import.
  public typealias Declarations = [any DeclaredKey]

  /// The stored properties that are keys, in the order of declaration.
  public var declaredKeys: [any DeclaredKey] {
    Mirror(reflecting: self).children.compactMap { $0.value as? any DeclaredKey }
  }
}

/// A key, or a family of keys, without its types, for listings.
public protocol DeclaredKey: Sendable {
  /// The name that the value is stored under; for a family, the prefix of its members' names.
  var name: String { get }
  /// The place of the declaration.
  var site: DeclarationSite { get }
  /// The traits of the declaration.
  var traits: KeyTraits { get }
}

extension StorageKey: DescribedKey {
  var described: Schema.Entry { Schema.Entry(self, of: Value.self, default: defaultForm) }

  /// Nil if there is no default or the type refuses to be stored.
  private var defaultForm: PlainForm? {
    guard R.self == Plain.self else { return nil }
    do throws(StoreError) { return try form(of: declaration.absent) as? PlainForm } catch { return nil }
  }
}
