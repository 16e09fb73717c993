public import CofferStorage
internal import CofferPlatform

extension StorageRouter {
  /// The value of a plain key, without `try`.
  ///
  /// ```swift
  /// if app[keys.theme] == .dark { … }
  /// app[keys.theme] = .light
  /// try app.update(keys.launches) { $0 += 1 }
  /// ```
  ///
  /// A failure goes to ``/CofferStorage/ValueFailures``, and a failed read returns the key's default. To handle a failure on
  /// the spot, use ``/CofferStorage/StorageRouter/value(for:)`` and ``/CofferStorage/StorageRouter/set(_:for:)``.
  public subscript<Value>(key: StorageKey<Value, Plain>) -> Value {
    do throws(StoreError) { return try value(for: key) } catch {
      ValueFailures.report(error)
      return key.defaultValue
    }
  }

  /// Stores the value of a plain key, or removes it when it is nil. `+=` does not compile: it would read and write in two
  /// steps, between which another thread or process may write.
  public subscript<Value>(key: StorageKey<Value, Plain>, _: Void = ()) -> Value {
    @available(
      *, unavailable,
      message: "this would read and write in two steps: use try app.update(key) { $0 += 1 }, which is one"
    )
    get { fatalError("unavailable") }
    set {
      do throws(StoreError) { try set(newValue, for: key) } catch { ValueFailures.report(error) }
    }
  }

  /// Forbidden: a locked vault would read as nil.
  @available(
    *, unavailable,
    message: "a value of the vault may be out of reach, and nil does not say so: use try app.value(for: key)"
  )
  public subscript<Value>(key: StorageKey<Value, Vault>) -> Value {
    get { fatalError("unavailable") }
    set { fatalError("unavailable") }
  }
}
