internal import CofferPlatform
internal import Synchronization

/// The line of the terminal that tells what goes on just now, on standard error. It is gone before anything else is said or
/// asked.
package enum StatusLine {
  /// What control-C is told while the line stands.
  package enum Interruption: Int {
    case plain, nothingChanged, perhapsChanged

    fileprivate var farewell: StaticString {
      switch self {
      case .plain: "\r\u{1B}[Kcoffer: interrupted\n"
      case .nothingChanged: "\r\u{1B}[Kcoffer: interrupted; nothing was changed\n"
      case .perhapsChanged: "\r\u{1B}[Kcoffer: interrupted; the change may have been made: look before you try again\n"
      }
    }
  }

  private struct State {
    var isShown = false
    /// What control-C did before: it is ignored under nohup(1), and of a shell's background.
    var ignoresInterrupts = false
    /// Counts the works that were told of: whoever tells of an earlier one is late.
    var turn = 0
  }

  private static let state = Mutex(State())
  /// Read by the handler of a signal, which can take no lock.
  private static let interruption = Atomic<Int>(Interruption.plain.rawValue)

  /// Whether standard error is a terminal on which a line can be drawn anew.
  static var isPossible: Bool { Display.errors.isTerminal && !Display.errors.isDumb }

  /// Begins to tell of a work.
  ///
  /// - Returns: the number that ``put(_:turn:)`` takes.
  package static func begin(_ first: Interruption) -> Int {
    set(first)
    return state.withLock { state in
      state.turn += 1
      return state.turn
    }
  }

  /// Shows `text`, unless the line was cleared since `turn` began.
  ///
  /// - Returns: whether it was.
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

  /// What is so from now on where somebody presses control-C.
  package static func set(_ new: Interruption) { interruption.store(new.rawValue, ordering: .relaxed) }

  /// Takes the line away, and ends its turn.
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
      // Where the terminal has vanished nobody misses the line.
      do throws(Failure) { try Output.put(raw, to: STDERR_FILENO) } catch {}
    }
  }

  /// - Returns: whether they are ignored, and stay so.
  private static func watchInterrupts() -> Bool {
    let before = signal(SIGINT) { _ in
      Echo.restore()
      let farewell = (Interruption(rawValue: StatusLine.interruption.load(ordering: .relaxed)) ?? .plain).farewell
      _ = systemWrite(STDERR_FILENO, farewell.utf8Start, farewell.utf8CodeUnitCount)
      // The process ends by the signal, as it would without a line: its shell shall see that.
      signal(SIGINT, SIG_DFL)
      raise(SIGINT)
    }
    guard unsafeBitCast(before, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) else { return false }
    signal(SIGINT, SIG_IGN)
    return true
  }
}
