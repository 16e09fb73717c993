internal import CofferAgent
internal import CofferClient
package import CofferPlatform
internal import Synchronization

/// Answers programs that speak to an agent of SSH. It holds no key and decides nothing: Coffer's agent does both.
///
/// Each connection has its own thread, so that a slow or silent program delays no other.
///
/// Sources: RFC 9987; OpenSSH's PROTOCOL.agent.
package final class SSHFace: Sendable {
  let settings: SSHFaceSettings
  let lock = SocketLock()
  let places = Asking.Places()
  /// By the number of the vault.
  let waits: [UnlockWaits]
  private let connections = Connections()
  private let bell: Bell
  private let isStopping = Atomic<Bool>(false)

  /// Microseconds between tries to accept a program's connection while the system lacks room.
  private static let breather: UInt32 = 10_000

  /// - Throws: ``/CofferPlatform/StoreError/Kind/io(_:)`` if the process has no descriptor left.
  package init(_ settings: SSHFaceSettings) throws(StoreError) {
    self.settings = settings
    waits = settings.vaults.map { UnlockWaits($0, settings.patience) }
    bell = try Bell()
  }

  /// Answers programs until ``stop()``, then removes the socket and ends its connections.
  package func run(on listener: consuming SSHListener) throws(StoreError) {
    defer {
      listener.removeName()
      connections.endAll()
    }
    while !isStopping.load(ordering: .acquiring) {
      guard try wait(for: listener) else { continue }
      let descriptor = coffer_accept(listener.descriptor)
      guard descriptor >= 0 else {
        if errno != ECONNABORTED, errno != EINTR, errno != EAGAIN { usleep(Self.breather) }
        continue
      }
      admit(LocalSocket(descriptor), at: listener.path.string)
    }
  }

  /// Makes ``run(on:)`` return, from any thread.
  package func stop() {
    isStopping.store(true, ordering: .releasing)
    bell.ring()
  }

  /// Whether requests need no answer any more.
  var isEnding: Bool { isStopping.load(ordering: .acquiring) }

  private func wait(for listener: borrowing SSHListener) throws(StoreError) -> Bool {
    var waiting = [listener.descriptor, bell.hearing].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    guard poll(&waiting, 2, -1) >= 0 || errno == EINTR else {
      throw StoreError(errno: errno, "wait for programs", place: listener.path)
    }
    if waiting[1].revents != 0 { bell.silence() }
    return waiting[0].revents != 0
  }

  private func admit(_ socket: consuming LocalSocket, at place: String) {
    do throws(StoreError) {
      try AgentAddress.checkPeer(socket.descriptor, "the program", place: place, StoreError.self)
      try connections.serve(socket) { [self] (socket, mark) in SSHConversation(self, socket, mark).hold(on: socket) }
    } catch { settings.note(error) }
  }
}
