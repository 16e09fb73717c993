internal import Synchronization

/// A list of closures, each bound to an owner, that are called when something happens.
///
/// ```swift
/// let userChanged = Handler<User?>()
/// userChanged.add(self) { [weak self] user in self?.show(user) }
/// userChanged.trigger(user)
/// ```
///
/// - Each owner has one closure; adding another replaces it, in its place. Owners are held weakly: the closure of one that is
///   gone is never called again, and is dropped at the next trigger.
/// - ``trigger(_:)`` calls the closures on the calling thread, one after the other, in the order in which their owners were
///   added. It calls those of the owners that were there when it began and still are.
/// - Any call may be made from inside a closure, `trigger` included: no lock is held while a closure runs.
/// - All calls may come from any thread. A closure that has begun on one thread is not stopped by its removal on another.
/// - A closure that belongs to the main actor is added with ``add(_:on:_:)``, and called there.
public final class Handler<Value>: Sendable {
  /// Removes the one registration it was returned for, and no later one of the same owner. Does nothing the second time, or
  /// once the handler is gone.
  public typealias Canceller = @Sendable () -> Void
  /// The closure of an owner.
  public typealias Body = @Sendable (Value) -> Void

  /// One owner's closure. An object of its own, without weak references to it, because copying a weak reference, or retaining an
  /// object that has one, costs as much as ten calls.
  private final class Registration: Sendable {
    let id: ObjectIdentifier
    /// Tells this registration from others of an owner, and of an object that came to lie where a former owner lay.
    let generation: UInt64
    private weak let owner: (any AnyObject & Sendable)?
    /// Whether an owner that only the main actor may touch lives; nil where ``owner`` is the one.
    private let isOwned: (@Sendable () -> Bool)?
    let body: Body
    /// False once it was removed or replaced.
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

    /// The object that a trigger keeps alive while it calls the closure; nil if the owner is gone.
    var keptForCall: (any AnyObject & Sendable)? { owner }
    /// Whether the owner is gone.
    var isUnowned: Bool { owner == nil || isOwned?() == false }
  }

  private struct State {
    var lastGeneration: UInt64 = 0
    var order: [Registration] = []
    var byOwner: [ObjectIdentifier: Registration] = [:]
    /// How many registrations there may be before those without an owner are looked for.
    var limit = lowestLimit
    static var lowestLimit: Int { 32 }

    mutating func remove(_ registration: Registration) {
      byOwner[registration.id] = nil
      order.removeAll { $0 === registration }
      registration.isCurrent.store(false, ordering: .releasing)
    }

    /// Puts `new` in the place of `old`, or at the end where that was of a former object that lay where the owner lies now.
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

    /// Drops `unowned`, except for replaced ones.
    mutating func drop(_ unowned: [Registration]) {
      for registration in unowned where byOwner[registration.id] === registration { byOwner[registration.id] = nil }
      order.removeAll { byOwner[$0.id] !== $0 }
      limit = max(Self.lowestLimit, 2 * order.count)
    }
  }

  // What leaves the state is released outside of the lock: a closure's captures may call this handler as they go.
  private let state = Mutex(State())

  /// A handler without closures.
  public init() {}

  /// Calls `body` at each trigger for as long as `owner` lives. `body` should hold `owner` weakly, or it lives for ever. The
  /// handler itself is whoever's that triggers it: this does not keep it.
  @discardableResult
  public func add(_ owner: any AnyObject & Sendable, _ body: @escaping Body) -> Canceller {
    add(owner, as: ObjectIdentifier(owner), body)
  }

  /// The same for an owner that is known by `id`. It may be another object than `owner`, which triggers keep alive while they
  /// call `body`: then `isOwned` says, on any thread and under a lock of this handler, whether it lives.
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

  /// Drops those whose owners are gone, once they may be half of all: a handler that is never triggered must not grow by them.
  ///
  /// Without the lock while it looks: a look may hold the last reference to an owner, which may call this handler as it goes.
  private func dropUnowned(of due: [Registration]) {
    guard !due.isEmpty else { return }
    let unowned = due.filter(\.isUnowned)
    state.withLock { $0.drop(unowned) }
    withExtendedLifetime(due) {}
  }

  /// Calls the closures with `value`.
  public func trigger(_ value: Value) {
    // Lent by a span: a registration that a loop takes from the array is retained and released.
    let order = state.withLock { $0.order }
    let registrations = order.span
    for place in registrations.indices { call(registrations[place], value) }
  }

  private func call(_ registration: Registration, _ value: Value) {
    guard let owner = registration.keptForCall else { return remove(registration.id, registration.generation) }
    // Each in a branch of its own: a closure chosen from two places would be retained for its call.
    if registration.isCurrent.load(ordering: .acquiring) {
      registration.body(value)
    } else if let successor = present(registration.id) {
      // An earlier closure gave the owner this one.
      successor.body(value)
    }
    withExtendedLifetime(owner) {}
  }

  /// How many owners are registered and alive.
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
