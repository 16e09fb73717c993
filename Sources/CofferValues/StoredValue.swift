public import CofferPlatform
public import CofferStorage
public import FoundationEssentials
internal import Synchronization

extension PersistedValues {
  /// The value of one key, in a store or behind a router.
  public struct Stored<Value: Sendable, R: Route>: ThrowingPersistedValue {
    /// The key's route.
    public typealias Sensitivity = R

    enum Place: Sendable {
      case store(any Store<R>)
      case router(StorageRouter)
    }

    let key: StorageKey<Value, R>
    let place: Place
    /// Nil for vault values, which must not outlive the vault's locking.
    private let last: LastValue<Value>?

    init(_ key: StorageKey<Value, R>, in place: Place) {
      self.key = key
      self.place = place
      last = R.self == Plain.self ? LastValue() : nil
    }

    /// The value now.
    public func load() throws(StoreError) -> Value {
      let value =
        switch place {
        case .store(let store): try store.value(for: key)
        case .router(let router): try router.value(for: key)
        }
      last?.value = value
      return value
    }

    /// Stores a value.
    public func save(_ value: Value) throws(StoreError) {
      switch place {
      case .store(let store): try store.set(value, for: key)
      case .router(let router): try router.set(value, for: key)
      }
    }

    /// Reads, changes and stores.
    public func mutate(_ body: (inout Value) throws -> Void) throws {
      switch place {
      case .store(let store): try store.update(key, body)
      case .router(let router): try router.update(key, body)
      }
    }

    /// Always true.
    public var mutatesAtomically: Bool { true }
    /// Whether the value comes from a vault.
    public var isSecret: Bool { R.self == Vault.self }

    /// The origins of this value's changes.
    public var origins: [ValueOrigin] {
      switch place {
      case .store(let store): [origin(in: store)]
      case .router(let router): [origin(in: R.store(of: router))]
      }
    }

    private func origin(in store: any Store<R>) -> ValueOrigin {
      ValueOrigin(feed: store.changes, name: key.name) { [name = key.name] () throws(StoreError) in try store.look(at: name) }
    }

    fileprivate var lastOrDefault: Value { last?.value ?? key.defaultValue }
  }
}

extension PersistedValues.Stored: PersistedValue where R == Plain {
  /// The value in place of an unreadable one.
  public var fallback: Value { lastOrDefault }
  /// Reports a failure of `wrappedValue`.
  public func report(_ failure: StoreError) { ValueFailures.report(failure) }
}

final class LastValue<Value: Sendable>: Sendable {
  private let storage = Mutex<Value?>(nil)
  var value: Value? {
    get { storage.withLock { $0 } }
    set { storage.withLock { $0 = newValue } }
  }
}

extension StorageRouter {
  /// A handle to the value of a declared key. A vault key's handle has no `wrappedValue` until `onFailure(use:_:)` is called.
  public func persistedValue<Value, R>(for key: StorageKey<Value, R>) -> PersistedValues.Stored<Value, R> {
    PersistedValues.Stored(key, in: .router(self))
  }
}

extension Store {
  /// A handle to the value of `key` in this store.
  public func persistedValue<Value>(for key: StorageKey<Value, R>) -> PersistedValues.Stored<Value, R> {
    PersistedValues.Stored(key, in: .store(self))
  }

  /// A handle to the value under `name`. An operator, such as `.string()`, gives it a type.
  public func persistedValue(forKey name: String) -> PersistedValues.Named<R> { PersistedValues.Named(name: name, store: self) }
}

extension PersistedValues {
  /// A value by name, before it has a type.
  public struct Named<R: Route>: Sendable {
    let name: String
    let store: any Store<R>

    func handle<Value>(_ key: StorageKey<Value, R>) -> Stored<Value, R> { Stored(key, in: .store(store)) }
  }
}

extension PersistedValues.Named where R == Plain {
  /// The property-list value.
  public func form() -> PersistedValues.Stored<PlainForm?, Plain> { handle(StorageKey(raw: name)) }

  /// A value of a plain type, as native property-list structure.
  public func codable<Model: PlainValue>(_ type: Model.Type) -> PersistedValues.Stored<Model?, Plain> {
    handle(StorageKey(name, of: type))
  }

  /// The same as data that `encoder` writes and `decoder` reads.
  public func codable<Model: PlainValue & Codable>(
    _ type: Model.Type, encoder: JSONEncoder, decoder: JSONDecoder
  ) -> PersistedValues.Stored<Model?, Plain> {
    handle(StorageKey(name, of: Data.self).json(type, encoder, decoder))
  }

  /// Text.
  public func string() -> PersistedValues.Stored<String?, Plain> { handle(StorageKey(name, of: String.self)) }

