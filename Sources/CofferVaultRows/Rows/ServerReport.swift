package import CofferPlatform

/// A server's report about itself and the connection, for its administrator. It proves nothing.
package struct ServerReport: Sendable {
  /// Whether the server is this machine, so that nobody in between can listen.
  package var isThisMachine = false
  package var isEncrypted = false
  /// Whether the server has to prove its host name.
  package var provesHost = false
  package var isSuperuser = false
  package var mayWrite = false
  /// Whether a commit is acknowledged before it is durable, and whether the place allows for that.
  package var acknowledgesEarly = false, allowsEarly = false
  package var standbys = 0, awaitedStandbys = 0
  /// How far its clock is ahead of this machine's, in seconds.
  package var clockAhead = 0.0
  /// Copies that a repair or a restore has kept.
  package var keptCopies: [VaultPlace] = []

  package init() {}
}

extension VaultPlace {
  /// Asks the server of the place. The report is nil for a file, and a missing vault is no error.
  package func serverReport() throws(StoreError) -> ServerReport? {
    guard let server else { return nil }
    return try server.server().report(server.url)
  }
}
