internal import Dispatch
internal import Synchronization

extension Handler where Value: Sendable {
  /// Calls `body` on the main actor with the value of each trigger, in the order of the triggers, for as long as `owner` lives.
  /// The triggering thread does not wait for it.
  ///
  /// ```swift
  /// userChanged.add(self, on: .shared) { screen, user in screen.title = user.name }
  /// ```
  ///
  /// The owner may be any object of the main actor, `Sendable` or not. It is held weakly and handed to `body`, which so need not
  /// capture it. Otherwise the rules of ``add(_:_:)`` hold: an owner has one closure, and another one replaces it.
  /// `actor` is `.shared`.
  ///
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

/// Triggers for one owner on the main actor that are still to be delivered.
///
/// Its registration keeps it, and asks it whether the owner lives. Waiting triggers are dropped with the registration.
private final class MainInbox<Owner: AnyObject, Value: Sendable>: Sendable {
  // Read on any thread, and never changed. A reader may then hold the owner's last reference, and lets the main actor drop it.
  private nonisolated(unsafe) weak let owner: Owner?
  private let body: @MainActor (Owner, Value) -> Void
  private let waiting = Mutex<[Value]>([])
  private let end = Mutex<(@Sendable () -> Void)?>(nil)

  @MainActor init(_ owner: Owner, _ body: @escaping @MainActor (Owner, Value) -> Void) {
    self.owner = owner
    self.body = body
  }

  // The closure's captures belong to the main actor, and are released there.
  deinit { Task { @MainActor [body] in withExtendedLifetime(body) {} } }

  /// Whether the owner lives, asked on any thread.
  var isOwned: Bool {
    guard let owner else { return false }
    if MainQueue.isCurrent { return true }
    nonisolated(unsafe) let held = owner
    Task { @MainActor in withExtendedLifetime(held) {} }
    return true
  }

  /// What takes the registration away once the owner is gone.
  func whenUnowned(_ cancel: @escaping @Sendable () -> Void) { end.withLock { $0 = cancel } }

  func put(_ value: Value) {
    waiting.withLock { $0.append(value) }
    Task { @MainActor [weak self] in self?.tellNext() }
  }

  @MainActor private func tellNext() {
    guard let value = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return }
    guard let owner else { return end.withLock { $0 }?() ?? () }
    body(owner, value)
  }
}

/// The queue that runs the main actor.
private enum MainQueue {
  private static let mark = {
    let mark = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: mark, value: true)
    return mark
  }()

  /// Whether it runs this. Where another executor runs the main actor nothing does, and the main actor is asked in vain.
  static var isCurrent: Bool { DispatchQueue.getSpecific(key: mark) == true }
}
