internal import CofferStorage
internal import Dispatch
internal import Synchronization

/// Folds a domain when no write came for a while, so that Foundation and editors see a change within a second.
final class IdleFold: Sendable {
  private let isScheduled = Atomic<Bool>(false)
  private let lastWrite = Atomic<UInt64>(0)
  private let firstWrite = Atomic<UInt64>(0)

  /// A pause this long is idleness: long enough to join the writes of one user action, short enough for the promise.
  private static let quiet: UInt64 = 250_000_000
  /// Under steady writes a fold comes after this time, which leaves the fold itself some of the second.
  private static let longest: UInt64 = 750_000_000
  /// Under steady writes a large list is folded less often: at most one part of this many is spent on it.
  private static let share: UInt64 = 10

  /// Notes a write.
  @inline(__always)
  func wrote(_ engine: DefaultsEngine) {
    let now = CoarseClock.now()
    lastWrite.store(now, ordering: .relaxed)
    if !isScheduled.load(ordering: .relaxed) { schedule(engine, now) }
  }

  private func schedule(_ engine: DefaultsEngine, _ now: UInt64) {
    guard engine.options.withLock({ $0.foldsWhenIdle }), !isScheduled.exchange(true, ordering: .relaxed) else { return }
    firstWrite.store(now, ordering: .relaxed)
    wait(engine, Self.quiet)
  }

  // The engine stays alive until the fold is done, even where its stores are gone.
  private func wait(_ engine: DefaultsEngine, _ nanoseconds: UInt64) {
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .nanoseconds(Int(nanoseconds))) { self.fire(engine) }
  }

  private func fire(_ engine: DefaultsEngine) {
    let now = CoarseClock.now()
    let quietFor = now - min(now, lastWrite.load(ordering: .relaxed))
    let dirtyFor = now - min(now, firstWrite.load(ordering: .relaxed))
    let (foldAge, foldTime) = Fold(engine: engine).last
    // A writer that waits for the lock looks idle too, and folding would keep all others waiting: the pace holds for both.
    let isDue = foldAge >= Self.share * foldTime && (quietFor >= Self.quiet || min(dirtyFor, foldAge) >= Self.longest)
    guard isDue else { return wait(engine, Self.quiet) }
    isScheduled.store(false, ordering: .relaxed)
    // A failure loses nothing and has no one to hear it here: the next synchronize() meets it again and says so.
    do { try Fold(engine: engine).synchronize() } catch {}
  }
}
