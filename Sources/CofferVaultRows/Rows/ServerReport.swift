package import CofferPlatform

/// A server's report about itself and the connection, for its administrator. It proves nothing.
package struct ServerReport: Sendable {
  /// The server is this machine, so nobody in between can listen.
  package var isThisMachine = false
  package var isEncrypted = false
  /// The server must prove its host name.
  package var provesHost = false
  package var isSuperuser = false
  package var mayWrite = false
  /// Whether it may write to one of the vault's tables.
  package var mayWriteSome = false
  /// Whether transactions begin as read-only.
  package var isReadOnly = false
  /// Triggers, rules and row policies on the vault's tables, which Coffer never makes.
  package var foreignRules = 0
  /// Whether every role of the database has rights to one of the vault's tables.
  package var isOpenToAll = false
  /// Whether a commit is acknowledged before it is durable, and whether the place allows that.
  package var acknowledgesEarly = false, allowsEarly = false
  package var standbys = 0, awaitedStandbys = 0
  /// In seconds, relative to this machine's.
  package var clockAhead = 0.0
  /// Copies kept by a repair or a restore.
  package var keptCopies: [VaultPlace] = []

  package init() {}
}

extension VaultPlace {
  /// Asks the server of the place. Nil for a file; a missing vault is no error.
  package func serverReport() throws(StoreError) -> ServerReport? {
    guard let server else { return nil }
    return try server.server().report(server.url)
  }
}