  /// Text, stored as data in `encoding`.
  public func string(using encoding: String.Encoding) -> PersistedValues.Stored<String?, Plain> {
    handle(StorageKey(name, of: Data.self).text(in: encoding))
  }

  /// A boolean, as `UserDefaults` stores it.
  public func bool() -> PersistedValues.Stored<Bool?, Plain> { handle(StorageKey(name, of: Bool.self)) }

  /// An integer, stored as a number. Also reads decimal text.
  public func integer<Number: FixedWidthInteger & PlainValue>(
    _ type: Number.Type = Int.self
  ) -> PersistedValues.Stored<Number?, Plain> {
    handle(StorageKey(name, of: type).upgraded(from: DecimalText<Number>.self, using: \.number))
  }
}

extension PersistedValues.Named where R == Vault {
  /// The sealed bytes and their metadata.
  public func form() -> PersistedValues.Stored<SecretForm?, Vault> { handle(StorageKey(raw: name)) }

  /// Any `Codable` value, handed out unsealed.
  public func codable<Model: Codable & Sendable>(_ type: Model.Type) -> PersistedValues.Stored<Model?, Vault> {
    handle(StorageKey(name, vaulted: type))
  }

  /// The same as data that `encoder` writes and `decoder` reads.
  public func codable<Model: Codable & Sendable>(
    _ type: Model.Type, encoder: JSONEncoder, decoder: JSONDecoder
  ) -> PersistedValues.Stored<Model?, Vault> {
    handle(StorageKey(name, vaulted: Data.self).json(type, encoder, decoder))
  }

  /// Any `Codable` value, handed out sealed.
  public func sealed<Payload: Codable & Sendable>(
    _ type: Payload.Type
  ) -> PersistedValues.Stored<Sealed<Payload>?, Vault> {
    handle(StorageKey(name, secret: type))
  }

  /// Text, stored as its UTF-8.
  public func string() -> PersistedValues.Stored<String?, Vault> { codable(String.self) }

  /// Text in `encoding`.
  public func string(using encoding: String.Encoding) -> PersistedValues.Stored<String?, Vault> {
    handle(StorageKey(name, vaulted: Data.self).text(in: encoding))
  }

  /// A boolean.
  public func bool() -> PersistedValues.Stored<Bool?, Vault> { codable(Bool.self) }

  /// An integer, as decimal text.
  public func integer<Number: FixedWidthInteger & Codable & Sendable>(
    _ type: Number.Type = Int.self
  ) -> PersistedValues.Stored<Number?, Vault> {
    codable(type)
  }
}

/// An integer that another program stored as decimal text.
struct DecimalText<Number: FixedWidthInteger & PlainValue>: PlainValue {
  let number: Number

  init?(plainForm: PlainForm) {
    guard case .string(let text) = plainForm, let number = Number(text) else { return nil }
    self.number = number
  }

  func plainForm() throws -> PlainForm { try number.plainForm() }
}

extension StorageKey where Value == Data? {
  fileprivate func json<Model: Codable & Sendable>(
    _: Model.Type, _ encoder: JSONEncoder, _ decoder: JSONDecoder
  ) -> StorageKey<Model?, R> {
    transcoded(
      absent: nil,
      decode: { (data) throws(StoreError) in
        guard let data else { return nil }
        // The decoder's own error may quote the value: name only the type.
        do { return try decoder.decode(Model.self, from: data) } catch { throw .undecodableData(withArticle("\(Model.self)")) }
      },
      encode: { (model) throws(StoreError) in
        guard let model else { return nil }
        do { return try encoder.encode(model) } catch { throw .unencodable(withArticle("\(Model.self)")) }
      })
  }

  fileprivate func text(in encoding: String.Encoding) -> StorageKey<String?, R> {
    transcoded(
      absent: nil,
      decode: { (data) throws(StoreError) in
        guard let data else { return nil }
        guard let text = String(data: data, encoding: encoding) else { throw .undecodableData("text in that encoding") }
        return text
      },
      encode: { (text) throws(StoreError) in
        guard let text else { return nil }
        guard let data = text.data(using: encoding) else { throw .unencodable("text in that encoding") }
        return data
      })
  }
}

extension StoreError {
  fileprivate static func undecodableData(_ wanted: String) -> StoreError {
    StoreError(
      .undecodable(stored: "data"), "the stored data is not \(wanted)",
      cure: "store it again, or remove the key; nothing was changed")
  }

  fileprivate static func unencodable(_ what: String) -> StoreError {
    StoreError(
      .unencodable, "the value could not be encoded as \(what)", cure: "make its encoding succeed; what was stored is unchanged")
  }
}
