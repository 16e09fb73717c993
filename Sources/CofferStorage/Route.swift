/// Where values of a key go: ``Plain`` or ``Vault``. The route is part of a key's type, so the compiler knows it.
///
/// Do not declare new conformances: there are two sensitivities, and ``StorageRouter`` has one store for each.
public protocol Route: Sendable {
  /// What a store of this route moves. A store knows nothing of the Swift types that a form stands for.
  associatedtype Form: Sendable
  /// Tells whether a stored value changed since it was read.
  associatedtype Stamp: Sendable, Equatable

  /// The router's store for this route.
  static func store(of router: borrowing StorageRouter) -> any Store<Self>
}

/// The route of preferences: readable in a property list.
public enum Plain: Route {
  /// A property-list value.
  public typealias Form = PlainForm
  /// The value itself; nil when absent.
  public typealias Stamp = PlainForm?

  /// The router's plain store.
  public static func store(of router: borrowing StorageRouter) -> any Store<Plain> { router.plain }
}

/// The route of secrets: sealed in the vault.
public enum Vault: Route {
  /// Guarded bytes and their sealed metadata.
  public typealias Form = SecretForm
  /// The version of the stored record.
  public typealias Stamp = RecordVersion

  /// The router's encrypted store.
  public static func store(of router: borrowing StorageRouter) -> any Store<Vault> { router.vault }
}

/// Names one version of one stored record; ``absent`` where there is none. Two versions of a record never share it.
public struct RecordVersion: Sendable, Equatable {
  /// Opaque bytes, at most 32.
  public let bytes: [UInt8]
  /// The version of what is not there.
  public static let absent = RecordVersion([])

  /// A version named by `bytes`.
  public init(_ bytes: [UInt8]) { self.bytes = bytes }
}
