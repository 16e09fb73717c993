internal import CofferClient
internal import CofferPlatform
internal import CofferVault
internal import SystemPackage

/// A process as the kernel describes it to this one. Source: proc(5).
struct ProcessFacts: Sendable, Equatable {
  /// A process group. The leader's start tells it from a later group of the same number.
  struct Job: Sendable, Hashable {
    let group: Int32
    /// As ``ProcessFacts/start``; 0 once the leader has ended.
    let start: UInt64
  }

  /// The real user.
  let user: UInt32
  let process: Int32
  /// Its start, in ticks of the kernel since boot, suspended time included.
  let start: UInt64
  let job: Job
  /// The path of its program; the name of a process that forbids inspection.
  let program: String

  /// The facts of `process`; nil if it has ended, or is of another namespace.
  ///
  /// - Parameter moment: a time since boot, suspended time included, at which the process was already known by its number. One
  ///   that began later has only inherited the number: nil.
  init?(of process: Int32, before moment: Duration? = nil) {
    guard process > 0, let found = Self.state(of: process), moment.map({ found.start <= Self.ticks($0) }) ?? true,
      let user = KernelFile.text("/proc/\(process)/status").flatMap({ KernelFile.number("Uid:", in: $0) })
    else { return nil }
    let program = Self.program(of: process) ?? PeerProcess.name(of: process)
    // The number may have passed to another process meanwhile.
    guard Self.state(of: process)?.start == found.start else { return nil }
    (self.process, self.user, start, self.program) = (process, UInt32(clamping: user), found.start, program)
    let leader = found.group == process ? found : Self.state(of: found.group)
    job = Job(group: found.group, start: leader?.start ?? 0)
  }

  /// Whether it runs the program of this process: Coffer's own, under any name, before and after its file is replaced. The kernel
  /// hides the program of a process that forbids inspection, as Coffer's do: then its name counts, which any can take.
  var isOwnProgram: Bool {
    do throws(Errno) {
      return try Stat(FilePath("/proc/\(process)/exe")).identity == Stat(FilePath("/proc/self/exe")).identity
    } catch { return error == .permissionDenied && ["coffer", "age-plugin-coffer"].contains(program) }
  }

  private static func ticks(_ time: Duration) -> UInt64 {
    let ticks = Int64(sysconf(Int32(_SC_CLK_TCK)))
    return UInt64(clamping: time.components.seconds &* ticks &+ time.components.attoseconds / (1_000_000_000_000_000_000 / ticks))
  }

  /// Fields 5 and 22 of its `stat`, which follow a name with any characters.
  private static func state(of process: Int32) -> (group: Int32, start: UInt64)? {
    guard let text = KernelFile.text("/proc/\(process)/stat"), let end = text.utf8.lastIndex(of: UInt8(ascii: ")")) else {
      return nil
    }
    let fields = text.utf8[text.utf8.index(after: end)...].split(separator: UInt8(ascii: " "))
    guard fields.count > 19, let group = Int32(Substring(fields[2])), let start = UInt64(Substring(fields[19])) else {
      return nil
    }
    return (group, start)
  }

  private static func program(of process: Int32) -> String? {
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/\(process)/exe", &bytes, bytes.count)
    return count > 0 ? String(decoding: bytes.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
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
  fileprivate static func name(of process: Int32) -> String {
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
