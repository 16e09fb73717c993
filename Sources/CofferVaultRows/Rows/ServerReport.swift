package import CofferPlatform

/// A server's account of itself and of the connection, for its administrator. It proves nothing.
package struct ServerReport: Sendable {
  /// Whether nobody between here and there can listen, as it is this machine.
  package var isThisMachine = false
  /// Whether the connection is encrypted.
  package var isEncrypted = false
  /// Whether the server has to prove which host it is.
  package var provesHost = false
  /// Whether the role may do everything on the server.
  package var isSuperuser = false
  package var mayWrite = false
  /// Whether a commit is acknowledged before it is durable, and whether the place allows for that.
  package var acknowledgesEarly = false, allowsEarly = false
  /// How many standbys take commits from it; of these, those that it waits for.
  package var standbys = 0, awaitedStandbys = 0
  /// How far its clock is ahead of this machine's, in seconds.
  package var clockAhead = 0.0
  /// Places of copies that a repair or a restore has kept.
  package var keptCopies: [VaultPlace] = []

  package init() {}
}

extension VaultPlace {
  /// Asks the server of a place about itself; nil for a file.
  ///
  /// - Throws: ``/CofferPlatform/StoreError``: what opening a vault there throws, but not that there is none.
  package func serverReport() throws(StoreError) -> ServerReport? {
    guard let server else { return nil }
    return try server.server().report(server.url)
  }
}
