package import CofferPlatform
package import CofferVault

/// What the agent's vault is at one moment, to be compared with another.
package struct AgentMoment: Sendable, Equatable {
  /// The vault that is unlocked; nil while none is.
  package var vault: VaultID?
  /// Its last commit.
  package var generation: UInt64 = 0
  /// When the agent locked or unlocked it last, in nanoseconds since the start of the machine: a vault that was locked and
  /// unlocked in between is told of too, and of two moments the later one can be known, also beside another agent's.
  package var since: UInt64 = 0
}

extension AgentClient {
  /// Waits until the vault is locked, unlocked or changed by anybody, but no longer than half a minute. It is no use of the
  /// vault.
  ///
  /// - Parameter known: what was so the last time; nil has what is so now answered at once.
  package func moment(after known: AgentMoment?) throws(StoreError) -> AgentMoment {
    try ask(.watch, isWrite: false) { (writer) throws(StoreError) in
      try writer.put(known != nil)
      if let known { try writer.put(known) }
    } answer: { (fields) throws(StoreError) in
      try fields.moment()
    }
  }
}

extension AgentClient {
  /// Has `tell` called when an agent may have begun to listen; nil where that cannot be known, as its folder is not there yet.
  package func watchForAgent(_ tell: @escaping @Sendable () -> Void) -> Subscription? {
    do throws(StoreError) {
      return try DirectoryWatch.start(place.folder, names: [place.socket.lastName ?? ""]) { _ in tell() }
    } catch { return nil }
  }
}
