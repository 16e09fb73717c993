internal import CofferPlatform
internal import Dispatch
internal import Synchronization

protocol KeptObservation: AnyObject, Sendable {
  func stopIfUnowned()
  func stop()
}

/// All observations with an owner in this process. Only this keeps them, and they keep their sources: so there is no cycle,
/// and an observer need not keep the subject, the session or the router.
///
/// The next news, or a check, finds that an owner is gone. Checks begin soon after an observation and then become rarer.
final class Observations: Sendable {
  /// The place of one owner's closure for one value. The source lives, and keeps its identifier, while the slot is filled.
  struct Slot: Hashable {
    let source: ObjectIdentifier
    let name: String
    let owner: ObjectIdentifier
  }

  private struct State {
    var kept: [Slot: any KeptObservation] = [:]
    var pause = shortestPause
    /// Zero if no check is scheduled.
    var round: UInt64 = 0
    var lastRound: UInt64 = 0

    mutating func nextRound() -> UInt64 {
      lastRound += 1
      round = lastRound
      return round
    }
  }

  static let current = Observations()
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "coffer.owners", qos: .utility)

  // Seconds. A check costs about 50 ns for each observation and wakes an idle program about once a minute.
  private static let shortestPause = 1.0
  private static let longestPause = 64.0

  func keep(_ observation: any KeptObservation, in slot: Slot) {
    let (former, round) = state.withLock { state in
      let former = state.kept.updateValue(observation, forKey: slot)
      guard state.round == 0 || state.pause > Self.shortestPause else { return (former, UInt64?.none) }
      state.pause = Self.shortestPause
      return (former, state.nextRound())
    }
    former?.stop()
    if let round { look(in: round, after: Self.shortestPause) }
  }

  func drop(_ observation: any KeptObservation, from slot: Slot) {
    let dropped = state.withLock { state -> (any KeptObservation)? in
      guard state.kept[slot] === observation else { return nil }
      return state.kept.removeValue(forKey: slot)
    }
    // Released outside the lock: what it holds may call anything on release.
    withExtendedLifetime(dropped) {}
  }

  private func look(in round: UInt64, after pause: Double) {
    DetachedThread.start(after: UInt64(pause * 1e9), on: queue) { self.look(in: round) }
  }

  private func look(in round: UInt64) {
    guard let kept = state.withLock({ $0.round == round ? Array($0.kept.values) : nil }) else { return }
    for observation in kept { observation.stopIfUnowned() }
    let next = state.withLock { state -> (round: UInt64, pause: Double)? in
      guard state.round == round else { return nil }
      guard !state.kept.isEmpty else {
        state.round = 0
        return nil
      }
      state.pause = min(state.pause * 2, Self.longestPause)
      return (state.nextRound(), state.pause)
    }
    if let next { look(in: next.round, after: next.pause) }
  }
}
