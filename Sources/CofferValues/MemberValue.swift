internal import CofferPlatform
internal import CofferStorage

extension PersistedValues {
  /// One member of a value.
  struct Member<Base: PersistedValue, Value: Sendable>: PersistedValue {
    typealias Sensitivity = Undisclosed
    let base: Base
    let path: any WritableKeyPath<Base.Value, Value> & Sendable

    func load() throws(StoreError) -> Value { try base.load()[keyPath: path] }
    func save(_ value: Value) throws(StoreError) { try base.change { $0[keyPath: path] = value } }
    func mutate(_ body: (inout Value) throws -> Void) throws { try base.mutate { try body(&$0[keyPath: path]) } }
    var mutatesAtomically: Bool { base.mutatesAtomically }
    var isSecret: Bool { base.isSecret }
    var origins: [ValueOrigin] { base.origins }
    var fallback: Value { base.fallback[keyPath: path] }
    func report(_ failure: StoreError) { base.report(failure) }
  }

  /// One member of a value that may be absent: absent too then, and writing it does nothing.
  struct OptionalMember<Base: PersistedValue, Whole: Sendable, Value: Sendable>: PersistedValue where Base.Value == Whole? {
    typealias Sensitivity = Undisclosed
    let base: Base
    let get: @Sendable (Whole) -> Value?
    let set: @Sendable (inout Whole, Value?) -> Void

    func load() throws(StoreError) -> Value? { try base.load().flatMap(get) }

    func save(_ value: Value?) throws(StoreError) {
      try base.change { whole in
        guard var changed = whole else { return }
        set(&changed, value)
        whole = changed
      }
    }

    func mutate(_ body: (inout Value?) throws -> Void) throws {
      try base.mutate { whole in
        var value = whole.flatMap(get)
        try body(&value)
        guard var changed = whole else { return }
        set(&changed, value)
        whole = changed
      }
    }

    var mutatesAtomically: Bool { base.mutatesAtomically }
    var isSecret: Bool { base.isSecret }
    var origins: [ValueOrigin] { base.origins }
    var fallback: Value? { base.fallback.flatMap(get) }
    func report(_ failure: StoreError) { base.report(failure) }
  }
}

extension PersistedValue {
  /// A member of the value: writing it changes that member alone, in one step.
  public subscript<Member: Sendable>(
    dynamicMember path: any WritableKeyPath<Value, Member> & Sendable
  ) -> AnyPersistedValue<Member> {
    AnyPersistedValue(PersistedValues.Member(base: self, path: path))
  }

  /// A member of the value, nil while that is absent. Writing it then does nothing; neither does writing nil, which it cannot hold.
  public subscript<Whole, Member: Sendable>(
    dynamicMember path: any WritableKeyPath<Whole, Member> & Sendable
  ) -> AnyPersistedValue<Member?> where Value == Whole? {
    AnyPersistedValue(
      PersistedValues.OptionalMember<Self, Whole, Member>(
        base: self, get: { $0[keyPath: path] }, set: { whole, value in if let value { whole[keyPath: path] = value } }))
  }

  /// An optional member of the value, nil while that is absent. Writing it then does nothing.
  public subscript<Whole, Member: Sendable>(
    dynamicMember path: any WritableKeyPath<Whole, Member?> & Sendable
  ) -> AnyPersistedValue<Member?> where Value == Whole? {
    AnyPersistedValue(
      PersistedValues.OptionalMember<Self, Whole, Member>(
        base: self, get: { $0[keyPath: path] }, set: { whole, value in whole[keyPath: path] = value }))
  }

  /// Changes the value by what cannot throw.
  fileprivate func change(_ body: (inout Value) -> Void) throws(StoreError) {
    do { try mutate { value in body(&value) } } catch let error as StoreError { throw error } catch {
      throw StoreError(.closureThrew, "the value could not be changed", cure: "see the underlying error", underlying: error)
    }
  }
}
