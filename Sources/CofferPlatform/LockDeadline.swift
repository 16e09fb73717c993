/// The moment at which a wait for a lock ends.
///
/// It is a number of its own and no `ContinuousClock.Instant`: the size of that one is found out at run time, and every write, which hands
/// one down without waiting, would pay for it.
package struct LockDeadline: Sendable {
  /// Nanoseconds since the machine was started, with the time it was suspended.
  private let moment: Int64

  /// The moment that is `patience` from now on.
  package init(after patience: Duration) {
    let (seconds, attoseconds) = patience.components
    moment = coffer_time_since_boot() + seconds * 1_000_000_000 + attoseconds / 1_000_000_000
  }

  /// Whether it has come.
  package var isOver: Bool { coffer_time_since_boot() >= moment }
}
