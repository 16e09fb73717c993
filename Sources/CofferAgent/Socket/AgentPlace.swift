internal import CofferClient
internal import CofferPlatform
internal import CofferVault
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

enum PeerProcess {
  /// The author in the vault's log for requests from `socket`.
  ///
  /// The kernel recorded user and process at the connection; the program is that process's current name. A client of another
  /// namespace has neither number nor name here.
  ///
  /// - Parameter behalf: the process that the client claims to work for, which the log names as a claim.
  static func author(at socket: borrowing LocalSocket, for behalf: Behalf?) -> Author {
    var user: UInt32 = 0
    // Cannot fail: the accepted client's user was read before.
    _ = coffer_peer_user(socket.descriptor, &user)
    let process = coffer_peer_process(socket.descriptor)
    if let behalf {
      let said = behalf.program.unicodeScalars.filter { $0.properties.generalCategory != .control }.prefix(longestClaim)
      return Author(
        user: user, process: behalf.process, program: "\(String(String.UnicodeScalarView(said))) (by \(name(of: process)))")
    }
    return Author(user: user, process: UInt32(clamping: process), program: process > 0 ? name(of: process) : "")
  }

  /// The limit for a claimed program's name; the kernel's are shorter.
  private static let longestClaim = 32

  /// Bytes of a process's name in the kernel (`TASK_COMM_LEN` without its zero).
  private static let keptName = 15

  /// The name of a process; empty if unknown. Source: proc(5).
  ///
  /// `/proc/PID/exe` is unreadable for processes that forbid inspection, as this program does.
  private static func name(of process: Int32) -> String {
    let short = text("/proc/\(process)/comm").split(separator: "\n").first.map(String.init) ?? ""
    guard short.utf8.count == keptName else { return short }
    // Cut by the kernel: the command line may have all of it.
    let word = text("/proc/\(process)/cmdline").split(separator: "\0").first
    let whole = word?.split(separator: "/").last.map(String.init) ?? ""
    return whole.hasPrefix(short) ? whole : short
  }

  // The process has ended, or is hidden from us.
  private static func text(_ path: String) -> String { KernelFile.text(path) ?? "" }
}
