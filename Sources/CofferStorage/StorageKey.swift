public import CofferPlatform
public import Synchronization

/// The typed address of one value: its name, its type, where it goes and how it is coded. Declare each once, in a ``KeySpace``.
///
/// ```swift
/// let theme = StorageKey("theme", default: Theme.light)          // plain, reads as .light when absent
/// let nickname = StorageKey("nickname", of: String.self)         // plain, String?
/// let token = StorageKey("token", secret: AuthToken.self)        // vault, Sealed<AuthToken>?
/// let userID = StorageKey("user_id", vaulted: String.self)       // vault, String?
/// ```
///
/// The route is inferred and never written. The name is the storage contract: it outlives a renamed property.
public struct StorageKey<Value: Sendable, R: Route>: Sendable {
  /// The name under which the value is stored.
  public let name: String
  /// Where the key is declared.
  public var site: DeclarationSite { declaration.site }
  /// The traits of the declaration beside the name and the type.
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

  /// The key `name`, declared as `pattern` is.
  init(_ name: String, declaredLike pattern: StorageKey) {
    self.name = name
    declaration = KeyDeclaration(pattern.declaration, pattern.traits)
  }

  /// What `form` reads as: the default, or nil, only when there is none.
  @inlinable
  func read(_ form: R.Form?) throws(StoreError) -> Value {
    guard let form else { return declaration.absent }
    do { return try declaration.decode(form) } catch { return try substitute(for: error) }
  }

  /// The value in place of one that could not be read.
  @usableFromInline
  func substitute(for error: StoreError) throws(StoreError) -> Value {
    guard case .undecodable = error.kind, traits.readsDefaultWhenUndecodable else { throw error.about(key: name) }
    traits.failureReport?(error.about(key: name))
    return declaration.absent
  }

  /// The form that `value` is stored as; nil removes.
  @inlinable
  func form(of value: Value) throws(StoreError) -> R.Form? {
    do { return try declaration.encode(value, declaration.traits) } catch { throw error.about(key: name) }
  }
}

/// The shared part of a key's copies, so that passing a key costs no more than its name.
@usableFromInline
final class KeyDeclaration<Value: Sendable, R: Route>: Sendable {
  /// The router that has already checked this declaration: the check then costs a read one atomic load.
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
  /// The same key with a name for people, shown by listings.
  public func labelled(_ label: String) -> Self {
    var key = self
    key.traits.label = label
    return key
  }

  /// The same key, removed from its store by a logout. The logout of a program that does not know the key removes values that
  /// were stored, or moved from a former name, since the key was declared so.
  public func endsWithSession() -> Self {
    var key = self
    key.traits.endsWithSession = true
    return key
  }

  /// The same key, refusing values whose encoded form exceeds `bytes` with ``/CofferPlatform/StoreError/Kind/tooLarge(limit:)``.
  public func limited(toBytes bytes: Int) -> Self {
    var key = self
    key.traits.maximumBytes = bytes
    return key
  }

  /// The result of a read of stored bytes that are no value of the key's type. The stored bytes stay in either case.
  public func whenUndecodable(
    _ policy: UndecodablePolicy, report: (@Sendable (StoreError) -> Void)? = nil
  ) -> Self {
    var key = self
    key.traits.readsDefaultWhenUndecodable = policy == .useDefault
    key.traits.failureReport = report
    return key
  }
}

/// See ``StorageKey/whenUndecodable(_:report:)``.
public enum UndecodablePolicy: Sendable {
  /// Throw ``/CofferPlatform/StoreError/Kind/undecodable(stored:)``: what keys do unless told otherwise.
  case `throw`
  /// Read as the default (or nil), and report the error.
  case useDefault
}

extension StorageKey {
  /// The value while nothing is stored.
  package var defaultValue: Value { declaration.absent }

  /// A key for the same form with another type on top.
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
  /// The stored form as it is.
  package init(raw name: String, fileID: String = #fileID, line: Int = #line) where Value == PlainForm? {
    self.init(
      name: name, site: DeclarationSite(fileID: fileID, line: line), absent: nil,
      decode: { (form) throws(StoreError) in form }, encode: { (form, _) throws(StoreError) in form })
  }
}

extension StorageKey where R == Vault {
  /// The stored form as it is.
  package init(raw name: String, fileID: String = #fileID, line: Int = #line) where Value == SecretForm? {
    self.init(
      name: name, site: DeclarationSite(fileID: fileID, line: line), absent: nil,
      decode: { (form) throws(StoreError) in form }, encode: { (form, _) throws(StoreError) in form })
  }
}

extension StorageKey {
  var route: any Route.Type { R.self }
}

/// The keys of one part of a program: a struct whose stored properties are keys, or families of keys.
///
/// ```swift
/// struct AppKeys: KeySpace {
///   let theme = StorageKey("theme", default: Theme.light)
///   let token = StorageKey("token", secret: AuthToken.self).endsWithSession()
/// }
/// ```
///
/// A router lists the spaces it is opened with, so that collisions are known before the first read. It sees stored properties
/// alone: a key that is static, computed, in a collection or in a space within the space has to be returned by ``declaredKeys``,
/// a ``Declarations``. Keys whose names are data are members of a ``StorageKeyFamily``.
public protocol KeySpace: Sendable {
  /// The keys of this space: its stored properties unless it says otherwise, as one that makes keys from data does.
  var declaredKeys: [any DeclaredKey] { get }
}

extension KeySpace {
  /// What ``declaredKeys`` returns, by a name that needs no other import.
  public typealias Declarations = [any DeclaredKey]

  /// The keys that are stored properties of this value, in the order of their declaration.
  public var declaredKeys: [any DeclaredKey] {
    Mirror(reflecting: self).children.compactMap { $0.value as? any DeclaredKey }
  }
}

/// A key, or a family of keys, without its types, for listings.
public protocol DeclaredKey: Sendable {
  /// The name under which the value is stored; of a family, what its members' names begin with.
  var name: String { get }
  /// Where the key is declared.
  var site: DeclarationSite { get }
  /// The traits of the declaration.
  var traits: KeyTraits { get }
}

extension StorageKey: DescribedKey {
  var described: Schema.Entry { Schema.Entry(self, of: Value.self, default: defaultForm) }

  /// The form of the default; nil where there is none, and where the type refuses to be stored.
  private var defaultForm: PlainForm? {
    guard R.self == Plain.self else { return nil }
    do throws(StoreError) { return try form(of: declaration.absent) as? PlainForm } catch { return nil }
  }
}
