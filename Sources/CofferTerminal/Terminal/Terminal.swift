package import Coffer
internal import CofferPlatform
internal import CofferVault
internal import CofferStorage

/// The process's terminal, whatever its standard streams. All questions are asked here.
package struct Terminal: ~Copyable {
  let descriptor: Int32

  /// The longest line that a terminal delivers in one piece (`N_TTY_BUF_SIZE` on Linux, `MAX_CANON` elsewhere is less).
  static let longestLine = 4096

  /// Nil if the process has no terminal.
  package init?() {
    let opened = coffer_open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY, 0)
    guard opened >= 0 else { return nil }
    descriptor = opened
  }

  deinit { close(descriptor) }

  /// A line typed without echo.
  ///
  /// Echo always returns: on control-C (throws ``Failure/interrupted``), on a signal that ends the process, and while
  /// control-Z stops it; it goes off again when the process continues.
  ///
  /// - Throws: ``Failure/nothingTyped`` for Enter alone, ``Failure/inputEnded`` for control-D.
  package func secret(_ question: Question) throws -> SecretBytes {
    let prompt = question.subject + ": "
    var before = (question.remark ?? question.reason).map { TextWidth.wrap($0, to: TextWidth.of(.errors)) + "\n" } ?? ""
    var signals = HeldSignals([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP])
    while true {
      // Printed with the prompt, once the echo is off: its reader may begin to type.
      let line = try silently(before + prompt, &signals)
      before = ""
      switch consume line {
      case .typed(let bytes):
        try Self.checkText(bytes)
        return bytes
      case .signal(SIGINT): throw Failure.interrupted
      case .signal(let signal):
        Echo.comeBack()
        signals.deliver(signal)
      }
    }
  }

  private func silently(_ prompt: String, _ signals: inout HeldSignals) throws -> Line {
    let silence = try Silence(descriptor)
    try say(prompt)
    do {
      let line = try read(&signals)
      try say("\n")
      silence.end()
      return line
    } catch {
      // The next message begins on its own line.
      try say("\n")
      throw error
    }
  }

  /// A secret without another copy: asked for twice, and again if both differ or `objection` rejects it.
  ///
  /// - Parameters:
  ///   - purpose: the secret's use, in a sentence.
  ///   - objection: the fault of the secret, as the error after the last try; nil for none.
  package func newSecret(
    _ prompt: String, purpose: String? = nil, objection: (borrowing SecretBytes) -> Failure? = { _ in nil }
  ) throws -> SecretBytes {
    try Echo.staysOff {
      var question = Question(prompt, reason: purpose)
      for left in (0..<Question.tries).reversed() {
        let wrong: Failure
        do {
          let first = try secret(question)
          if let weak = objection(first) {
            wrong = weak
          } else {
            guard try !secret(Question("Repeat")).isEqual(to: first) else { return first }
            wrong = .usage("the entries do not match", try: "run the command again; nothing was stored")
          }
        } catch let failure as Failure where failure.isNothingTyped { wrong = failure }
        guard left > 0 else { throw wrong }
        question = question.again(wrong.sentence, left: left)
      }
      throw Failure.nothingTyped
    }
  }

  /// A line typed with echo; empty for Enter alone.
  ///
  /// - Throws: ``Failure/interrupted`` on control-C, ``Failure/inputEnded`` on control-D and if the terminal is gone.
  package func line(_ prompt: String) throws -> String {
    var signals = HeldSignals([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP])
    while true {
      try say(prompt)
      do {
        switch try read(&signals) {
        case .typed(let bytes):
          try Self.checkText(bytes)
          return bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        case .signal(let signal):
          try say("\n")
          guard signal != SIGINT else { throw Failure.interrupted }
          signals.deliver(signal)
        }
      } catch let failure as Failure where failure.isNothingTyped { return "" }
    }
  }

  /// An answer that is neither yes nor no may be a command for a shell: the question comes once more, and then it means no.
  ///
  /// - Parameter standard: the answer of Enter alone.
  package func confirm(_ question: String, standard: Bool = false) throws -> Bool {
    let asked = "\(Printable.line(question)) \(standard ? "[Y/n]" : "[y/N]")"
    for text in [asked, "Please answer y or n. " + asked] {
      try say(TextWidth.message(text, to: Display.errors.width - 1) + " ")
      var answer = [UInt8](repeating: 0, count: Self.longestLine)
      let count = max(0, SecretFile.readOnce(descriptor, &answer, answer.count))
      guard count > 0 else {
        try say("\n")
        return false
      }
      let word = answer.prefix(count).filter { !" \t\n".utf8.contains($0) }.map { $0 | 0x20 }
      if word.isEmpty { return standard }
      if ["y", "yes"].contains(where: { word.elementsEqual($0.utf8) }) { return true }
      if ["n", "no"].contains(where: { word.elementsEqual($0.utf8) }) { return false }
    }
    return false
  }

  /// Nil for an empty one.
  package func optionalSecret(_ question: Question) throws -> SecretBytes? {
    do { return try secret(question) } catch let failure as Failure
      where failure.isNothingTyped || failure.kind == Failure.inputEnded.kind
    { return nil }
  }

  private enum Line: ~Copyable {
    case typed(SecretBytes)
    case signal(Int32)
  }

  func say(_ text: String) throws(Failure) {
    try text.utf8Span.span.bytes.withUnsafeBytes { (raw) throws(Failure) in try Output.write(raw, to: descriptor) }
  }

  private func read(_ signals: inout HeldSignals) throws -> Line {
    while true {
      if let signal = signals.next() { return .signal(signal) }
      // Blocked signals do not wake a poll: check for them twenty times a second.
      if try isReady(within: 50) ?? false { return .typed(try typedLine()) }
    }
  }

  /// Whether there is input; nil if a signal interrupted the wait.
  func isReady(within milliseconds: Int32) throws -> Bool? {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    let ready = poll(&waiting, 1, milliseconds)
    if ready < 0, errno != EINTR { throw Failure(StoreError(errno: errno, "wait for the terminal", place: "/dev/tty")) }
    return ready < 0 ? nil : ready > 0
  }

  private func typedLine() throws -> SecretBytes {
    var line = try SecretBytes(zeros: Self.longestLine)
    let count = line.withUnsafeMutableBytes { SecretFile.readOnce(descriptor, $0.baseAddress, $0.count) }
    guard count >= 0 else { throw Failure(StoreError(errno: errno, "read from the terminal", place: "/dev/tty")) }
    let typed = try line.prefix(count)
    let text = try typed.withoutTrailingNewline(.lineFeed)
    guard text.count > 0 else { throw count == 0 ? Failure.inputEnded : Failure.nothingTyped }
    guard text.count < typed.count || count < Self.longestLine - 1 else {
      throw Failure.usage("the line is too long for a terminal", try: "a file or a descriptor instead of the prompt")
    }
    return text
  }

  // In another encoding, the same passphrase from a file elsewhere would be other bytes.
  private static func checkText(_ bytes: borrowing SecretBytes) throws {
    let isText = bytes.withUnsafeBytes { UTF8Validity.isValid($0) }
    guard isText else { throw Failure.usage("the input is not UTF-8", try: "a terminal set to UTF-8, or a file with the bytes") }
  }
}

