internal import CofferAgent
internal import CofferMemory
internal import CofferPlatform
internal import Synchronization

/// Puts a question about a key to a person: by the prompt program, else at the terminal of the program that asks. Otherwise
/// `coffer ssh allow` answers it.
final class Asking {
  /// Where questions are asked, one at a time each: several windows, or lines, cannot be told apart.
  final class Places: Sendable {
    private let taken = Mutex<Set<UInt64>>([])
    fileprivate func take(_ place: UInt64) -> Bool { taken.withLock { $0.insert(place).inserted } }
    fileprivate func leave(_ place: UInt64) { _ = taken.withLock { $0.remove(place) } }
  }

  private let question: KeyQuestion
  private let vault: SSHVault
  /// 0 if it has no terminal here.
  private let asker: UInt32
  private let places: Places
  /// The end of the wait for a person who sees the question, and for another one.
  private let endHere: ContinuousClock.Instant, endElsewhere: ContinuousClock.Instant
  private var place: UInt64?
  private var program: StartedProcess?
  private var terminal: AskerTerminal?

  /// Of the prompt program; no terminal has this number.
  private static let window = UInt64.max
  /// Milliseconds between looks at the question.
  private static let look: Int32 = 100

  init(_ question: KeyQuestion, by vault: SSHVault, asker: UInt32, patience: Duration, _ places: Places) {
    (self.question, self.vault, self.asker, self.places) = (question, vault, asker, places)
    (endHere, endElsewhere) = (.now + .seconds(Int64(question.left)), .now + patience)
  }

  deinit { if let place { places.leave(place) } }

  /// Waits for a moment, and gives the agent an answer from the terminal. A program gives its own.
  ///
  /// - Throws: `.refused` once the time is over.
  func goOn() throws(StoreError) {
    if place == nil { try ask() }
    guard (program != nil || terminal != nil ? endHere : endElsewhere) > .now else {
      throw StoreError(.refused, "nobody has answered in time: \(question.sentence)", cure: "coffer ssh allow answers")
    }
    switch try terminal?.reply(within: Self.look) {
    case .line(let line)?:
      if question.needsPassphrase { terminal?.write("\n") }
      terminal = nil
      do throws(StoreError) { try vault.client.allow(question.approval(line)) } catch {
        guard error.kind == .wrongSecret else { throw error }
        askAgain()
      }
    case .gone?: terminal = nil
    case .nothing?: break
    case nil:
      DetachedThread.sleep(UInt64(Self.look) * 1_000_000)
      // One that failed leaves the question open.
      if program?.hasEnded() == true { program = nil }
    }
  }

  private func askAgain() {
    if let place { places.leave(place) }
    place = nil
  }

  /// Where nobody is asked already.
  private func ask() throws(StoreError) {
    if let start = vault.startAsking {
      guard places.take(Self.window) else { return }
      place = Self.window
      program = StartedProcess(try start(question.ticket))
    } else if let terminal = AskerTerminal(of: asker), places.take(terminal.device) {
      place = terminal.device
      // git's progress may stand in the line.
      terminal.ask("\rcoffer: \(question.sentence) \(question.choices)? ", isSecret: question.needsPassphrase)
      self.terminal = consume terminal
    }
  }
}
