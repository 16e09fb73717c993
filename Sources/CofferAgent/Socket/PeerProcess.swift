internal import CofferPlatform
internal import CofferStorage
internal import CofferVault

/// The process at the other end of a connection.
enum PeerProcess {
  /// Whom the vault's log names for what comes from `socket`.
  ///
  /// User and process are what the kernel noted when the client connected; the program is what that process calls itself now. A
  /// client of another namespace has no number and no name here.
  static func author(at socket: borrowing LocalSocket) -> Author {
    var user: UInt32 = 0
    // Known to succeed: whoever was let in was asked for its user before.
    _ = coffer_peer_user(socket.descriptor, &user)
    let process = coffer_peer_process(socket.descriptor)
    return Author(user: user, process: UInt32(clamping: process), program: process > 0 ? name(of: process) : "")
  }

  /// Bytes that the kernel keeps of a process's own name (`TASK_COMM_LEN` less its zero).
  private static let keptName = 15

  /// The name of a process; empty where it cannot be known. Source: proc(5).
  ///
  /// Not `/proc/PID/exe`, which is closed where a process forbids others to look into it, as this program does.
  private static func name(of process: Int32) -> String {
    let short = text("/proc/\(process)/comm").split(separator: "\n").first.map(String.init) ?? ""
    guard short.utf8.count == keptName else { return short }
    // Cut by the kernel: the command line has it whole, if it has it.
    let word = text("/proc/\(process)/cmdline").split(separator: "\0").first
    let whole = word?.split(separator: "/").last.map(String.init) ?? ""
    return whole.hasPrefix(short) ? whole : short
  }

  // It has ended, or is hidden from us: it goes on without a name.
  private static func text(_ path: String) -> String { KernelFile.text(path) ?? "" }
}
