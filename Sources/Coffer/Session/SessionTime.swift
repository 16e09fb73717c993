internal import CofferStorage
internal import FoundationEssentials

/// The date, but never less than the uptime since the session began.
struct SessionTime: Sendable {
  private let clock: SessionClock
  private let began: Date
  private let uptimeThen: Duration

  init(_ clock: SessionClock) {
    self.clock = clock
    began = clock.now()
    uptimeThen = clock.uptime()
  }

  var now: Date {
    let passed = (clock.uptime() - uptimeThen).components
    return max(clock.now(), began.addingTimeInterval(Double(passed.seconds) + Double(passed.attoseconds) / 1e18))
  }
}
