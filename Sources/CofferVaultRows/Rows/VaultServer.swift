package import CofferPlatform
internal import Synchronization

/// Opens vaults on one kind of server, named by one URL scheme.
package protocol VaultServer: Sendable {
  /// Does not contact the server. A valid URL may be shown to people.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.invalidName` for a malformed URL, or one that may hold a secret.
  func check(_ url: String) throws(StoreError)

  /// - Parameter patience: milliseconds to wait for another writer; nil for the URL's own setting.
  /// - Throws: ``/CofferPlatform/StoreError`` `.invalidName` for a malformed URL, `.noVault`, `.unreachable`, `.denied`,
  ///   `.damaged`.
  func open(_ url: String, patience: Int32?) throws(StoreError) -> sending any VaultRows

  /// The same rows, to be exchanged for others.
  func openToReplace(_ url: String) throws(StoreError) -> any ServerRows

  /// The place at `url` under the names of its hosts, with or without a vault.
  func find(_ url: String) throws(StoreError) -> VaultPlace

  /// Without contacting the server.
  func named(_ url: String) throws(StoreError) -> VaultPlace

  /// Makes a vault; `fill` writes its first rows in the transaction that makes the tables and lets the roles in.
  func create(
    _ url: String, granting roles: [ServerRole], fill: (any VaultRows) throws(StoreError) -> Void
  ) throws(StoreError) -> sending any VaultRows

  /// See ``VaultPlace/grant(_:)``.
  func grant(_ url: String, _ roles: [ServerRole]) throws(StoreError) -> [ServerRole]

  /// The statements that let a role in.
  func statements(_ url: String, granting role: ServerRole) throws(StoreError) -> [String]

  /// The server's report about itself. A missing vault is no error.
  func report(_ url: String) throws(StoreError) -> ServerReport

  /// A turn that excludes all others on any machine; nil while it is taken.
  func turn(_ url: String) throws(StoreError) -> (any ServerTurn)?

  /// Calls `body` on its own thread after possible commits, and again after it throws.
  func watch(_ url: String, _ body: @escaping @Sendable () throws(StoreError) -> Void) throws(StoreError) -> Subscription
}

/// A turn at a vault on a server. It also ends with the process.
package protocol ServerTurn: AnyObject, Sendable {
  func end()
}

/// The rows of a vault on a server, which a backup's can replace.
package protocol ServerRows: VaultRows {
  /// Called within a write.
  func removeAllRows() throws(StoreError)
}

package enum VaultServers {
  private static let known = Mutex<[String: any VaultServer]>([:])

  package static func use(_ server: any VaultServer, forScheme scheme: String) {
    known.withLock { $0[scheme] = server }
  }

  static func server(forScheme scheme: String) -> (any VaultServer)? { known.withLock { $0[scheme] } }
}
