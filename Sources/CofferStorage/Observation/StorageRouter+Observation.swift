public import CofferPlatform

extension StorageRouter {
  /// The values of `keys` now and whenever they change, whoever changes them: see ``ValueChanges``. Several keys are read at one
  /// moment, as by ``values(_:)``.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/undeclared``; ``/CofferPlatform/StoreError/Kind/closed`` of a store that is
  ///   closed; what ``ChangeFeed/subscribe(_:)`` throws where watching cannot begin. What else a read throws is an element of the
  ///   sequence.
  public func changes<each V: Sendable, each R>(
    of keys: repeat StorageKey<each V, each R>
  ) throws(StoreError) -> ValueChanges<(repeat each V)> {
    var plainNames: Set<String> = [], vaultNames: Set<String> = []
    for key in repeat each keys {
      let names = try isSettled(key) ? [key.name] : key.names
      if key.route == Plain.self { plainNames.formUnion(names) } else { vaultNames.formUnion(names) }
    }
    try checkOpen(repeat each keys)
    let source = ValueSource()
    try source.follow(plain.changes, plainNames)
    try source.follow(vault.changes, vaultNames)
    sequences.add(source) { [weak source] in source?.end() }
    return ValueChanges(source: source) { [self] in
      let snapshot = Transaction(on: self)
      do throws(StoreError) {
        repeat try snapshot.want(each keys)
        try load(snapshot)
        let values = (repeat try snapshot.value(for: each keys))
        var seen: [SeenValue] = []
        for (key, value) in repeat (each keys, each values) { seen.append(snapshot.seen(value, of: key)) }
        return .init(element: .success(values), sight: .values(seen))
      } catch { return .init(element: .failure(error), sight: Sight(error)) }
    }
  }

  /// Nothing follows in a closed store, and its error would be told to nobody: the feed has ended before the first element.
  private func checkOpen<each V: Sendable, each R>(_ keys: repeat StorageKey<each V, each R>) throws(StoreError) {
    let snapshot = Transaction(on: self)
    do throws(StoreError) {
      repeat try snapshot.want(each keys)
      try load(snapshot)
    } catch { if error.kind == .closed { throw error } }
  }

  /// Calls `body` with the value of `key` now, and then whenever it is another, whoever changes it, for as long as `owner` lives.
  /// An owner has one closure for each key; a second one takes the place of the first.
  ///
  /// It is called with the present value on the calling thread, before this returns, and later on a queue of the store's, one
  /// call after the other. It never gets the same value twice in a row, and of changes in quick succession it may get the last
  /// alone: see ``ValueChanges``, whose elements it gets. It may use the router, and where the value cannot be read it gets the
  /// error.
  ///
  /// The observation keeps the router alive. It ends with `owner`, when the router or the store is closed, and by what is
  /// returned; what it held is released then, after an owner's end at the next change or within about a minute.
  ///
  /// - Returns: what ends it before `owner` does.
  /// - Throws: what ``changes(of:)`` throws.
  @discardableResult
  public func observe<V, R>(
    _ key: StorageKey<V, R>, owner: any AnyObject & Sendable,
    _ body: @escaping @Sendable (Result<V, StoreError>) -> Void
  ) throws(StoreError) -> Handler<Void>.Canceller {
    try changes(of: key).observe(self, as: key.name, by: owner, body)
  }

  /// The same on the main actor, for what belongs to it: a window, a view's model, any object there, `Sendable` or not.
  ///
  /// ```swift
  /// try app.observe(keys.theme, on: .shared, owner: self) { window, theme in window.apply(theme) }
  /// ```
  ///
  /// `body` gets the owner, which is held weakly, and so need not capture it. It is called with the present value before this
  /// returns, and later whenever the main actor has a turn and the value is another. Otherwise it keeps the rules of
  /// ``observe(_:owner:_:)``; an owner has one closure for each key, by either call. `actor` is `.shared`.
  ///
  /// - Returns: what ends it before `owner` does.
  /// - Throws: what ``changes(of:)`` throws.
  @MainActor @discardableResult
  public func observe<V, R, Owner: AnyObject>(
    _ key: StorageKey<V, R>, on actor: MainActor, owner: Owner,
    _ body: @escaping @MainActor (Owner, Result<V, StoreError>) -> Void
  ) throws(StoreError) -> Handler<Void>.Canceller {
    try changes(of: key).observe(self, as: key.name, onMainBy: owner, body)
  }

  /// Ends every sequence of ``changes(of:)`` and every observation of ``observe(_:owner:_:)``. The stores go on.
  public func endObservation() { sequences.trigger() }
}

extension Transaction {
  /// What tells `value`, which this snapshot has of `key`, from the next.
  fileprivate func seen<V, R>(_ value: V, of key: StorageKey<V, R>) -> SeenValue {
    SeenValue(R.self == Plain.self ? value : nil, stored: [R.side(of: self).seen(key.names)])
  }
}

extension TransactionSide {
  /// What stands under the first of `names` that has a value.
  fileprivate func seen(_ names: [String]) -> any Equatable & Sendable {
    let readings = names.compactMap { self.readings[$0] }
    let present = readings.first { $0.form != nil } ?? readings.first
    return present?.seen ?? RecordVersion.absent
  }
}
