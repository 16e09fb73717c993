internal import CofferAgent
package import CofferPlatform

/// Answers programs that speak to an agent of SSH. It holds no key and decides nothing: Coffer's agent does both.
///
/// Sources: RFC 9987; OpenSSH's PROTOCOL.agent.
package final class SSHFace: Sendable {
  let settings: SSHFaceSettings
  let lock = SocketLock()
  let places = Asking.Places()
  /// For each vault.
  let waits: [UnlockWaits]
  private let connections: Connections

  /// - Throws: ``/CofferPlatform/StoreError/Kind/io(_:)`` if the process has no descriptor left.
  package init(_ settings: SSHFaceSettings) throws(StoreError) {
    self.settings = settings
    waits = settings.vaults.map { UnlockWaits($0, settings.patience) }
    connections = try Connections()
  }

  /// Answers programs until ``stop()``, then removes the socket and ends its connections.
  package func run(on listener: consuming SSHListener) throws(StoreError) {
    defer {
      listener.removeName()
      connections.endAll()
    }
    try connections.run(at: listener.descriptor, listener.path, "the program", refused: settings.note) {
      [self] (socket, mark) in SSHConversation(self, socket, mark).hold(on: socket)
    }
  }

  /// Makes ``run(on:)`` return, from any thread.
  package func stop() { connections.stop() }

  /// Whether requests need no answer any more.
  var isEnding: Bool { connections.isStopping }
}
