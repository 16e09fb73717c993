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

extension StorageRouter {
  /// The plain keys of a key space as properties, read and set like `app[key]`:
  ///
  /// ```swift
  /// let settings = app[keys]
  /// if settings.theme == .dark { settings.theme = .light }
  /// ```
  public subscript<Keys: KeySpace>(keys: Keys) -> Values<Keys> { Values(router: self, keys: keys) }

  /// The values of a key space's plain keys: the result of `app[keys]`.
  @dynamicMemberLookup
  public struct Values<Keys: KeySpace>: Sendable {
    let router: StorageRouter
    let keys: Keys

    /// The value of a plain key.
    public subscript<Value>(dynamicMember key: KeyPath<Keys, StorageKey<Value, Plain>>) -> Value { router[keys[keyPath: key]] }

    /// Stores the value of a plain key, or removes it when it is nil. `& Sendable` alone distinguishes it from the getter.
    @_disfavoredOverload
    public subscript<Value>(dynamicMember key: any KeyPath<Keys, StorageKey<Value, Plain>> & Sendable) -> Value {
      @available(
        *, unavailable,
        message: "this would read and write in two steps: use try app.update(keys.member) { $0 += 1 }, which is one"
      )
      get { fatalError("unavailable") }
      nonmutating set { router[keys[keyPath: key]] = newValue }
    }

    /// Forbidden: a locked vault would read as nil.
    @available(
      *, unavailable,
      message: "a value of the vault may be out of reach, and nil does not say so: use try app.value(for: keys.member)"
    )
    public subscript<Value>(dynamicMember key: KeyPath<Keys, StorageKey<Value, Vault>>) -> Value {
      get { fatalError("unavailable") }
      nonmutating set { fatalError("unavailable") }
    }
  }
}
