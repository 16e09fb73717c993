internal import CofferAgent
internal import CofferPlatform
internal import Synchronization

/// The requests that wait until a vault is unlocked: by this machine's own key, by a program that asks a person, or by
/// `coffer unlock` elsewhere.
final class UnlockWaits: Sendable {
  /// One request's wait.
  struct Wait {
    let start: ContinuousClock.Instant, end: ContinuousClock.Instant
    fileprivate var isTold = false
    fileprivate var wasTried = false
  }

  private struct State: ~Copyable {
    var attempt: StartedProcess?
    /// How many wait.
    var count = 0
    var vain = 0, lastVain: ContinuousClock.Instant?
    var refusedUntil: ContinuousClock.Instant?
  }

  private let vault: SSHVault
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

  /// Nil if requests are refused now.
  func begin() -> Wait? {
    let now = ContinuousClock.now
    return state.withLock { state in
      guard state.refusedUntil.map({ $0 <= now }) ?? true else { return nil }
      state.count += 1
      return Wait(start: now, end: now + patience)
    }
  }

  /// Waits for a moment, after which the caller looks at the vault again; false at the end of the wait.
  ///
  /// - Parameter tell: called once, when only a person can end the wait.
  /// - Throws: `.noVault` and other reasons why no attempt can succeed.
  func goOn(_ wait: inout Wait, tell: (Duration) -> Void) throws(StoreError) -> Bool {
    guard wait.end > .now else { return false }
    if try !isTrying(&wait), !wait.isTold {
      wait.isTold = true
      tell(wait.end - .now)
    }
    DetachedThread.sleep(Self.pause)
    return true
  }

  /// Whether a process tries to unlock the vault; each wait takes part in one attempt.
  private func isTrying(_ wait: inout Wait) throws(StoreError) -> Bool {
    try state.withLock { (state) throws(StoreError) in
      if state.attempt != nil {
        wait.wasTried = true
        guard state.attempt?.ended() != nil else { return true }
        state.attempt = nil
        return false
      }
      guard !wait.wasTried, vault.hasOwnKey || vault.hasPrompt else { return false }
      wait.wasTried = true
      state.attempt = StartedProcess(try vault.startUnlocking(vault.hasPrompt))
      return true
    }
  }

  /// Ends a wait. Without another one, its attempt ends too.
  func end(_ wait: Wait, isUnlocked: Bool) {
    let unneeded = state.withLock { state -> StartedProcess? in
      state.count -= 1
      let now = ContinuousClock.now
      if isUnlocked {
        (state.vain, state.refusedUntil) = (0, nil)
      } else if wait.end <= now, state.lastVain.map({ $0 <= wait.start }) ?? true {
        // Waits at the same time count as one.
        (state.vain, state.lastVain) = (state.vain + 1, now)
        if state.vain >= Self.mostVain { (state.vain, state.refusedUntil) = (0, now + Self.rest) }
      }
      return state.count == 0 || isUnlocked ? state.attempt.take() : nil
    }
    _ = consume unneeded
  }
}
