package import CofferPlatform

extension StorageRouter {
  /// The values that a program registers for its preferences when it opens a router: what a key reads as while neither the domain nor a
  /// suite has a value. They stand in the source, so there are none for secrets, and they are not stored.
  ///
  /// ```swift
  /// let app = try StorageRouter.open("com.example.app", keys: keys) { $0.register(30, for: keys.refreshSeconds) }
  /// ```
  ///
  /// A registered value stands before the default that the key itself declares: a program registers what only it knows, the size of a screen
  /// for example, for keys that are declared elsewhere.
  public struct Registration {
    private var forms: [String: PlainForm] = [:]
    private var keys: [any DeclaredKey] = []
    private var failure: StoreError?

    package init() {}

    /// Registers `value` for `key`; the last one counts, and nil is none. A value that cannot be encoded, or a key that is in none of the
    /// router's spaces, is what opening the router throws.
    public mutating func register<Value>(_ value: Value, for key: StorageKey<Value, Plain>) {
      keys.append(key)
      do throws(StoreError) { forms[key.name] = try key.form(of: value) } catch { failure = failure ?? error }
    }

    /// Forbidden: a secret in source is no secret.
    @available(
      *, unavailable,
      message: "a registered value stands in the source, and a secret in source is none: set the key instead"
    )
    public mutating func register<Value>(_ value: Value, for key: StorageKey<Value, Vault>) { fatalError("unavailable") }

    /// What was registered, for a router with `spaces`.
    ///
    /// - Throws: `.undeclared`, and what encoding a value threw.
    package func forms(of spaces: [any KeySpace]) throws(StoreError) -> [String: PlainForm] {
      if let failure { throw failure }
      let declared = spaces.flatMap(\.declaredKeys)
      for key in keys where !declared.contains(where: { $0.site == key.site && $0.owns(key.name) }) {
        throw StoreError(
          .undeclared, "a value is registered for a key that is not among the key spaces given at open; declared at \(key.site)",
          key: key.name, cure: "give its key space to the router's keys: argument too")
      }
      return forms
    }
  }
}
