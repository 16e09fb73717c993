public import FoundationEssentials

/// What tells a session the time.
public struct SessionClock: Sendable {
  /// The date, which somebody may set.
  public let now: @Sendable () -> Date
  /// The time since some moment of the past, which nobody can set.
  public let uptime: @Sendable () -> Duration

  /// The system's: its date, and the time since it started, sleep included.
  public static let system: SessionClock = {
    let start = ContinuousClock.now
    return SessionClock(now: { Date() }, uptime: { ContinuousClock.now - start })
  }()

  /// A clock of other sources.
  public init(now: @escaping @Sendable () -> Date, uptime: @escaping @Sendable () -> Duration) {
    self.now = now
    self.uptime = uptime
  }
}
