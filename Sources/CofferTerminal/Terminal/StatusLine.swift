internal import CofferPlatform
internal import Synchronization

/// The line about the current work, on standard error, removed before other output or questions.
package enum StatusLine {
  /// The message after control-C while the line is shown.
  package enum Interruption: Int {
    case plain, nothingChanged, perhapsChanged

    fileprivate var farewell: StaticString {
      switch self {
      case .plain: "\r\u{1B}[Kcoffer: interrupted\n"
      case .nothingChanged: "\r\u{1B}[Kcoffer: interrupted; nothing was changed\n"
      case .perhapsChanged: "\r\u{1B}[Kcoffer: interrupted; the change may have been made: check before you try again\n"
      }
    }
  }

  private struct State {
    var isShown = false
    /// The previous effect of control-C: it is ignored under nohup(1), and in a shell's background.
    var ignoresInterrupts = false
    /// Counts the works shown: an earlier one must not draw any more.
    var turn = 0
  }

  private static let state = Mutex(State())
  /// A signal handler, which can take no lock, reads it.
  private static let interruption = Atomic<Int>(Interruption.plain.rawValue)

  static var isPossible: Bool { Display.errors.isTerminal && !Display.errors.isDumb }

  /// - Returns: the number for ``put(_:turn:)``.
  package static func begin(_ first: Interruption) -> Int {
    set(first)
    return state.withLock { state in
      state.turn += 1
      return state.turn
    }
  }

  /// Shows nothing if the line was cleared since `turn` began.
  ///
  /// - Returns: whether it was shown.
  @discardableResult
  package static func put(_ text: String, turn: Int) -> Bool {
    state.withLock { state in
      guard state.turn == turn else { return false }
      if !state.isShown { state.ignoresInterrupts = watchInterrupts() }
      state.isShown = true
      write("\r\(text)\u{1B}[K")
      return true
    }
  }

  package static func set(_ new: Interruption) { interruption.store(new.rawValue, ordering: .relaxed) }

  /// Removes the line, and ends its turn.
  package static func clear() {
    state.withLock { state in
      state.turn += 1
      guard state.isShown else { return }
      state.isShown = false
      write("\r\u{1B}[K")
      guard !state.ignoresInterrupts else { return }
      signal(SIGINT, SIG_DFL)
      Echo.watch(SIGINT)
    }
  }

  private static func write(_ text: String) {
    text.utf8Span.span.bytes.withUnsafeBytes { raw in
      // Without a terminal, the line does not matter.
      do throws(Failure) { try Output.put(raw, to: STDERR_FILENO) } catch {}
    }
  }

  /// - Returns: whether interrupts are ignored, and stay so.
  private static func watchInterrupts() -> Bool {
    Echo.handle(SIGINT) { _ in
      Echo.restore()
      let farewell = (Interruption(rawValue: StatusLine.interruption.load(ordering: .relaxed)) ?? .plain).farewell
      _ = systemWrite(STDERR_FILENO, farewell.utf8Start, farewell.utf8CodeUnitCount)
      // As without a line, the process ends by the signal, which the shell sees.
      signal(SIGINT, SIG_DFL)
      raise(SIGINT)
    }
  }
}
