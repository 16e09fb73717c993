public import CofferStorage

/// A property whose value lives in a store.
///
/// ```swift
/// final class Settings {
///   @Persisted var theme: Theme
///   init(app: StorageRouter) { _theme = Persisted(AppKeys().theme, in: app) }
/// }
/// ```
///
/// The property caches nothing: each access reads or writes the store. Its `$` form is the handle.
@propertyWrapper
public struct Persisted<Value: Sendable>: Sendable {
  /// The handle.
  public let projectedValue: AnyPersistedValue<Value>

  /// The value: see ``PersistedValue/wrappedValue``.
  public var wrappedValue: Value {
    get { projectedValue.wrappedValue }
    nonmutating set { projectedValue.wrappedValue = newValue }
  }

  /// The value of `handle`.
  public init<Handle: PersistedValue>(_ handle: Handle) where Handle.Value == Value {
    projectedValue = handle.eraseToAnyPersistedValue()
  }

  /// The value of a declared key of the plain store.
  public init(_ key: StorageKey<Value, Plain>, in router: StorageRouter) { self.init(router.persistedValue(for: key)) }

  /// Forbidden: a locked vault would read as nil.
  @available(
    *, unavailable,
    message: "say what a locked vault does: Persisted(app.persistedValue(for: key).onFailure(use: nil) { error in … })"
  )
  public init(_ key: StorageKey<Value, Vault>, in router: StorageRouter) { fatalError("unavailable") }
}
