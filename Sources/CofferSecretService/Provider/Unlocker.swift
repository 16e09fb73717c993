internal import CofferAgent
internal import CofferPlatform

struct UnlockAttempt {
  let process: Int32
  let mayAsk: Bool
  /// Whether this service ended it: that is no refusal.
  private(set) var isEnded = false

  init(process: Int32, mayAsk: Bool) {
    self.process = process
    self.mayAsk = mayAsk
  }

  mutating func end() {
    kill(process, SIGTERM)
    isEnded = true
  }

  /// Waits for an ended process. Nil is no success: the system does not report its status.
  @discardableResult static func reap(_ process: Int32) -> Int32? {
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 {
      guard errno == EINTR else { return nil }
    }
    return status
  }
}

/// A call that waits for an unlock.
struct UnlockWaiter {
  let mayAsk: Bool
  /// The end of the wait; nil while a person is asked.
  let deadline: ContinuousClock.Instant?
  var wasTried = false
  /// Whether it still waits: its client may have gone.
  let isWaiting: () -> Bool
  let then: (Bool) -> Void
}

/// Unlocks the vault for waiting calls, on the bus's thread.
final class Unlocker {
  private let settings: SecretServiceSettings
  private let inbox: Inbox
  private let look: () -> Void
  private var attempt: UnlockAttempt?
  private var waiting: [UnlockWaiter] = []
  /// For calls that wait for a vault that nobody can unlock.
  var refuseAll: (Refusal) -> Void = { _ in }

  init(_ settings: SecretServiceSettings, _ inbox: Inbox, look: @escaping () -> Void) {
    self.settings = settings
    self.inbox = inbox
    self.look = look
  }

  /// The first deadline of the waiting calls.
  var deadline: ContinuousClock.Instant? { waiting.compactMap(\.deadline).min() }

  /// Ends an attempt for which nobody waits.
  func endAttempt() { attempt?.end() }

  /// Waits for an unlock by this machine's own key, by a program that asks a person, or by `coffer unlock` at a terminal.
  ///
  /// - Parameters:
  ///   - isWaiting: whether the caller still waits; no process is started otherwise.
  ///   - then: gets the result, once.
  func unlock(
    mayAsk: Bool, until deadline: ContinuousClock.Instant?, while isWaiting: @escaping () -> Bool,
    then: @escaping (Bool) -> Void
  ) {
    waiting.append(UnlockWaiter(mayAsk: mayAsk, deadline: deadline, isWaiting: isWaiting, then: then))
    tryUnlocking()
  }

  /// Starts a process for untried calls.
  private func tryUnlocking() {
    guard attempt == nil else { return }
    waiting.removeAll { !$0.isWaiting() }
    let untried = waiting.filter { !$0.wasTried }
    guard !untried.isEmpty else { return }
    let mayAsk = untried.contains { $0.mayAsk } && settings.hasPrompt
    do throws(StoreError) {
      try settings.checkVault()
      guard settings.hasOwnKey || mayAsk else { return giveUp(asked: true, started: false) }
      let process = try settings.startUnlocking(mayAsk)
      attempt = UnlockAttempt(process: process, mayAsk: mayAsk)
      let inbox = inbox
      try DetachedThread.start(stackBytes: 256 << 10, place: "secret service") {
        // The bus's thread reaps it, and may signal it before: its process id stays valid until then.
        var ended = siginfo_t()
        while waitid(P_PID, id_t(process), &ended, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        if !inbox.post(.tried(process: process)) { UnlockAttempt.reap(process) }
      }
    } catch {
      attempt?.end()
      attempt = nil
      // Nobody can unlock a missing vault.
      guard error.kind == .noVault else { return giveUp(asked: true, started: false) }
      refuse(Refusal(error, at: ObjectPath.root))
    }
  }

  func attemptEnded(_ process: Int32) {
    let status = UnlockAttempt.reap(process)
    guard let ended = attempt, ended.process == process else { return }
    attempt = nil
    // The agent reports it a moment later; waiting calls need not wait for that.
    guard status != 0 else { return look() }
    if let status, status & 0x7F == 0, let why = settings.whyRefused(status >> 8 & 0xFF) { return refuse(.failed(why)) }
    // It did not ask for later calls.
    if !ended.isEnded { giveUp(asked: ended.mayAsk, started: true) }
    tryUnlocking()
  }

  /// For a vault that nobody can unlock at all.
  private func refuse(_ refusal: Refusal) {
    refuseAll(refusal)
    let all = waiting
    waiting = []
    for waiter in all { waiter.then(false) }
  }

  /// No process can unlock the vault: until their deadlines, calls wait for a person elsewhere.
  private func giveUp(asked: Bool, started: Bool) {
    for index in waiting.indices where asked || !waiting[index].mayAsk || !settings.hasPrompt {
      waiting[index].wasTried = true
    }
    // Calls that wait for no person get the error, as do those whose prompt failed.
    let over = waiting.filter { $0.wasTried && (!$0.mayAsk || started && $0.deadline == nil) }
    waiting.removeAll { $0.wasTried && (!$0.mayAsk || started && $0.deadline == nil) }
    for waiter in over { waiter.then(false) }
  }

  func unlocked() {
    attempt?.end()
    attempt = nil
    let all = waiting
    waiting = []
    for waiter in all { waiter.then(true) }
  }

  /// Refuses calls after their deadline; true once nobody waits any more.
  func expire(_ now: ContinuousClock.Instant) -> Bool {
    let over = waiting.filter { $0.deadline.map { $0 <= now } ?? false }
    guard !over.isEmpty else { return false }
    waiting.removeAll { ($0.deadline.map { $0 <= now } ?? false) || !$0.isWaiting() }
    for waiter in over { waiter.then(false) }
    return waiting.isEmpty
  }
}
