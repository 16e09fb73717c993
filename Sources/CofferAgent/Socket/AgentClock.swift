internal import CofferPlatform

/// The machine's two clocks: their difference grows with each suspension.
struct AgentClock: Sendable {
  /// Time since boot, suspended time included (`CLOCK_BOOTTIME`).
  var sinceBoot: @Sendable () -> Duration
  /// Time since boot without suspended time (`CLOCK_MONOTONIC`).
  var awake: @Sendable () -> Duration
  /// A part of a whole, by chance: keeps machines from doing the same at one time.
  var part: @Sendable () -> Double = { .random(in: 0..<1) }

  static let machine = AgentClock(
    sinceBoot: { .nanoseconds(coffer_time_since_boot()) }, awake: { .nanoseconds(coffer_time_awake()) })

  /// Time in suspension since boot.
  ///
  /// The clocks are read in turn; ``suspensionTolerance`` covers a pause in between.
  var suspended: Duration {
    let awake = awake()
    return sinceBoot() - awake
  }

  /// Shorter than any suspension. A pause between the readings can only make the agent lock early.
  static let suspensionTolerance = Duration.seconds(1)
}
