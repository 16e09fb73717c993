package import CofferPlatform

/// The answer to a commit that a server never gave. Whether the commit was made is looked up, not guessed.
package struct LostAnswer {
  /// What the commit threw.
  private let unknown: StoreError
  private let place: String
  /// What the commit was of, as its error calls it.
  private let subject: String

  /// How long a server that went away is waited for, at most, before the commit is left unsettled: it takes some seconds to start
  /// again.
  private static let patience = Duration.seconds(15)
  /// Between two looks, in microseconds.
  private static let pause: UInt32 = 100_000

  /// The lost answer to a commit of `subject` at `place`, which threw `unknown`.
  package init(_ unknown: StoreError, of subject: String, at place: String) {
    (self.unknown, self.subject, self.place) = (unknown, subject, place)
  }

  /// Returns when the commit is in effect.
  ///
  /// - Parameter look: tells whether it is; nil where that can no longer be told. It holds a lock that the commit held, as one
  ///   that is still on its way would be missed without it. It is called again while the server cannot be reached or the lock
  ///   cannot be had.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/unreachable`` where the commit was not made; what the commit threw where that
  ///   cannot be told in time; what `look` throws of a place that is not the one that the commit was made at.
  package func settle(_ look: () throws(StoreError) -> Bool?) throws(StoreError) {
    switch try find(look) {
    case true?: return
    case nil: throw unknown
    case false?:
      throw StoreError(
        .unreachable, "the server went away before \(subject) was committed, and nothing of it was made", place: place,
        cure: "try again",
        underlying: unknown.underlying)
    }
  }

  private func find(_ look: () throws(StoreError) -> Bool?) throws(StoreError) -> Bool? {
    let end = ContinuousClock.now + Self.patience
    while true {
      do throws(StoreError) { return try look() } catch {
        guard [.busy, .unreachable, .outcomeUnknown].contains(error.kind) else {
          // These tell of other rows than those which the commit was made in. Any other error tells that the look failed, and
          // would be taken for the commit's own.
          if [.rolledBack, .forked, .replaced, .tampered].contains(error.kind) { throw error }
          return nil
        }
        guard ContinuousClock.now < end else { return nil }
        usleep(Self.pause)
      }
    }
  }
}
