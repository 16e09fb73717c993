public import FoundationEssentials

/// The clock of a session.
public struct SessionClock: Sendable {
  /// The date, which can be set.
  public let now: @Sendable () -> Date
  /// The time since some past moment, which cannot be set.
  public let uptime: @Sendable () -> Duration

  /// The system's date, and the time since it started, sleep included.
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
