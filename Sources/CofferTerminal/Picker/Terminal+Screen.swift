package import Coffer
internal import CofferPlatform
internal import CofferVault

extension Terminal {
  package static var hasScreen: Bool { StatusLine.isPossible }

  /// A person's answer to `picker`.
  ///
  /// - Throws: the errors of ``onScreen(draw:take:)``.
  package func answer(_ picker: consuming Picker) throws -> Picker.Answer {
    var picker = picker
    return try onScreen { size in
      picker.size = size
      try draw(picker)
    } take: {
      picker.take($0)
    }
  }

  /// Shows `secret` until Enter or control-C.
  ///
  /// - Throws: only if it was not shown. Whoever saw it may have it.
  package func show(_ secret: borrowing SecretBytes, in box: SecretBox) throws {
    var isShown = false
    do {
      try secret.withUnsafeBytes { raw in
        try onScreen { size in
          if try draw(raw, in: box, size) { isShown = true }
        } take: {
          $0 == .enter && isShown ? () : nil
        }
      }
    } catch {
      guard isShown else { throw error }
    }
  }

  /// The first answer of `take` to a person's keys, on a screen of its own of which nothing stays. The screen and the settings
  /// return on every ending, and while control-Z stops the process.
  ///
  /// - Throws: ``Failure/interrupted`` on control-C, ``Failure/inputEnded`` or `.io` if the terminal is gone.
  private func onScreen<Answer>(draw: (Picker.Size) throws -> Void, take: (Key) -> Answer?) throws -> Answer {
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
    // The terminal marks pasted text.
    try say("\u{1B}[?1049h\u{1B}[?2004h")
    while true {
      if let signal = signals.next() { return .signal(signal) }
      // Looked at instead of SIGWINCH, which some systems do not keep for a process that ignores it.
      let size = size
      if size != drawn {
        try draw(size)
        drawn = size
      }
      // Blocked signals do not wake a poll.
      guard let isReady = try isReady(within: reader.isAtEscape ? KeyReader.patience : 50) else { continue }
      for key in isReady ? reader.keys(try typedBytes()) : [reader.pause()].compactMap(\.self) {
        if let answer = take(key) { return .answer(answer) }
        drawn = nil
      }
    }
  }

  private func draw(_ picker: Picker) throws(Failure) {
    let (lines, cursor) = picker.lines(.errors)
    let rows = lines.enumerated().map { "\u{1B}[\($0.offset + 1);1H\($0.element)\u{1B}[K" }.joined()
    // In one piece, and without wrapping: a terminal may give a character more cells than expected.
    try say("\u{1B}[?7l\(rows)\u{1B}[1;\(cursor + 1)H\u{1B}[?7h")
  }

  /// From guarded memory, also in one piece.
  ///
  /// - Returns: whether all of the secret is on the screen.
  private func draw(_ secret: UnsafeRawBufferPointer, in box: SecretBox, _ size: Picker.Size) throws -> Bool {
    let found = box.rows(secret.count, size, .errors)
    let rows = found ?? SecretBox.rows("Enlarge the window to see the secret.", size)
    let screen = try SecretBytes.written { write in
      for number in 0..<size.rows {
        let row = number < rows.count ? rows[number] : SecretBox.Row(text: "")
        for byte in "\u{1B}[\(number + 1);1H\u{1B}[K\(row.text)".utf8 { write(byte) }
        for byte in secret[row.part] { write(byte) }
        for byte in row.end.utf8 { write(byte) }
      }
    }
    try screen.withUnsafeBytes { (raw) throws(Failure) in try Output.write(raw, to: descriptor) }
    return found != nil
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
    try say("\u{1B}[?2004l\(rows)\u{1B}[?1049l")
  }
}
