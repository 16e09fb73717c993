internal import Dispatch
internal import FoundationEssentials
internal import Synchronization

/// Calls when a credential's time may have passed. Of several moments the earliest counts. The receiver looks again and sets
/// the next.
final class ExpiryAlarm: Sendable {
  private let queue = DispatchQueue(label: "coffer.session")
  /// The time of the next call.
  private let due = Mutex<DispatchTime?>(nil)

  // Seconds. A clock may be set, and a machine may sleep: regular checks notice both.
  private static let longestWait = 60.0

  /// Calls `body` at `moment` or before; never if it has passed.
  func set(for moment: Date, by clock: SessionTime, _ body: @escaping @Sendable () -> Void) {
    let rest = moment.timeIntervalSince(clock.now)
    guard rest > 0 else { return }
    let time = DispatchTime.now() + min(rest + 0.001, Self.longestWait)
    let isEarlier = due.withLock { due in
      if let due, due <= time { return false }
      due = time
      return true
    }
    guard isEarlier else { return }
    queue.asyncAfter(deadline: time) { [weak self] in
      self?.due.withLock { if $0 == time { $0 = nil } }
      body()
    }
  }
}
