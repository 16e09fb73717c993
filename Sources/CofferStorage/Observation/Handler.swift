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
/// - ``trigger(_:)`` calls the closures on the calling thread, one after the other, in the order in which their owners were added.
///   It calls those of the owners that were there when it began and still are.
/// - Any call may be made from inside a closure, `trigger` included: no lock is held while a closure runs.
/// - All calls may come from any thread. A closure that has begun on one thread is not stopped by its removal on another.
public final class Handler<Value>: Sendable {
  /// Removes the one registration it was returned for, and no later one of the same owner. Does nothing the second time, or
  /// once the handler is gone.
  public typealias Canceller = @Sendable () -> Void
  /// What is called.
  public typealias Body = @Sendable (Value) -> Void

  private struct Entry: Sendable {
    weak var owner: (any AnyObject & Sendable)?
    /// Tells this registration from others of an owner, and of an object that came to lie where a former owner lay.
    let generation: UInt64
    let body: Body
  }

  private struct State {
    var lastGeneration: UInt64 = 0
    var order: [ObjectIdentifier] = []
    var entries: [ObjectIdentifier: Entry] = [:]

    mutating func remove(_ id: ObjectIdentifier) -> Entry? {
      guard let entry = entries.removeValue(forKey: id) else { return nil }
      order.removeAll { $0 == id }
      return entry
    }
  }

  // What leaves the state is released outside of the lock: a closure's captures may call this handler as they go.
  private let state = Mutex(State())

  /// A handler without closures.
  public init() {}

  /// Calls `body` at each trigger for as long as `owner` lives. `body` should hold `owner` weakly, or it lives for ever.
  @discardableResult
  public func add(_ owner: any AnyObject & Sendable, _ body: @escaping Body) -> Canceller {
    let id = ObjectIdentifier(owner)
    let (generation, replaced) = state.withLock { state in
      // The place of a former object that lay here is not the owner's.
      var replaced = state.entries[id]
      if replaced?.owner == nil { replaced = state.remove(id) }
      if state.entries[id] == nil { state.order.append(id) }
      state.lastGeneration += 1
      state.entries[id] = Entry(owner: owner, generation: state.lastGeneration, body: body)
      return (state.lastGeneration, replaced)
    }
    withExtendedLifetime(replaced) {}
    return { [weak self] in self?.remove(id, generation) }
  }

  /// Calls the closures with `value`.
  public func trigger(_ value: Value) {
    let present = state.withLock { state in state.order.compactMap { id in state.entries[id].map { (id, $0) } } }
    for (id, entry) in present {
      guard let owner = entry.owner else {
        remove(id, entry.generation)
        continue
      }
      // An earlier closure may have removed this one or given it a successor.
      guard let current = state.withLock({ $0.entries[id] }), current.owner === owner else { continue }
      current.body(value)
    }
  }

  /// How many owners are registered and alive.
  public var count: Int {
    let entries = state.withLock { $0.entries }
    return entries.values.count { $0.owner != nil }
  }

  /// Removes every closure.
  public func removeAll() {
    let removed = state.withLock { state in
      let entries = state.entries
      state.entries = [:]
      state.order = []
      return entries
    }
    withExtendedLifetime(removed) {}
  }

  private func remove(_ id: ObjectIdentifier, _ generation: UInt64) {
    let removed = state.withLock { state in state.entries[id]?.generation == generation ? state.remove(id) : nil }
    withExtendedLifetime(removed) {}
  }
}

extension Handler where Value == Void {
  /// Calls the closures.
  public func trigger() { trigger(()) }
}
