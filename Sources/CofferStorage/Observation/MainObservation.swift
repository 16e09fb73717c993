package import CofferObservation
internal import Synchronization

/// One owner's closure on the main actor.
///
/// The owner need not be `Sendable`: only the main actor touches it, even to check that it exists. News only asks for a turn
/// of the main actor. That turn reads the value, which is never older than the program's own last set.
final class MainObservation<Owner: AnyObject, Value: Sendable>: Sendable, KeptObservation {
  @MainActor private weak var owner: Owner?
  @MainActor private var body: (@MainActor (Owner, ValueChanges<Value>.Element) -> Void)?
  @MainActor private var last: Sight?
  private let changes: ValueChanges<Value>
  private let slot: Observations.Slot
  private let isScheduled = Atomic<Bool>(false)
  private let isOver = Atomic<Bool>(false)

  @MainActor init(
    _ owner: Owner, _ changes: ValueChanges<Value>, in slot: Observations.Slot,
    _ body: @escaping @MainActor (Owner, ValueChanges<Value>.Element) -> Void
  ) {
    self.owner = owner
    self.changes = changes
    self.slot = slot
    self.body = body
  }

  @MainActor func begin() {
    changes.source.listen { [weak self] signal in
      switch signal {
      case .news: self?.schedule()
      case .end: self?.stop()
      }
    }
    tell()
    // The source may have ended before it had a listener.
    if changes.source.isOver { stop() }
  }

  func stopIfUnowned() {
    Task { @MainActor in if owner == nil { stop() } }
  }

  /// The closure's captures belong to the main actor and are released there.
  func stop() {
    guard !isOver.exchange(true, ordering: .acquiringAndReleasing) else { return }
    changes.source.listen(nil)
    Observations.current.drop(self, from: slot)
    Task { @MainActor in body = nil }
  }

  private func schedule() {
    guard !isScheduled.exchange(true, ordering: .acquiringAndReleasing) else { return }
    Task { @MainActor in
      isScheduled.store(false, ordering: .sequentiallyConsistent)
      tell()
    }
  }

  @MainActor private func tell() {
    guard !isOver.load(ordering: .acquiring), let body else { return }
    guard let owner else { return stop() }
    let found = changes.look()
    if found.sight.isEnd { return stop() }
    if let last, last.isSame(as: found.sight) { return }
    last = found.sight
    body(owner, found.element)
  }
}

extension ValueChanges {
  /// The same on the main actor: `body` is called there with the present values before this returns, and with the newest at
  /// later turns.
  @MainActor package func observe<Owner: AnyObject>(
    _ source: AnyObject, as name: String = "", onMainBy owner: Owner, _ body: @escaping @MainActor (Owner, Element) -> Void
  ) -> Handler<Void>.Canceller {
    let slot = Observations.Slot(source: ObjectIdentifier(source), name: name, owner: ObjectIdentifier(owner))
    let observation = MainObservation(owner, self, in: slot, body)
    Observations.current.keep(observation, in: slot)
    observation.begin()
    return { [weak observation] in observation?.stop() }
  }
}
