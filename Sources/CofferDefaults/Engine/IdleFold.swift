internal import CofferPlatform
internal import CofferStorage
internal import Synchronization
internal import SystemPackage

/// Folds a domain after a pause in writes, so that Foundation and editors see a change within a second.
final class IdleFold: Sendable {
  private let isScheduled = Atomic<Bool>(false)
  private let lastWrite = Atomic<UInt64>(0)
  private let firstWrite = Atomic<UInt64>(0)

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
    do throws(StoreError) {
      // The engine lives until the fold is done, even without its stores.
      try DetachedThread.start(stackBytes: Self.stackBytes, place: engine.files.list) { [self] in
        var pause: UInt64? = Self.quiet
        while let wait = pause {
          DetachedThread.sleep(wait)
          pause = isDue(engine) ? fold(engine, after: wait) : wait
        }
      }
    } catch { isScheduled.store(false, ordering: .relaxed) }  // No thread to be had: the next write tries again.
  }

  /// For a fold of the deepest nested values.
  private static let stackBytes = 1 << 20

  private func isDue(_ engine: DefaultsEngine) -> Bool {
    let now = CoarseClock.now()
    let quietFor = now - min(now, lastWrite.load(ordering: .relaxed))
    let dirtyFor = now - min(now, firstWrite.load(ordering: .relaxed))
    let (foldAge, foldTime) = Fold(engine: engine).last
    // A writer that waits for the lock looks idle too, and a fold would delay all others.
    return foldAge >= Self.share * foldTime && (quietFor >= Self.quiet || min(dirtyFor, foldAge) >= Self.longest)
  }

  /// Returns the pause before another attempt, if any.
  private func fold(_ engine: DefaultsEngine, after pause: UInt64) -> UInt64? {
    isScheduled.store(false, ordering: .relaxed)
    do { try Fold(engine: engine).synchronize(telling: false) } catch {
      // A failure loses nothing, and the next synchronize() reports it. Retry a passing cause, such as a full disk or a lock:
      // there may be no later write.
      guard error.kind != .afterFork, error.kind != .closed, !isScheduled.exchange(true, ordering: .relaxed) else { return nil }
      return Self.pause(after: pause)
    }
    return nil
  }
}
