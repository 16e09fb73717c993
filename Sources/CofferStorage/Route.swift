public import CofferPlatform

/// The store for values of a key: ``Plain`` or ``Vault``. The route is part of a key's type, so the compiler knows it.
///
/// Do not declare new conformances: there are two sensitivities, and ``StorageRouter`` has one store for each.
public protocol Route: Sendable {
  /// The form of values in stores of this route. A store does not know the Swift types behind a form.
  associatedtype Form: Sendable
  /// Tells whether a stored value changed since it was read.
  associatedtype Stamp: Sendable, Equatable

  /// The router's store for this route.
  static func store(of router: borrowing StorageRouter) -> any Store<Self>

  /// Whether the router's store for this route has a value for `name`, without opening it.
  static func contains(_ name: String, in router: StorageRouter) throws(StoreError) -> Bool

  /// A transaction's reads and writes in this route's store.
  static func side(of transaction: Transaction) -> TransactionSide<Self>

  /// The stored value behind a reading, which `update` changes; never an override.
  static func stored(_ reading: Reading<Self>) -> Form?
}

/// The route of preferences: readable in a property list.
public enum Plain: Route {
  /// A property-list value.
  public typealias Form = PlainForm
  /// The value stored in the domain itself; nil when absent there, even if another layer has one.
  public typealias Stamp = PlainForm?

  /// The router's plain store.
  @inlinable
  public static func store(of router: borrowing StorageRouter) -> any Store<Plain> { router.plainStore }

  /// Whether any layer has a value for `name`.
  public static func contains(_ name: String, in router: StorageRouter) throws(StoreError) -> Bool {
    try router.plain.contains(name)
  }

  /// The transaction's plain part.
  public static func side(of transaction: Transaction) -> TransactionSide<Plain> { transaction.plain }

  /// The stamp, which is the stored value: the form may be an override's.
  public static func stored(_ reading: Reading<Plain>) -> PlainForm? { reading.stamp }
}

/// The route of secrets: sealed in the vault.
public enum Vault: Route {
  /// Guarded bytes and their sealed metadata.
  public typealias Form = SecretForm
  /// The version of the stored record.
  public typealias Stamp = RecordVersion

  /// The router's encrypted store.
  @inlinable
  public static func store(of router: borrowing StorageRouter) -> any Store<Vault> { router.vaultStore }

  /// Whether the vault has an item `name`, expired or not.
  public static func contains(_ name: String, in router: StorageRouter) throws(StoreError) -> Bool {
    try router.vault.contains(name)
  }

  /// The transaction's part in the vault.
  public static func side(of transaction: Transaction) -> TransactionSide<Vault> { transaction.vault }

  /// The form: secrets have no overrides.
  public static func stored(_ reading: Reading<Vault>) -> SecretForm? { reading.form }
}

/// Names one version of one stored record; ``absent`` if there is none. Two versions of a record never share a name.
public struct RecordVersion: Sendable, Equatable {
  /// Opaque bytes, at most 32.
  public let bytes: [UInt8]
  /// The version of a missing value.
  public static let absent = RecordVersion([])

  /// A version named by `bytes`.
  public init(_ bytes: [UInt8]) { self.bytes = bytes }
}
