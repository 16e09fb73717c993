internal import Synchronization

/// A list of closures, each bound to an owner, that ``trigger(_:)`` calls.
///
/// ```swift
/// let userChanged = Handler<User?>()
/// userChanged.add(self) { [weak self] user in self?.show(user) }
/// userChanged.trigger(user)
/// ```
///
/// - Each owner has one closure; another one replaces it, in its place. Owners are held weakly: a released owner's closure is
///   never called, and is dropped at the next trigger.
/// - ``trigger(_:)`` calls the closures on the calling thread, in the order in which their owners were added. It calls those
///   of owners that were present when it began and still are.
/// - A closure may make any call, including `trigger`: no lock is held while it runs.
/// - All calls may come from any thread. Removing a closure does not stop its running call on another thread.
/// - ``add(_:on:_:)`` adds a closure of the main actor, which is called there, before a trigger on the main actor returns.
public final class Handler<Value>: Sendable {
  /// Removes only the registration that it was returned for, not a later one of the same owner. Does nothing the second time,
  /// or once the handler is gone.
  public typealias Canceller = @Sendable () -> Void
  /// The closure of an owner.
  public typealias Body = @Sendable (Value) -> Void

  /// An object without weak references to it: copying a weak reference, or retaining an object that has one, costs as much as
  /// ten calls.
  private final class Registration: Sendable {
    let id: ObjectIdentifier
    /// Distinguishes registrations of one owner, and of objects that reuse an owner's address.
    let generation: UInt64
    private weak let owner: (any AnyObject & Sendable)?
    /// Whether an owner of the main actor is alive; nil if ``owner`` is the owner.
    private let isOwned: (@Sendable () -> Bool)?
    let body: Body
    let isCurrent = Atomic<Bool>(true)

    init(
      _ id: ObjectIdentifier, _ owner: any AnyObject & Sendable, _ generation: UInt64, isOwned: (@Sendable () -> Bool)?,
      _ body: @escaping Body
    ) {
      self.id = id
      self.generation = generation
      self.owner = owner
      self.isOwned = isOwned
      self.body = body
    }

    /// Kept alive by a trigger during the call; nil if the owner is gone.
    var keptForCall: (any AnyObject & Sendable)? { owner }
    var isUnowned: Bool { owner == nil || isOwned?() == false }
  }

  private struct State {
    var lastGeneration: UInt64 = 0
    var order: [Registration] = []
    var byOwner: [ObjectIdentifier: Registration] = [:]
    /// The number of registrations that starts a search for those without an owner.
    var limit = lowestLimit
    static var lowestLimit: Int { 32 }

    mutating func remove(_ registration: Registration) {
      byOwner[registration.id] = nil
      order.removeAll { $0 === registration }
      registration.isCurrent.store(false, ordering: .releasing)
    }

    /// Puts `new` in the place of `old`, or at the end if `old` belonged to a former object at the same address.
    mutating func add(_ new: Registration, replacing old: Registration?) {
      if let old, !old.isUnowned, let place = order.firstIndex(where: { $0 === old }) {
        order[place] = new
        old.isCurrent.store(false, ordering: .releasing)
      } else {
        if let old { remove(old) }
        order.append(new)
      }
      byOwner[new.id] = new
    }

    mutating func drop(_ unowned: [Registration]) {
      for registration in unowned where byOwner[registration.id] === registration { byOwner[registration.id] = nil }
      order.removeAll { byOwner[$0.id] !== $0 }
      limit = max(Self.lowestLimit, 2 * order.count)
    }
  }

  // Objects that leave the state are released outside the lock: their release may call this handler.
  private let state = Mutex(State())

  /// A handler without closures.
  public init() {}

  /// Calls `body` at each trigger while `owner` lives. `body` should hold `owner` weakly, or it lives forever. This does not
  /// keep the handler alive.
  @discardableResult
  public func add(_ owner: any AnyObject & Sendable, _ body: @escaping Body) -> Canceller {
    add(owner, as: ObjectIdentifier(owner), body)
  }

  /// The same for an owner known by `id`. If that is not `owner`, which triggers keep alive during the call, `isOwned` tells
  /// whether it lives, on any thread and under a lock of this handler.
  func add(
    _ owner: any AnyObject & Sendable, as id: ObjectIdentifier, isOwned: (@Sendable () -> Bool)? = nil, _ body: @escaping Body
  ) -> Canceller {
    let (generation, old, due) = state.withLock { state in
      state.lastGeneration += 1
      let old = state.byOwner[id]
      state.add(Registration(id, owner, state.lastGeneration, isOwned: isOwned, body), replacing: old)
      return (state.lastGeneration, old, state.order.count > state.limit ? state.order : [])
    }
    withExtendedLifetime(old) {}
    dropUnowned(of: due)
    return { [weak self] in self?.remove(id, generation) }
  }

  /// Drops registrations without an owner, once they may be half of all: a handler that is never triggered must not grow by
  /// them.
  ///
  /// Looks without the lock: the check may release an owner's last reference, and its deinit may call this handler.
  private func dropUnowned(of due: [Registration]) {
    guard !due.isEmpty else { return }
    let unowned = due.filter(\.isUnowned)
    state.withLock { $0.drop(unowned) }
    withExtendedLifetime(due) {}
  }

  /// Calls the closures with `value`.
  public func trigger(_ value: Value) {
    // A span lends the registrations: a loop over the array would retain and release each.
    let order = state.withLock { $0.order }
    let registrations = order.span
    for place in registrations.indices { call(registrations[place], value) }
  }

  private func call(_ registration: Registration, _ value: Value) {
    guard let owner = registration.keptForCall else { return remove(registration.id, registration.generation) }
    // Separate branches: a closure chosen from two places would be retained for its call.
    if registration.isCurrent.load(ordering: .acquiring) {
      registration.body(value)
    } else if let successor = present(registration.id) {
      // An earlier closure gave the owner this one.
      successor.body(value)
    }
    withExtendedLifetime(owner) {}
  }

  /// The number of registered, living owners.
  public var count: Int { state.withLock { $0.order }.count { !$0.isUnowned } }

  /// Removes every closure.
  public func removeAll() {
    let removed = state.withLock { state in
      let removed = state
      for registration in removed.order { registration.isCurrent.store(false, ordering: .releasing) }
      state.order = []
      state.byOwner = [:]
      return removed
    }
    withExtendedLifetime(removed) {}
  }

  private func present(_ id: ObjectIdentifier) -> Registration? { state.withLock { $0.byOwner[id] } }

  private func remove(_ id: ObjectIdentifier, _ generation: UInt64) {
    let removed = state.withLock { state -> Registration? in
      guard let registration = state.byOwner[id], registration.generation == generation else { return nil }
      state.remove(registration)
      return registration
    }
    withExtendedLifetime(removed) {}
  }
}

extension Handler where Value == Void {
  /// Calls the closures.
  public func trigger() { trigger(()) }
}
