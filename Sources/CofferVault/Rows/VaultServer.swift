package import CofferPlatform
internal import CofferStorage
internal import Synchronization

/// Opens vaults on one kind of server, named by one URL scheme.
package protocol VaultServer: Sendable {
  /// Checks `url` without asking the server. A valid URL may be shown to people.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.invalidName` for a malformed URL, or one that may hold a secret.
  func check(_ url: String) throws(StoreError)

  /// The rows of the vault at `url`.
  ///
  /// - Parameter patience: how long to wait for another writer, in milliseconds; nil for the URL's own setting.
  /// - Throws: ``/CofferPlatform/StoreError`` `.invalidName` for a malformed URL, `.noVault`, `.unreachable`, `.denied`,
  ///   `.damaged`.
  func open(_ url: String, patience: Int32?) throws(StoreError) -> sending any VaultRows

  /// The same rows, to be exchanged for others.
  func openToReplace(_ url: String) throws(StoreError) -> any ServerRows

  /// The place at `url`, under the names of its hosts, with or without a vault.
  ///
  /// - Throws: the errors of ``open(_:patience:)``, except for a missing vault.
  func find(_ url: String) throws(StoreError) -> VaultPlace

  /// The same without any contact with the server.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.invalidName` for a malformed URL.
  func named(_ url: String) throws(StoreError) -> VaultPlace

  /// Makes a vault at `url`, whose first rows `fill` writes in the transaction that makes the tables.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.alreadyExists`, and the errors of `fill` and of ``open(_:patience:)``.
  func create(_ url: String, fill: (any VaultRows) throws(StoreError) -> Void) throws(StoreError) -> sending any VaultRows

  /// - Throws: the errors of ``open(_:patience:)``, except for a missing vault.
  func report(_ url: String) throws(StoreError) -> ServerReport

  /// Keeps all others on any machine from this turn until it ends; nil while somebody else has it.
  ///
  /// - Throws: the errors of ``open(_:patience:)``, except for a missing vault.
  func turn(_ url: String) throws(StoreError) -> (any ServerTurn)?

  /// Calls `body`, on its own thread, whenever somebody may have committed to the vault at `url`, and again after it throws.
  func watch(_ url: String, _ body: @escaping @Sendable () throws(StoreError) -> Void) throws(StoreError) -> Subscription
}

/// A turn at a vault on a server. It also ends with the process.
package protocol ServerTurn: AnyObject, Sendable {
  func end()
}

/// The rows of a vault on a server, which can be exchanged for those of a backup.
package protocol ServerRows: VaultRows {
  /// Within a write.
  func removeAllRows() throws(StoreError)
}

/// The servers known to this process, by URL scheme.
package enum VaultServers {
  private static let known = Mutex<[String: any VaultServer]>([:])

  package static func use(_ server: any VaultServer, forScheme scheme: String) {
    known.withLock { $0[scheme] = server }
  }

  static func server(forScheme scheme: String) -> (any VaultServer)? { known.withLock { $0[scheme] } }
}
