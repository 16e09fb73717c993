public import CofferPlatform
public import CofferStorage
public import Observation
internal import Synchronization

/// A preference as a model for views: its present value, and every change by this process or another.
///
/// ```swift
/// let theme = try app.observable(keys.theme)
/// withObservationTracking { view.apply(theme.value) } onChange: { … }
/// theme.value = .dark
/// ```
///
/// It belongs to the main actor. Reads come from memory; an assignment stores the value before it returns. A released model
/// stops following the store.
///
/// A failure goes to ``/CofferStorage/ValueFailures``, and the value stays unchanged.
@MainActor
public final class ObservableValue<Value: Sendable>: Observable {
  private let router: StorageRouter
  private let key: StorageKey<Value, Plain>
  private let registrar = ObservationRegistrar()
  private var current: Value
  private let cancel = Mutex<Handler<Void>.Canceller?>(nil)

  fileprivate init(_ key: StorageKey<Value, Plain>, in router: StorageRouter) throws(StoreError) {
    self.router = router
    self.key = key
    current = key.defaultValue
    let cancel = try router.observe(key, on: .shared, owner: self) { box, found in box.take(found) }
    self.cancel.withLock { $0 = cancel }
  }

  deinit { cancel.withLock { $0.take() }?() }

  /// The value. Setting it stores it; setting nil removes it.
  ///
  /// `value += 1` starts from the last seen value, and overwrites a later write by another process. `update` does not.
  public var value: Value {
    get {
      registrar.access(self, keyPath: \.value)
      return current
    }
    set {
      take(
        Result { () throws(StoreError) in
          try router.set(newValue, for: key)
          return try router.value(for: key)
        })
    }
  }

  /// Changes the value in one step, even if others write: see `StorageRouter.update(_:_:)`.
  ///
  /// - Throws: ``/CofferPlatform/StoreError``, or the error of `body`; nothing has changed then.
  public func update(_ body: (inout Value) throws -> Void) throws {
    try router.update(key, body)
    takePresent()
  }

  /// The same for a closure that throws nothing or declares `throws(StoreError)`.
  public func update(_ body: (inout Value) throws(StoreError) -> Void) throws(StoreError) {
    try router.update(key, body)
    takePresent()
  }

  private func takePresent() { take(Result { () throws(StoreError) in try router.value(for: key) }) }

  private func take(_ found: Result<Value, StoreError>) {
    do throws(StoreError) {
      let new = try found.get()
      if let known = current as? any Equatable, known.isEqual(to: new) {
        // Equal, but stored differently: text in another Unicode spelling, or a value that compares only a part of itself.
        current = new
        return
      }
      registrar.withMutation(of: self, keyPath: \.value) { current = new }
    } catch { ValueFailures.report(error) }
  }
}

extension StorageRouter {
  /// The value of a plain key as a model for views.
  ///
  /// - Throws: the errors of ``/CofferStorage/StorageRouter/changes(of:)``.
  @MainActor
  public func observable<Value>(_ key: StorageKey<Value, Plain>) throws(StoreError) -> ObservableValue<Value> {
    try ObservableValue(key, in: self)
  }

  /// Forbidden: a locked vault would read as nil, and a secret would stay in memory as long as the model.
  @available(
    *, unavailable,
    message: "a value of the vault may be out of reach, and is not kept in memory: use try app.observe(key, on: .shared, owner:)"
  )
  @MainActor
  public func observable<Value>(_ key: StorageKey<Value, Vault>) throws(StoreError) -> ObservableValue<Value> {
    fatalError("unavailable")
  }
}
