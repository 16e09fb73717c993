internal import CofferAgent
internal import CofferMemory
internal import CofferPlatform
internal import Synchronization

/// Puts a question about a key to a person: by the prompt program, else at the terminal of the program that asks. Otherwise
/// `coffer ssh allow` answers it.
final class Asking {
  /// Places where questions are asked, one at a time each: several windows, or lines, cannot be told apart.
  final class Places: Sendable {
    private let taken = Mutex<Set<UInt64>>([])
    fileprivate func take(_ place: UInt64) -> Bool { taken.withLock { $0.insert(place).inserted } }
    fileprivate func leave(_ place: UInt64) { _ = taken.withLock { $0.remove(place) } }
  }

  private let question: KeyQuestion
  private let places: Places
  private let place: UInt64
  private var program: StartedProcess?
  private var terminal: AskerTerminal?

  /// No terminal has this number.
  private static let window = UInt64.max

  private init(_ question: KeyQuestion, _ places: Places, _ place: UInt64) {
    (self.question, self.places, self.place) = (question, places, place)
  }

  /// Asks; nil if nobody can be asked now.
  static func begin(
    _ question: KeyQuestion, by vault: SSHVault, asker: UInt32, isForwarded: Bool, _ places: Places
  ) throws(StoreError) -> Asking? {
    if let start = vault.startAsking {
      guard places.take(window) else { return nil }
      let asking = Asking(question, places, window)
      asking.program = StartedProcess(try start(question.ticket))
      return asking
    }
    // A terminal here says nothing about who asks from elsewhere.
    guard !isForwarded, let terminal = AskerTerminal(of: asker), places.take(terminal.device) else { return nil }
    let asking = Asking(question, places, terminal.device)
    terminal.ask("coffer: \(question.sentence) \(question.choices)? ", isSecret: question.needsPassphrase)
    asking.terminal = consume terminal
    return asking
  }

  deinit { places.leave(place) }

  /// Whether a person still sees the question.
  var isOpen: Bool { program != nil || terminal != nil }

  /// Waits for a moment; an answer that was given here. A program gives it to the agent itself.
  func answer(within milliseconds: Int32) throws(StoreError) -> KeyApproval? {
    switch try terminal?.reply(within: milliseconds) {
    case .line(let line)?:
      if question.needsPassphrase { terminal?.write("\n") }
      return question.approval(line)
    case .gone?: terminal = nil
    case .nothing?: break
    case nil:
      DetachedThread.sleep(UInt64(milliseconds) * 1_000_000)
      // One that failed leaves the question open.
      if program?.ended() != nil { program = nil }
    }
    return nil
  }
}
