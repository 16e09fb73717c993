#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Who writes to a vault, as the log names it: user, process and the program's name.
struct Author: Sendable {
  let user: UInt32
  let process: UInt32
  let program: String

  /// This process. The name is the last part of its first argument, never a path.
  static var current: Author { Author(user: UInt32(getuid()), process: UInt32(getpid()), program: name) }

  // Found once: a transaction of many writes has as many entries.
  private static let name: String = {
    let path = CommandLine.arguments.first ?? ""
    return path.split(separator: "/").last.map(String.init) ?? ""
  }()
}

extension LogEntry {
  /// An entry by `author`.
  init(_ event: Event, by author: Author, time: UInt64, index: RecordIndex = .zero, detail: [UInt8] = []) {
    self.init(
      event, time: time, user: author.user, process: author.process, program: author.program, index: index, detail: detail)
  }
}
