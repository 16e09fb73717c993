package import CofferPlatform

/// A commit whose answer from a server was lost. The outcome is looked up, not guessed.
package struct LostAnswer {
  private let unknown: StoreError
  private let place: String
  private let subject: String

  /// The longest wait for a server, before the commit stays unsettled. A server takes some seconds to restart.
  package static let patience = Duration.seconds(15)
  /// Microseconds.
  private static let pause: UInt32 = 100_000

  package init(_ unknown: StoreError, of subject: String, at place: String) {
    (self.unknown, self.subject, self.place) = (unknown, subject, place)
  }

  /// Returns when the commit is in effect.
  ///
  /// - Parameter look: tells whether it is; nil if that can no longer be told. It must hold a lock that the commit held, or
  ///   it would miss a commit still on its way. It is called again while the server cannot be reached or the lock is taken.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/unreachable`` if the commit was not made; the commit's error if that cannot
  ///   be told in time; the error of `look` if it finds other rows than the commit's.
  package func settle(_ look: () throws(StoreError) -> Bool?) throws(StoreError) {
    switch try find(look) {
    case true?: return
    case nil: throw unknown
    case false?:
      throw StoreError(
        .unreachable, "the server went away before \(subject) was committed; nothing was changed", place: place,
        cure: "try again",
        underlying: unknown.underlying)
    }
  }

  private func find(_ look: () throws(StoreError) -> Bool?) throws(StoreError) -> Bool? {
    let end = ContinuousClock.now + Self.patience
    while true {
      do throws(StoreError) { return try look() } catch {
        guard [.busy, .unreachable, .outcomeUnknown].contains(error.kind) else {
          // These errors report other rows than the commit's. Any other error means that the look failed, and would pass for
          // the commit's own.
          if [.rolledBack, .forked, .replaced, .tampered].contains(error.kind) { throw error }
          return nil
        }
        guard ContinuousClock.now < end else { return nil }
        usleep(Self.pause)
      }
    }
  }
}
