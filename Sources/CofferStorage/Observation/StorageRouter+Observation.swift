extension StorageRouter {
  /// The values of `keys` now and whenever they change, whoever changes them: see ``ValueChanges``. Several keys are read at one
  /// moment, as by ``values(_:)``.
  ///
  /// - Throws: ``StoreError/Kind/undeclared``; what ``ChangeFeed/subscribe(_:)`` throws where watching cannot begin. What a
  ///   read throws is an element of the sequence.
  public func changes<each V: Sendable, each R>(
    of keys: repeat StorageKey<each V, each R>
  ) throws(StoreError) -> ValueChanges<(repeat each V)> {
    var plainNames: Set<String> = [], vaultNames: Set<String> = []
    for key in repeat each keys {
      let names = try isSettled(key) ? [key.name] : key.names
      if key.route == Plain.self { plainNames.formUnion(names) } else { vaultNames.formUnion(names) }
    }
    let source = ValueSource()
    try source.follow(plain.changes, plainNames)
    try source.follow(vault.changes, vaultNames)
    sequences.add(source) { [weak source] in source?.end() }
    return ValueChanges(source: source) { [self] in
      let snapshot = Transaction(on: self)
      let element = Result { () throws(StoreError) in
        repeat try snapshot.want(each keys)
        try load(snapshot)
        return (repeat try snapshot.value(for: each keys))
      }
      return .init(element: element, mark: .init(snapshot, element))
    }
  }

  /// Calls `body` with the value of `key` whenever it changes, whoever changes it, for as long as `owner` lives: see ``Handler``.
  /// An owner has one closure for each key. It is not called for the present value.
  ///
  /// `body` is called on a queue of the store's, never on the thread that writes, and may use the router. Where the value cannot be
  /// read it gets the error. Values are read at the call, so of changes in quick succession it may get the last value twice.
  ///
  /// - Returns: what ends it before `owner` does.
  /// - Throws: what ``changes(of:)`` throws.
  @discardableResult
  public func observe<V, R>(
    _ key: StorageKey<V, R>, owner: any AnyObject & Sendable,
    _ body: @escaping @Sendable (Result<V, StoreError>) -> Void
  ) throws(StoreError) -> Handler<Void>.Canceller {
    _ = try isSettled(key)
    let place = KeyObservers.Place(route: ObjectIdentifier(R.self), name: key.name)
    return try observers.add(owner, to: place, of: R.store(of: self).changes) { [weak self] in
      guard let self else { return }
      body(Result { () throws(StoreError) in try value(for: key) })
    }
  }

  /// Ends every sequence of ``changes(of:)`` and drops every closure of ``observe(_:owner:_:)``. The stores go on.
  public func endObservation() {
    sequences.trigger()
    observers.removeAll()
  }
}

extension StorageKey {
  var route: any Route.Type { R.self }
}

extension ValueChanges.Mark {
  init(_ snapshot: Transaction, _ element: ValueChanges.Element) {
    plain = snapshot.plain.readings.mapValues(\.form)
    vault = snapshot.vault.readings.mapValues(\.stamp)
    if case .failure(let error) = element {
      (failure, failedKey) = (error.kind, error.key)
    } else {
      (failure, failedKey) = (nil, nil)
    }
  }
}
