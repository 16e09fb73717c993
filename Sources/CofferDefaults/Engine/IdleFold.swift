internal import CofferPlatform
internal import Dispatch
internal import Synchronization

/// Folds a domain after a pause in writes, so that Foundation and editors see a change within a second.
final class IdleFold: Sendable {
  private let isScheduled = Atomic<Bool>(false)
  private let lastWrite = Atomic<UInt64>(0)
  private let firstWrite = Atomic<UInt64>(0)
  private let isUrgent = Atomic<Bool>(false)

  /// Long enough to join the writes of one user action.
  static let quiet: UInt64 = 250_000_000
  /// Leaves the fold part of the second under steady writes.
  private static let longest: UInt64 = 750_000_000
  private static let longestPause: UInt64 = 60_000_000_000
  /// Under steady writes, folds of a large list take at most one part in this many.
  private static let share: UInt64 = 10

  static func pause(after pause: UInt64) -> UInt64 { min(2 * pause, longestPause) }

  @inline(__always)
  func wrote(_ engine: DefaultsEngine) {
    let now = CoarseClock.now()
    lastWrite.store(now, ordering: .relaxed)
    if !isScheduled.load(ordering: .relaxed) { schedule(engine, now) }
  }

  private func schedule(_ engine: DefaultsEngine, _ now: UInt64) {
    guard engine.options.withLock({ $0.foldsWhenIdle }), !isScheduled.exchange(true, ordering: .relaxed) else { return }
    firstWrite.store(now, ordering: .relaxed)
    add(engine, after: Self.quiet)
  }

  /// False if the caller must fold.
  func foldNow(_ engine: DefaultsEngine) -> Bool {
    guard engine.options.withLock({ $0.foldsWhenIdle }) else { return false }
    isUrgent.store(true, ordering: .relaxed)
    isScheduled.store(true, ordering: .relaxed)
    return add(engine, after: 0)
  }

  /// The engine lives until the fold is done, even without its stores.
  @discardableResult
  private func add(_ engine: DefaultsEngine, after pause: UInt64) -> Bool {
    let isAdded = FoldingThread.add(ObjectIdentifier(engine), after: pause) { self.foldIfDue(engine, after: pause) }
    if !isAdded { isScheduled.store(false, ordering: .relaxed) }  // No thread could start: the next write tries again.
    return isAdded
  }

  private func foldIfDue(_ engine: DefaultsEngine, after pause: UInt64) {
    if isUrgent.exchange(false, ordering: .relaxed) || isDue(engine) {
      fold(engine, after: pause)
    } else {
      add(engine, after: max(pause, Self.quiet))
    }
  }

  private func isDue(_ engine: DefaultsEngine) -> Bool {
    let now = CoarseClock.now()
    let quietFor = now - min(now, lastWrite.load(ordering: .relaxed))
    let dirtyFor = now - min(now, firstWrite.load(ordering: .relaxed))
    let (foldAge, foldTime) = Fold(engine: engine).last
    // A writer that waits for the lock looks idle too, and a fold would delay all others.
    return foldAge >= Self.share * foldTime && (quietFor >= Self.quiet || min(dirtyFor, foldAge) >= Self.longest)
  }

  private func fold(_ engine: DefaultsEngine, after pause: UInt64) {
    isScheduled.store(false, ordering: .relaxed)
    // A failure loses nothing, and the next synchronize() reports it. Retry after a passing cause, such as a full disk: there may
    // be no later write. Other domains do not wait for a fold of this one by a stopped process.
    do { if try Fold(engine: engine).ifFree() { return } } catch { if [.afterFork, .closed].contains(error.kind) { return } }
    guard !isScheduled.exchange(true, ordering: .relaxed) else { return }
    add(engine, after: Self.pause(after: max(pause, Self.quiet)))
  }
}

/// The thread that folds for all domains of this process, and ends when none is left.
enum FoldingThread {
  private struct Due {
    let moment: UInt64
    let fold: @Sendable () -> Void
  }

  private static let due = Mutex<[ObjectIdentifier: Due]>([:])
  /// The thread's process. A forked child has no thread.
  private static let running = Mutex<pid_t?>(nil)
  private static let wake = DispatchSemaphore(value: 0)

  /// Runs `fold` after `pause` nanoseconds, once for each `domain`. An earlier moment replaces a later one.
  ///
  /// - Returns: false if no thread can start.
  static func add(_ domain: ObjectIdentifier, after pause: UInt64, _ fold: @escaping @Sendable () -> Void) -> Bool {
    let moment = CoarseClock.now() + pause
    due.withLock { due in if (due[domain]?.moment ?? .max) > moment { due[domain] = Due(moment: moment, fold: fold) } }
    let isStarted = running.withLock { running in
      if running == ProcessMark.current { return true }
      do throws(StoreError) { try DetachedThread.start(stackBytes: stackBytes, place: "folds") { run() } } catch { return false }
      running = ProcessMark.current
      return true
    }
    wake.signal()
    if !isStarted { due.withLock { $0[domain] = nil } }
    return isStarted
  }

  /// For a fold of the deepest nested values.
  private static let stackBytes = 1 << 20

  private static func run() {
    while true {
      let now = CoarseClock.now()
      let (fold, next) = due.withLock { due -> ((@Sendable () -> Void)?, UInt64?) in
        guard let first = due.min(by: { $0.value.moment < $1.value.moment }) else { return (nil, nil) }
        guard first.value.moment <= now else { return (nil, first.value.moment) }
        due[first.key] = nil
        return (first.value.fold, nil)
      }
      if let fold {
        fold()
      } else if let next {
        _ = wake.wait(timeout: .now() + .nanoseconds(Int(next - now)))
      } else if running.withLock({ running in
        // Under the lock: a later addition starts another thread.
        guard due.withLock(\.isEmpty) else { return false }
        running = nil
        return true
      }) {
        return
      }
    }
  }
}
