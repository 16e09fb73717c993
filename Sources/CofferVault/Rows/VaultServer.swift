package import CofferPlatform
internal import CofferStorage
internal import Synchronization

/// Opens vaults on servers of one kind, which URLs of one scheme name.
package protocol VaultServer: Sendable {
  /// How `url` is shown to people; nil for one that may hold a secret, and for what is none of this server's.
  func shown(_ url: String) -> String?

  /// The rows of the vault that `url` names.
  ///
  /// - Parameter patience: how long another writer is waited for, in milliseconds; nil for as long as the URL says.
  /// - Throws: ``/CofferPlatform/StoreError`` `.invalidName` for a malformed URL, `.noVault`, `.unavailable`, `.denied`, `.damaged`.
  func open(_ url: String, patience: Int32?) throws(StoreError) -> sending any VaultRows

  /// Makes the place that `url` names, whose first rows `fill` writes in the transaction that makes the tables.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.alreadyExists`, what `fill` throws, and what ``open(_:patience:)`` throws.
  func create(_ url: String, fill: (any VaultRows) throws(StoreError) -> Void) throws(StoreError) -> sending any VaultRows

  /// Calls `body`, on a queue of its own, whenever somebody may have committed to the vault that `url` names, and once at the beginning.
  func watch(_ url: String, _ body: @escaping @Sendable () -> Void) throws(StoreError) -> Subscription
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
