package import Coffer
internal import CofferPlatform
internal import CofferVault

extension Terminal {
  /// Whether it can draw lines where it shall.
  package static var hasScreen: Bool { StatusLine.isPossible }

  /// A person's answer to `picker`, on a screen of its own.
  ///
  /// - Throws: ``Failure/interrupted`` on control-C, ``Failure/inputEnded`` or `.io` if the terminal is gone.
  package func answer(_ picker: consuming Picker) throws -> Picker.Answer {
    var picker = picker
    return try onScreen { size in
      picker.size = size
      let (lines, cursor) = picker.lines(.errors)
      let rows = lines.enumerated().map { "\u{1B}[\($0.offset + 1);1H\($0.element)\u{1B}[K" }.joined()
      // In one piece, and without wrapping: a terminal may give a character more cells than expected.
      try say("\u{1B}[?7l\(rows)\u{1B}[1;\(cursor + 1)H\u{1B}[?7h")
    } take: { key in
      picker.take(key)
    }
  }

  /// Shows a drawing on a screen of its own until Enter or Esc.
  ///
  /// - Parameter drawing: the lines that fit, with their places.
  package func show(_ drawing: (Picker.Size) throws -> SecretBytes) throws {
    try onScreen { size in
      let drawn = try drawing(size)
      try drawn.withUnsafeBytes { raw in try Output.write(raw, to: descriptor) }
    } take: { key in
      [.enter, .escape, .control("c")].contains(key) ? () : nil
    }
  }

  /// Shows a screen of which nothing stays, until a key gives an answer.
  ///
  /// The screen and the settings return on every ending, and while control-Z stops the process.
  private func onScreen<Answer>(
    draw: (Picker.Size) throws -> Void, take: (Key) -> Answer?
  ) throws -> Answer {
    // SIGCONT: another program had the screen since a SIGSTOP.
    var signals = HeldSignals([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT])
    while true {
      let silence = try Silence(descriptor, byKey: true)
      let end = Result { try watch(&signals, draw, take) }
      do { try leave() } catch {}  // The terminal may be gone, which the end says better.
      silence.end()
      switch end {
      case .success(.answer(let answer)): return answer
      case .success(.signal(SIGINT)): throw Failure.interrupted
      case .success(.signal(let signal)): signals.deliver(signal)
      case .failure(let error):
        // A window that is closed gives an error and a signal.
        guard let signal = signals.next() else { throw error }
        signals.deliver(signal)
      }
    }
  }

  private enum Event<Answer> {
    case answer(Answer)
    case signal(Int32)
  }

  private func watch<Answer>(
    _ signals: inout HeldSignals, _ draw: (Picker.Size) throws -> Void, _ take: (Key) -> Answer?
  ) throws -> Event<Answer> {
    var reader = KeyReader(), drawn: Picker.Size?
    try say("\u{1B}[?1049h")
    while true {
      if let signal = signals.next() { return .signal(signal) }
      // Looked at instead of SIGWINCH, which some systems do not keep for a process that ignores it.
      let size = size
      if size != drawn {
        try draw(size)
        drawn = size
      }
      var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      // Blocked signals do not wake a poll.
      let ready = poll(&waiting, 1, reader.isAtEscape ? KeyReader.patience : 50)
      if ready < 0, errno != EINTR { throw Failure(StoreError(errno: errno, "wait for the terminal", place: "/dev/tty")) }
      guard ready >= 0 else { continue }
      for key in ready == 0 ? [reader.pause()].compactMap(\.self) : reader.keys(try typedBytes()) {
        if let answer = take(key) { return .answer(answer) }
        drawn = nil
      }
    }
  }

  private func typedBytes() throws -> ArraySlice<UInt8> {
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = SecretFile.readOnce(descriptor, &bytes, bytes.count)
    guard count >= 0 else { throw Failure(StoreError(errno: errno, "read from the terminal", place: "/dev/tty")) }
    guard count > 0 else { throw Failure.inputEnded }
    return bytes.prefix(count)
  }

  private var size: Picker.Size {
    let size = Display.size(descriptor)
    return Picker.Size(columns: size.width ?? 80, rows: size.height ?? 24)
  }

  /// Line by line: tmux keeps a screen that is cleared as a whole in its history. A terminal without a second screen, as the
  /// Linux console, shows no line either.
  private func leave() throws(Failure) {
    let rows = (1...size.rows).reversed().map { "\u{1B}[\($0);1H\u{1B}[2K" }.joined()
    try say("\(rows)\u{1B}[?1049l")
  }
}
