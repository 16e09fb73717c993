internal import CofferAgent
internal import CofferPlatform
internal import Synchronization

/// The requests that wait until a vault is unlocked: by this machine's own key, by a program that asks a person, or by
/// `coffer unlock` elsewhere.
final class UnlockWaits: Sendable {
  private struct State: ~Copyable {
    var attempt: StartedProcess?
    /// How many wait.
    var count = 0
    var vain = 0, lastVain: ContinuousClock.Instant?
    var refusedUntil: ContinuousClock.Instant?
  }

  let vault: SSHVault
  private let patience: Duration
  private let state = Mutex(State())

  /// Waits that nobody ends before later requests are refused at once, and for how long: a program that asks for many keys
  /// keeps its user waiting for each.
  private static let mostVain = 2, rest = Duration.seconds(300)
  /// Nanoseconds between looks at the vault.
  private static let pause: UInt64 = 100_000_000

  init(_ vault: SSHVault, _ patience: Duration) { (self.vault, self.patience) = (vault, patience) }

  /// How many requests wait.
  var count: Int { state.withLock { $0.count } }

  /// Does `body`, and while the vault is locked, does it again.
  ///
  /// - Parameters:
  ///   - isDeserted: whether nobody needs the result any more.
  ///   - tell: called once, when only a person can end the wait; gets the time left.
  func unlocked<Success>(
    isDeserted: () -> Bool, tell: (Duration) -> Void, _ body: () throws(StoreError) -> Success
  ) throws(StoreError) -> Success {
    var outcome = Result(catching: body)
    guard isLocked(outcome), begin() else { return try outcome.get() }
    let start = ContinuousClock.now, end = start + patience
    var wasTried = false, isTold = false
    defer { finish(from: start, to: end, isUnlocked: !isLocked(outcome)) }
    while isLocked(outcome), !isDeserted(), end > .now {
      if try !isTrying(&wasTried), !isTold {
        isTold = true
        tell(end - .now)
      }
      DetachedThread.sleep(Self.pause)
      outcome = Result(catching: body)
    }
    return try outcome.get()
  }

  /// An unlocked vault ends the rest, and the count of waits in vain.
  private func isLocked<Success>(_ outcome: Result<Success, StoreError>) -> Bool {
    if case .failure(let error) = outcome, error.isOfLock { return true }
    state.withLock { ($0.vain, $0.refusedUntil) = (0, nil) }
    return false
  }

  /// False if requests are refused now.
  private func begin() -> Bool {
    state.withLock { state in
      guard state.refusedUntil.map({ $0 <= .now }) ?? true else { return false }
      state.count += 1
      return true
    }
  }

  /// Whether a process tries to unlock the vault; each wait takes part in one attempt.
  private func isTrying(_ wasTried: inout Bool) throws(StoreError) -> Bool {
    try state.withLock { (state) throws(StoreError) in
      if state.attempt != nil {
        wasTried = true
        guard state.attempt?.hasEnded() == true else { return true }
        state.attempt = nil
        return false
      }
      guard !wasTried, vault.hasOwnKey || vault.hasPrompt else { return false }
      wasTried = true
      state.attempt = StartedProcess(try vault.startUnlocking(vault.hasPrompt))
      return true
    }
  }

  /// Without another wait, its attempt ends too.
  private func finish(from start: ContinuousClock.Instant, to end: ContinuousClock.Instant, isUnlocked: Bool) {
    // Its end is waited for outside of the lock.
    _ = state.withLock { state -> StartedProcess? in
      state.count -= 1
      let now = ContinuousClock.now
      if !isUnlocked, end <= now, state.lastVain.map({ $0 <= start }) ?? true {
        // Waits at the same time count as one.
        (state.vain, state.lastVain) = (state.vain + 1, now)
        if state.vain >= Self.mostVain { (state.vain, state.refusedUntil) = (0, now + Self.rest) }
      }
      return state.count == 0 || isUnlocked ? state.attempt.take() : nil
    }
  }
}

extension StoreError {
  /// Whether an unlock ends it.
  var isOfLock: Bool { kind == .locked || kind == .noAgent }
}
