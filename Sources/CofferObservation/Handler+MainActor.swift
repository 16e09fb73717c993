internal import Dispatch
internal import Synchronization

extension Handler where Value: Sendable {
  /// Calls `body` on the main actor with the value of each trigger, in order, while `owner` lives. A trigger on the main actor
  /// returns after `body`. Other threads do not wait.
  ///
  /// ```swift
  /// userChanged.add(self, on: .shared) { screen, user in screen.title = user.name }
  /// ```
  ///
  /// The owner may be any object of the main actor, `Sendable` or not. It is held weakly and passed to `body`, which need not
  /// capture it. Otherwise the rules of ``add(_:_:)`` apply. `actor` is `.shared`.
  @MainActor @discardableResult
  public func add<Owner: AnyObject>(
    _ owner: Owner, on actor: MainActor, _ body: @escaping @MainActor (Owner, Value) -> Void
  ) -> Canceller {
    let inbox = MainInbox(owner, body)
    let cancel = add(inbox, as: ObjectIdentifier(owner), isOwned: { inbox.isOwned }) { value in inbox.put(value) }
    inbox.whenUnowned(cancel)
    return cancel
  }
}

/// Undelivered triggers for one owner on the main actor. Its registration keeps it alive, asks it whether the owner lives,
/// and drops waiting triggers at its end.
private final class MainInbox<Owner: AnyObject, Value: Sendable>: Sendable {
  // Never changed. A reader on any thread may hold the owner's last reference, and lets the main actor release it.
  private nonisolated(unsafe) weak let owner: Owner?
  private let body: @MainActor (Owner, Value) -> Void
  private let waiting = Mutex<[Value]>([])
  private let end = Mutex<(@Sendable () -> Void)?>(nil)

  @MainActor init(_ owner: Owner, _ body: @escaping @MainActor (Owner, Value) -> Void) {
    self.owner = owner
    self.body = body
  }

  // The closure's captures belong to the main actor and are released there.
  deinit { Task { @MainActor [body] in withExtendedLifetime(body) {} } }

  var isOwned: Bool {
    guard let owner else { return false }
    if MainQueue.isCurrent { return true }
    nonisolated(unsafe) let held = owner
    Task { @MainActor in withExtendedLifetime(held) {} }
    return true
  }

  func whenUnowned(_ cancel: @escaping @Sendable () -> Void) { end.withLock { $0 = cancel } }

  func put(_ value: Value) {
    let count = waiting.withLock { waiting in
      waiting.append(value)
      return waiting.count
    }
    if MainQueue.isCurrent {
      // Only these: other threads may add values without end.
      MainActor.assumeIsolated { for _ in 0..<count { tellNext() } }
    } else {
      Task { @MainActor [weak self] in self?.tellNext() }
    }
  }

  @MainActor private func tellNext() {
    guard let value = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return }
    guard let owner else { return end.withLock { $0 }?() ?? () }
    body(owner, value)
  }
}

private enum MainQueue {
  private static let mark = {
    let mark = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: mark, value: true)
    return mark
  }()

  /// Always false if another executor runs the main actor.
  static var isCurrent: Bool { DispatchQueue.getSpecific(key: mark) == true }
}
