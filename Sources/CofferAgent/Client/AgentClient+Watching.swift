internal import CofferClient
package import CofferPlatform
internal import CofferVault

extension AgentClient {
  /// Waits up to half a minute for a lock, unlock or change of the vault. It is no use of the vault.
  ///
  /// - Parameter known: the last moment; nil returns the current one at once.
  package func moment(after known: AgentMoment?) throws(StoreError) -> AgentMoment {
    try ask(.watch) { (writer) throws(StoreError) in
      try writer.put(known)
    } answer: { (fields) throws(StoreError) in
      try fields.read(AgentMoment.self)
    }
  }
}

extension AgentClient {
  /// Calls `tell` when an agent may have begun to listen; nil if that cannot be observed, as its folder does not exist yet.
  package func watchForAgent(_ tell: @escaping @Sendable () -> Void) -> Subscription? {
    do throws(StoreError) {
      return try DirectoryWatch.start(place.folder, names: [place.socket.lastName ?? ""]) { _ in tell() }
    } catch { return nil }
  }
}
