internal import Dispatch
internal import Synchronization

/// One owner's closure.
///
/// The thread that brings news delivers it: the one that begins the observation, the queue of a store's feed, or one that
/// triggers a handler. Meanwhile other threads only note more news, which the feed's queue then delivers. So calls never
/// overlap, no lock is held in one, and no thread waits for another's news.
final class ValueObservation<Value: Sendable>: Sendable, KeptObservation {
  private enum Phase { case idle, telling, tellingWithMore, over }

  private weak let owner: (any AnyObject & Sendable)?
  private let changes: ValueChanges<Value>
  private let body: @Sendable (ValueChanges<Value>.Element) -> Void
  private let slot: Observations.Slot
  private let phase = Mutex(Phase.telling)
  private let last = Mutex<Sight?>(nil)

  init(
    _ owner: any AnyObject & Sendable, _ changes: ValueChanges<Value>, in slot: Observations.Slot,
    _ body: @escaping @Sendable (ValueChanges<Value>.Element) -> Void
  ) {
    self.owner = owner
    self.changes = changes
    self.slot = slot
    self.body = body
  }

  func begin() {
    changes.source.listen { [weak self] signal in
      switch signal {
      case .news: self?.attend()
      case .end: self?.stop()
      }
    }
    tell()
    // The source may have ended before it had a listener.
    if changes.source.isOver { stop() }
  }

  func stopIfUnowned() { if owner == nil { stop() } }

  /// A call that has begun runs to its end.
  func stop() {
    phase.withLock { $0 = .over }
    changes.source.listen(nil)
    Observations.current.drop(self, from: slot)
  }

  private func attend() {
    let isMine = phase.withLock { phase in
      switch phase {
      case .idle:
        phase = .telling
        return true
      case .telling: phase = .tellingWithMore
      case .tellingWithMore, .over: break
      }
      return false
    }
    if isMine { tell() }
  }

  private func tell() {
    guard tellOwner() else { return stop() }
    let hasMore = phase.withLock { phase in
      switch phase {
      case .telling: phase = .idle
      case .tellingWithMore:
        phase = .telling
        return true
      case .idle, .over: break
      }
      return false
    }
    if hasMore { changes.source.queue.async { self.tell() } }
  }

  /// False without an owner or news. The owner is retained only during this call.
  private func tellOwner() -> Bool {
    guard let owner else { return false }
    let found = changes.look()
    if found.sight.isEnd { return false }
    let isNews = last.withLock { last in
      if let last, last.isSame(as: found.sight) { return false }
      last = found.sight
      return true
    }
    if isNews, phase.withLock({ $0 != .over }) { body(found.element) }
    return withExtendedLifetime(owner) { true }
  }
}

extension ValueChanges {
  /// Calls `body` with the present values before this returns, and then for each element that a loop would get. It stops when
  /// `owner` is gone, the source ends, or the returned canceller is called. Until then everything that it reads stays alive.
  ///
  /// - Parameters:
  ///   - source: the observed object. An owner has one closure for each `name` of it; a new one replaces the old one.
  ///   - owner: held weakly.
  package func observe(
    _ source: AnyObject, as name: String = "", by owner: any AnyObject & Sendable,
    _ body: @escaping @Sendable (Element) -> Void
  ) -> Handler<Void>.Canceller {
    let slot = Observations.Slot(source: ObjectIdentifier(source), name: name, owner: ObjectIdentifier(owner))
    let observation = ValueObservation(owner, self, in: slot, body)
    Observations.current.keep(observation, in: slot)
    observation.begin()
    return { [weak observation] in observation?.stop() }
  }
}
