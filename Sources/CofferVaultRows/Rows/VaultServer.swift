package import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import Synchronization

/// Opens vaults on servers of one kind, which URLs of one scheme name.
package protocol VaultServer: Sendable {
  /// Checks that `url` is one of this server's, without asking the server: one that is, is shown to people.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.invalidName` for a malformed URL, and for one that may hold a secret.
  func check(_ url: String) throws(StoreError)

  /// The rows of the vault that `url` names.
  ///
  /// - Parameter patience: how long another writer is waited for, in milliseconds; nil for as long as the URL says.
  /// - Throws: ``/CofferPlatform/StoreError`` `.invalidName` for a malformed URL, `.noVault`, `.unreachable`, `.denied`,
  ///   `.damaged`.
  func open(_ url: String, patience: Int32?) throws(StoreError) -> sending any VaultRows

  /// The same rows, to be exchanged for others.
  func openToReplace(_ url: String) throws(StoreError) -> any ServerRows

  /// The place that `url` names, under the names that its hosts have, whether a vault is there or not.
  ///
  /// - Throws: ``/CofferPlatform/StoreError``: what ``open(_:patience:)`` throws, but not that there is no vault.
  func find(_ url: String) throws(StoreError) -> VaultPlace

  /// The same without asking the server, nor where it is.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.invalidName` for a malformed URL.
  func named(_ url: String) throws(StoreError) -> VaultPlace

  /// Makes the place that `url` names, whose first rows `fill` writes in the transaction that makes the tables.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.alreadyExists`, what `fill` throws, and what ``open(_:patience:)`` throws.
  func create(_ url: String, fill: (any VaultRows) throws(StoreError) -> Void) throws(StoreError) -> sending any VaultRows

  /// The account of the server of `url` about itself.
  ///
  /// - Throws: ``/CofferPlatform/StoreError``: the errors of ``open(_:patience:)``, except for a missing vault.
  func report(_ url: String) throws(StoreError) -> ServerReport

  /// Keeps all others that ask for the same out until the turn ends, on whatever machine they are; nil while somebody else has
  /// it.
  ///
  /// - Throws: ``/CofferPlatform/StoreError``: what ``open(_:patience:)`` throws, but not that there is no vault.
  func turn(_ url: String) throws(StoreError) -> (any ServerTurn)?

  /// Calls `body`, on a thread of its own, whenever somebody may have committed to the vault that `url` names; again where it
  /// throws.
  func watch(_ url: String, _ body: @escaping @Sendable () throws(StoreError) -> Void) throws(StoreError) -> Subscription
}

/// A turn at a vault on a server, which ends with the process too.
package protocol ServerTurn: AnyObject, Sendable {
  func end()
}

/// The rows of a vault on a server, which can be exchanged for those of a backup.
package protocol ServerRows: VaultRows {
  /// Within a write: removes all rows.
  func removeAllRows() throws(StoreError)
}

/// The servers that this process was given, by the scheme of their URLs.
package enum VaultServers {
  private static let known = Mutex<[String: any VaultServer]>([:])

  /// Has `server` open the vaults whose URLs begin with `scheme`.
  package static func use(_ server: any VaultServer, forScheme scheme: String) {
    known.withLock { $0[scheme] = server }
  }

  static func server(forScheme scheme: String) -> (any VaultServer)? { known.withLock { $0[scheme] } }
}
