internal import CofferPlatform

/// The machine's two clocks: their difference grows by each time that it was suspended.
struct AgentClock: Sendable {
  /// Time since the start of the machine, suspended time included (`CLOCK_BOOTTIME`).
  var sinceBoot: @Sendable () -> Duration
  /// The same without suspended time (`CLOCK_MONOTONIC`).
  var awake: @Sendable () -> Duration

  static let machine = AgentClock(
    sinceBoot: { .nanoseconds(coffer_time_since_boot()) }, awake: { .nanoseconds(coffer_time_awake()) })

  /// How long the machine has been suspended since its start.
  ///
  /// The clocks are read one after the other; ``suspensionTolerance`` covers a process that is paused in between.
  var suspended: Duration {
    let awake = awake()
    return sinceBoot() - awake
  }

  /// Nobody suspends a machine for less than this. A pause between the two readings only ever makes the agent lock early.
  static let suspensionTolerance = Duration.seconds(1)
}
