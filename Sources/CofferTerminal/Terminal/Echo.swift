internal import CofferPlatform
internal import Synchronization

/// The terminal's echo, which stays off from the first try of a question to the last: input while a passphrase is tried may
/// be the next one.
///
/// Input in between is dropped before the next try and at the end: it is no answer, and no command for the shell.
enum Echo {
  /// They end or stop the process between tries. At a prompt they are held: see ``Terminal``.
  private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP]
  /// The terminal whose echo is off and will return; below 0 for none. A signal handler, which can take no lock, reads it.
  private static let terminal = Atomic<Int32>(-1)
  /// Its previous settings. Written while there is no terminal, so that the handler finds them whole.
  private nonisolated(unsafe) static let before = UnsafeMutablePointer<termios>.allocate(capacity: 1)
  /// The depth of nested questions.
  private static let questions = Atomic<Int>(0)

  /// Keeps the echo off from the first ``Silence`` in `body` to its end.
  static func staysOff<Result: ~Copyable>(_ body: () throws -> Result) rethrows -> Result {
    questions.add(1, ordering: .relaxed)
    defer { if questions.subtract(1, ordering: .relaxed).newValue == 0 { comeBack() } }
    return try body()
  }

  /// Takes over a silent terminal, while the signals are held.
  ///
  /// - Returns: false if no question is open: the echo must return now.
  static func keep(_ descriptor: Int32, _ settings: termios) -> Bool {
    guard questions.load(ordering: .relaxed) > 0, terminal.load(ordering: .relaxed) < 0 else { return false }
    let own = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
    guard own >= 0 else { return false }
    before.initialize(to: settings)
    terminal.store(own, ordering: .releasing)
    for number in signals { watch(number) }
    return true
  }

  /// Passes the terminal to the next ``Silence``; nil if none is kept.
  static func handOver() -> termios? {
    guard terminal.load(ordering: .relaxed) >= 0 else { return nil }
    defer { forget() }
    return before.pointee
  }

  static func comeBack() {
    guard restore() else { return }
    forget()
  }

  /// Handles a signal again after another handler.
  static func watch(_ number: Int32) {
    guard terminal.load(ordering: .relaxed) >= 0 else { return }
    handle(number) { number in
      _ = Echo.restore()
      signal(number, SIG_DFL)
      raise(number)
    }
  }

  /// Gives a signal another effect, unless it is ignored, as under nohup(1) and in a shell's background.
  ///
  /// - Returns: whether it is ignored.
  @discardableResult
  static func handle(_ number: Int32, _ handler: (@convention(c) (Int32) -> Void)?) -> Bool {
    guard unsafeBitCast(signal(number, handler), to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) else { return false }
    signal(number, SIG_IGN)
    return true
  }

  /// The part of ``comeBack()`` that a signal handler may do. Source: signal-safety(7), which lists tcsetattr(3).
  @discardableResult
  static func restore() -> Bool {
    let descriptor = terminal.load(ordering: .acquiring)
    guard descriptor >= 0 else { return false }
    tcsetattr(descriptor, TCSAFLUSH, before)
    return true
  }

  private static func forget() {
    let descriptor = terminal.exchange(-1, ordering: .relaxed)
    for number in signals { handle(number, SIG_DFL) }
    close(descriptor)
  }
}
