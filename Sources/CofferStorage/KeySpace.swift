/// The keys of one part of a program: a struct whose stored properties are keys, or families of keys.
///
/// ```swift
/// struct AppKeys: KeySpace {
///   let theme = StorageKey("theme", default: Theme.light)
///   let token = StorageKey("token", secret: AuthToken.self).endsWithSession()
/// }
/// ```
///
/// A router lists the spaces it is opened with, so that collisions are known before the first read. It sees stored properties alone: a key
/// that is static, computed, in a collection or in a space within the space has to be returned by ``declaredKeys``. Keys whose names are data
/// are members of a ``StorageKeyFamily``.
public protocol KeySpace: Sendable {
  /// The keys of this space: its stored properties unless it says otherwise, as one that makes keys from data does.
  var declaredKeys: [any DeclaredKey] { get }
}

extension KeySpace {
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
  /// What the declaration adds.
  var traits: KeyTraits { get }
}

extension StorageKey: DeclaredKey {}
