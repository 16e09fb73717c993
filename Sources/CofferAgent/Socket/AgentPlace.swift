internal import CofferClient
internal import CofferPlatform
internal import SystemPackage

/// A user's agent: `agent.sock` in a private folder, beside the lock of the one instance.
struct AgentPlace: Sendable {
  let folder: FilePath
  var socket: FilePath { folder.appending("agent.sock") }
  var lock: FilePath { folder.appending("agent.lock") }

  /// More clients may wait than may be connected.
  private static let backlog: Int32 = 256

  private var bytes: [CChar] { folder.withPlatformString { Array(UnsafeBufferPointer(start: $0, count: strlen($0) + 1)) } }
  var address: AgentAddress { AgentAddress(folder: bytes) }

  /// A connection to the agent; nil if none listens.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.denied` if the folder or the listener is another user's; `.busy`, `.io`.
  func connect() throws(StoreError) -> LocalSocket? { try address.connect(StoreError.self) }

  func isListening() throws(StoreError) -> Bool {
    switch try connect() {
    case .some: true
    case .none: false
    }
  }

  /// A listening socket in place of a dead agent's. The caller holds the lock.
  func listen() throws(StoreError) -> Int32 {
    let stale = socket.withPlatformString { unlink($0) }
    guard stale == 0 || errno == ENOENT else { throw StoreError(errno: errno, "remove a stale socket", place: socket) }
    let descriptor = try AgentAddress.reachable(bytes, StoreError.self) { coffer_local_listen($0, Self.backlog) }
    guard descriptor >= 0 else { throw StoreError(errno: errno, "listen for clients", place: socket) }
    let closed = socket.withPlatformString { chmod($0, 0o600) }
    guard closed == 0 else {
      let code = errno
      close(descriptor)
      throw StoreError(errno: code, "close the socket to other users", place: socket)
    }
    return descriptor
  }
}
