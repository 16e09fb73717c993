public import CofferDefaults
public import CofferPlatform
public import CofferStorage

/// Values by name, in any store: two methods for primitives and whole structures.
///
/// A store conforms without code; ``PersistentStorage`` hides the rest of a store's interface, and prefixes names. Nothing
/// checks names given here: declare a container for each, or better a key in a `KeySpace`.
public protocol KeyValueStorage<R>: Sendable {
  /// The route of the values.
  associatedtype R: Route
  /// The store of the values.
  var store: any Store<R> { get }
}

extension KeyValueStorage where Self: Store {
  /// The store itself.
  public var store: any Store<R> { self }
}

extension DefaultsStore: KeyValueStorage {}
extension MemoryStore: KeyValueStorage {}
extension CacheStore: KeyValueStorage {}

extension KeyValueStorage where R == Plain {
  /// The value stored under `key`; nil if there is none.
  ///
  /// - Throws: `StoreError` `.undecodable` if it is of another type, and the store's errors.
  public func value<Value: PlainValue>(of type: Value.Type = Value.self, forKey key: String) throws(StoreError) -> Value? {
    try store.value(for: StorageKey(key, of: type))
  }

  /// Stores `value` under `key`; nil removes.
  ///
  /// - Throws: `StoreError` `.unencodable`, and the store's errors; nothing has changed then.
  public func setValue<Value: PlainValue>(_ value: Value?, forKey key: String) throws(StoreError) {
    try store.set(value, for: StorageKey(key, of: Value.self))
  }

  /// A container for the value under `key`.
  ///
  /// - Parameters:
  ///   - key: the name; by default that of the enclosing computed property. A stored property or a function has no name to
  ///     give, and two properties of one name, such as private ones in two files, would share the value. Such a container
  ///     refuses reads and writes, and its error says where it was made. Of two, the first one used works.
  ///   - defaultValue: the value while nothing is stored.
  ///   - property: the enclosing property, as the compiler names it.
  ///   - fileID: the file of the call.
  ///   - line: the line of the call.
  public func makeContainer<Value: PlainValue>(
    key: String? = nil, defaultValue: Value? = nil, property: String = #function, fileID: String = #fileID, line: Int = #line
  ) -> KeyValueContainer<Value> {
    let name = ContainerName(key, property, Value.self, DeclarationSite(fileID: fileID, line: line), in: store)
    return KeyValueContainer(
      name: name, defaultValue: defaultValue,
      handle: PersistedValues.Checked(
        base: store.persistedValue(for: StorageKey(name.text, of: Value.self, fileID: fileID, line: line)), refusal: name.refusal
      ).eraseToAnyPersistedValue())
  }
}

extension KeyValueStorage where R == Vault {
  /// The value stored under `key`; nil if there is none.
  ///
  /// - Throws: `StoreError` `.undecodable` if it is of another type, `.locked`, and the store's errors.
  public func value<Value: Codable & Sendable>(of type: Value.Type = Value.self, forKey key: String) throws(StoreError) -> Value?
  {
    try store.value(for: StorageKey(key, vaulted: type))
  }

  /// Stores `value` under `key`; nil removes.
  ///
  /// - Throws: `StoreError` `.unencodable`, `.locked`, and the store's errors; nothing has changed then.
  public func setValue<Value: Codable & Sendable>(_ value: Value?, forKey key: String) throws(StoreError) {
    try store.set(value, for: StorageKey(key, vaulted: Value.self))
  }

  /// A container for the value under `key`, whose failures, including a locked vault's, go to `onFailure`.
  ///
  /// - Parameters:
  ///   - key: the name; by default that of the enclosing computed property.
  ///   - substitute: the result of a failed read.
  ///   - property: the enclosing property, as the compiler names it.
  ///   - fileID: the file of the call.
  ///   - line: the line of the call.
  ///   - onFailure: called with the error of each failed read and write.
  public func makeContainer<Value: Codable & Sendable>(
    key: String? = nil, use substitute: Value?, property: String = #function, fileID: String = #fileID, line: Int = #line,
    onFailure: @escaping @Sendable (StoreError) -> Void
  ) -> KeyValueContainer<Value> {
    let name = ContainerName(key, property, Value.self, DeclarationSite(fileID: fileID, line: line), in: store)
    let stored = store.persistedValue(for: StorageKey(name.text, vaulted: Value.self, fileID: fileID, line: line))
    return KeyValueContainer(
      name: name, defaultValue: nil,
      handle: PersistedValues.Checked(base: stored.onFailure(use: substitute, onFailure), refusal: name.refusal)
        .eraseToAnyPersistedValue())
  }
}

/// A container's name: given, or the enclosing property's.
struct ContainerName: Sendable {
  let text: String
  /// The reason why a derived name is invalid.
  let refusal: StoreError?

  init<R>(_ written: String?, _ derived: String, _ type: Any.Type, _ site: DeclarationSite, in store: any Store<R>) {
    text = written ?? derived
    refusal =
      written == nil
      ? Self.refusal(of: derived, "\(site)") ?? ContainerSites.refusal(of: derived, type, at: site, in: store) : nil
  }

  // `#function` is the name of a computed property. In the initializer of a stored property it is the type's name, which all
  // its containers would share; in a function it has parentheses.
  private static func refusal(of name: String, _ site: String) -> StoreError? {
    let isType = name.first?.isUppercase == true
    guard isType || name.contains("(") else { return nil }
    return StoreError(
      .invalidName, "'\(name)' is the name of \(isType ? "a type" : "a function") and not of a property, at \(site)", key: name,
      cure: "make the container in a computed property, or pass key:")
  }
}

extension KeyValueStorage where R == Plain {
  /// The asynchronous form of ``setValue(_:forKey:)``.
  nonisolated(nonsending) public func setValue<Value: PlainValue>(_ value: Value?, forKey key: String) async throws(StoreError) {
    try await CallQueues.call(within: nil) { () throws(StoreError) in try self.setValue(value, forKey: key) }
  }
}

extension KeyValueStorage where R == Vault {
  /// The asynchronous form of ``value(of:forKey:)``.
  nonisolated(nonsending) public func value<Value: Codable & Sendable>(
    of type: Value.Type = Value.self, forKey key: String
  ) async throws(StoreError) -> Value? {
    try await CallQueues.call(within: nil, isRead: true) { () throws(StoreError) in try self.value(forKey: key) }
  }

  /// The asynchronous form of ``setValue(_:forKey:)``.
  nonisolated(nonsending) public func setValue<Value: Codable & Sendable>(_ value: Value?, forKey key: String)
    async throws(StoreError)
  {
    try await CallQueues.call(within: nil) { () throws(StoreError) in try self.setValue(value, forKey: key) }
  }
}
