public import CofferStorage
public import SystemPackage

/// The vault as a store: the items of one service, addressed by account. Holds the vault locked or unlocked; while it is locked
/// every call throws ``StoreError/Kind/locked``.
public final class VaultStore: Store {
  /// Serves the vault's route.
  public typealias R = Vault
  /// The service whose items these are: an app's domain.
  public let service: String
  /// The vault's path.
  public let place: String

  /// A store over a locked vault.
  public init(service: String, vault: LockedVault) throws(StoreError) { fatalError() }
  /// A store over an unlocked vault, which it takes over.
  public init(service: String, vault: consuming UnlockedVault) throws(StoreError) { fatalError() }
  /// Unlocks. Does nothing when it is unlocked already.
  public func unlock(with credentials: consuming Credentials) throws(StoreError) { fatalError() }
  /// Waits for running calls, then wipes the keys.
  public func lock() throws(StoreError) { fatalError() }
  /// Whether calls are answered.
  public var isUnlocked: Bool { fatalError() }

  // Store
  /// See ``Store``.
  public func load(_ name: String) throws(StoreError) -> SecretForm? { fatalError() }
  /// See ``Store``.
  public func load(_ names: [String]) throws(StoreError) -> [Reading<Vault>] { fatalError() }
  /// See ``Store``.
  public func contains(_ name: String) throws(StoreError) -> Bool { fatalError() }
  /// See ``Store``.
  public func names() throws(StoreError) -> [String] { fatalError() }
  /// See ``Store``.
  public func update(_ name: String, _ body: (SecretForm?) throws(StoreError) -> SecretForm?) throws(StoreError) { fatalError() }
  /// See ``Store``.
  public func commit(_ batch: Batch<Vault>, decision: Decision?) throws(StoreError) { fatalError() }
  /// See ``Store``.
  public func forget(_ transaction: TransactionID) throws(StoreError) { fatalError() }
}

/// The unsealed record of decided transactions in a vault's file, readable without any key.
public enum DecidedTransactions {
  /// Whether `transaction` was committed in the vault at `path`.
  ///
  /// - Throws: ``StoreError`` when the file cannot be read.
  public static func contains(_ transaction: TransactionID, in path: FilePath) throws(StoreError) -> Bool { fatalError() }
  /// Drops the record.
  public static func forget(_ transaction: TransactionID, in path: FilePath) throws(StoreError) { fatalError() }
}
