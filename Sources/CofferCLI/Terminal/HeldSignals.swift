internal import CofferPlatform

/// Signals that wait while something has to be put back: an echo that is off, a folder that must go.
///
/// They are blocked, not handled, so no handler runs in the middle of anything; whoever holds them asks with ``next()`` and
/// decides. The mask is restored at the end. Holds only in a process of one thread, which this program is while it asks.
struct HeldSignals: ~Copyable {
  private var before = sigset_t()
  private var held = sigset_t()

  init(_ signals: [Int32]) {
    sigemptyset(&held)
    for signal in signals { sigaddset(&held, signal) }
    pthread_sigmask(SIG_BLOCK, &held, &before)
  }

  deinit {
    var mask = before
    pthread_sigmask(SIG_SETMASK, &mask, nil)
  }

  /// Takes one signal that came in the meantime.
  mutating func next() -> Int32? {
    var pending = sigset_t()
    sigpending(&pending)
    for signal in 1..<Int32(32) where sigismember(&held, signal) == 1 && sigismember(&pending, signal) == 1 {
      var one = sigset_t()
      sigemptyset(&one)
      sigaddset(&one, signal)
      var taken: Int32 = 0
      if sigwait(&one, &taken) == 0 { return taken }
    }
    return nil
  }

  /// Waits for one signal and takes it.
  func wait() -> Int32 {
    var signals = held, taken: Int32 = 0
    while sigwait(&signals, &taken) != 0 {}
    return taken
  }

  /// Lets `signal` do what it does by default: end the process, or stop it until it is continued.
  func deliver(_ signal: Int32) {
    var one = sigset_t()
    sigemptyset(&one)
    sigaddset(&one, signal)
    raise(signal)
    pthread_sigmask(SIG_UNBLOCK, &one, nil)
    pthread_sigmask(SIG_BLOCK, &one, nil)
  }
}
