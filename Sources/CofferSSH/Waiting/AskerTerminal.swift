internal import CofferAgent
internal import CofferMemory
internal import CofferPlatform

/// The terminal of a program that asks for a key, if that program is in its foreground and the terminal reads lines.
struct AskerTerminal: ~Copyable {
  enum Reply: ~Copyable {
    case line(SecretBytes)
    case nothing
    /// The terminal is gone, or belongs to another job.
    case gone
  }

  /// The number of the device.
  let device: UInt64
  private let descriptor: Int32
  private let settings: termios

  /// Bytes of a line that a terminal keeps: `N_TTY_BUF_SIZE` of Linux.
  private static let longestLine = 4096

  /// Nil if there is no such terminal. Source: proc(5).
  init?(of process: UInt32) {
    guard process > 0, let (device, isInForeground) = Self.terminal(of: process), isInForeground else { return nil }
    for stream in 0...2 {
      // Its own name for it: another container has other terminals.
      let path = "/proc/\(process)/fd/\(stream)"
      var facts = stat()
      guard stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFCHR, UInt64(facts.st_rdev) == device else { continue }
      let descriptor = coffer_open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0)
      guard descriptor >= 0 else { continue }
      var settings = termios()
      guard tcgetattr(descriptor, &settings) == 0, settings.c_lflag & tcflag_t(ICANON) != 0 else {
        close(descriptor)
        continue
      }
      (self.device, self.descriptor, self.settings) = (device, descriptor, settings)
      // A terminal stops processes of its own session that read in the background.
      if getsid(0) != getpid() { _ = ioctl(descriptor, UInt(TIOCNOTTY)) }
      return
    }
    return nil
  }

  deinit {
    var before = settings
    tcsetattr(descriptor, TCSANOW, &before)
    close(descriptor)
  }

  /// After the name, which may hold anything: state, parent, group, session, terminal, group in the terminal's foreground.
  private static func terminal(of process: UInt32) -> (device: UInt64, isInForeground: Bool)? {
    guard let line = KernelFile.text("/proc/\(process)/stat"), let end = line.lastIndex(of: ")") else { return nil }
    let numbers = line[line.index(after: end)...].split(separator: " ").dropFirst().prefix(5).compactMap { Int32($0) }
    guard numbers.count == 5, numbers[3] != 0 else { return nil }
    return (UInt64(UInt32(bitPattern: numbers[3])), numbers[1] == numbers[4])
  }

  /// Writes what there is room for: a stopped terminal must not hold others up.
  func write(_ text: String) { _ = Array(text.utf8).withUnsafeBytes { systemWrite(descriptor, $0.baseAddress, $0.count) } }

  /// Asks for a line. What was typed before it is no answer.
  func ask(_ text: String, isSecret: Bool) {
    tcflush(descriptor, TCIFLUSH)
    var quiet = settings
    quiet.c_lflag &= ~tcflag_t(ECHO)
    if isSecret { tcsetattr(descriptor, TCSANOW, &quiet) }
    write(text)
  }

  /// Waits for a part of a second.
  func reply(within milliseconds: Int32) throws(StoreError) -> Reply {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&waiting, 1, milliseconds) > 0 else { return .nothing }
    var line = try SecretBytes.zeros(Self.longestLine)
    let count = line.withUnsafeMutableBytes { systemRead(descriptor, $0.baseAddress, $0.count) }
    guard count >= 0 else { return errno == EAGAIN || errno == EINTR ? .nothing : .gone }
    let end = line.withUnsafeBytes { raw in raw.prefix(count).firstIndex { $0 == 10 || $0 == 13 } ?? count }
    line.truncate(to: end)
    return .line(line)
  }
}
