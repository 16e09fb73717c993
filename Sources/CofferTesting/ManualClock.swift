public import CofferStorage
public import Foundation
internal import Synchronization

/// A clock that stands still until a test moves it.
public final class ManualClock: Sendable {
  private let time: Mutex<(date: Date, uptime: Duration)>

  /// A clock at `date`.
  public init(at date: Date = Date(timeIntervalSince1970: 1_800_000_000)) { time = Mutex((date, .zero)) }

  /// The clock's date.
  public var now: Date { time.withLock(\.date) }

  /// The same, for a ``/Coffer/Session``.
  public var sessionClock: SessionClock {
    SessionClock(now: { [self] in now }, uptime: { [self] in time.withLock(\.uptime) })
  }

  /// Lets time pass for the date and the uptime.
  public func pass(_ duration: Duration) {
    time.withLock { time in
      let parts = duration.components
      time.date += Double(parts.seconds) + Double(parts.attoseconds) / 1e18
      time.uptime += duration
    }
  }

  /// Sets the date, like an administrator of the machine. No time passes.
  public func set(_ date: Date) { time.withLock { $0.date = date } }
}