/// A terminal without echo while this value lives, or longer by ``Echo``; by key, it delivers each at once.
struct Silence: ~Copyable {
  private let descriptor: Int32
  private let before: termios

  init(_ descriptor: Int32, byKey: Bool = false) throws {
    if !byKey, let before = Echo.handOver() {
      // Input before the question is no answer to it.
      tcflush(descriptor, TCIFLUSH)
      self.descriptor = descriptor
      self.before = before
      return
    }
    var settings = termios()
    guard tcgetattr(descriptor, &settings) == 0 else {
      throw Failure(StoreError(errno: errno, "read the terminal's settings", place: "/dev/tty"))
    }
    let before = settings
    settings.c_lflag &= ~tcflag_t(ECHO | ECHONL)
    if byKey {
      // Control-S would stop the output, and with it a process that holds its signals.
      settings.c_iflag &= ~tcflag_t(IXON)
      settings.c_lflag &= ~tcflag_t(ICANON | IEXTEN)
      withUnsafeMutableBytes(of: &settings.c_cc) { ($0[Int(VMIN)], $0[Int(VTIME)]) = (1, 0) }
    }
    guard tcsetattr(descriptor, TCSAFLUSH, &settings) == 0 else {
      throw Failure(StoreError(errno: errno, "turn the terminal's echo off", place: "/dev/tty"))
    }
    self.descriptor = descriptor
    self.before = before
  }

  consuming func end() {}

  deinit {
    guard !Echo.keep(descriptor, before) else { return }
    var settings = before
    tcsetattr(descriptor, TCSAFLUSH, &settings)
  }
}

/// Signals that wait while something must be restored: the echo, or a folder to remove.
///
/// They are blocked, not handled, so that no handler interrupts anything; the holder takes them with ``next()``. The mask is
/// restored at the end. Works only in a process of one thread, which this program is while it asks.
package struct HeldSignals: ~Copyable {
  private var before = sigset_t()
  private var held = sigset_t()

  package init(_ signals: [Int32]) {
    held = sigset_t(signals)
    pthread_sigmask(SIG_BLOCK, &held, &before)
  }

  deinit {
    var mask = before
    pthread_sigmask(SIG_SETMASK, &mask, nil)
  }

  /// Takes one pending signal.
  package mutating func next() -> Int32? {
    for signal in 1..<Int32(32) where sigismember(&held, signal) == 1 && Self.isPending(one: [signal]) {
      var one = sigset_t([signal]), taken: Int32 = 0
      if sigwait(&one, &taken) == 0 { return taken }
    }
    return nil
  }

  /// Whether one of the held signals is pending; it stays so.
  static func isPending(one signals: [Int32]) -> Bool {
    var pending = sigset_t()
    sigpending(&pending)
    return signals.contains { sigismember(&pending, $0) == 1 }
  }

  package func wait() -> Int32 {
    var signals = held, taken: Int32 = 0
    while sigwait(&signals, &taken) != 0 {}
    return taken
  }

  /// Gives `signal` its default effect: to end the process, or stop it until it is continued.
  package func deliver(_ signal: Int32) {
    var signals = held
    raise(signal)
    // All: a process that is stopped and then killed continues in the background, where a change of the terminal stops it again.
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
  }
}
