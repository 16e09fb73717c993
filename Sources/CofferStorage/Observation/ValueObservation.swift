internal import Dispatch
internal import Synchronization

/// One owner's closure, and what it is told from.
///
/// Whoever brings news delivers them: the thread that begins the observation, the queue of a store's feed, or a thread that
/// triggers a handler. While one delivers, others only note that there is more, which is then delivered on the feed's queue: so
/// calls never overlap, no lock is held in one, and no thread is kept for another's news.
final class ValueObservation<Value: Sendable>: Sendable, KeptObservation {
  private enum Phase { case idle, telling, tellingWithMore, over }

  private weak let owner: (any AnyObject & Sendable)?
  private let changes: ValueChanges<Value>
  private let body: @Sendable (ValueChanges<Value>.Element) -> Void
  private let slot: Observations.Slot
  // Whoever begins tells first.
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

  /// Calls the closure with the present value, and from then on with what comes.
  func begin() {
    changes.source.listen { [weak self] signal in
      switch signal {
      case .news: self?.attend()
      case .end: self?.stop()
      }
    }
    tell()
    // What ended before it was listened to.
    if changes.source.isOver { stop() }
  }

  func stopIfUnowned() { if owner == nil { stop() } }

  /// Ends it. A call that has begun on another thread goes on to its end.
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

  /// False where there is no owner, or nothing more to tell. The owner is held no longer than this.
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
  /// Calls `body` with the present values before this returns, and then whenever a loop would get an element, until `owner` is
  /// gone, the source ends, or what is returned is called. Until then everything that the values are read from stays alive.
  ///
  /// - Parameters:
  ///   - source: what is observed. An owner has one closure for each `name` of it; a new one takes the place of the former.
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
