public import CofferPlatform

/// The view of a `transaction` closure: it reads from the stores and keeps its writes until the closure returns.
///
/// It ends with the closure. Calls on an escaped transaction throw ``/CofferPlatform/StoreError/Kind/closed``.
public final class Transaction {
  let plain: TransactionSide<Plain>
  let vault: TransactionSide<Vault>
  let router: StorageRouter
  /// By key, the former values that leave with replaced values.
  var former: [String: FormerValues] = [:]
  private var isOver = false

  init(on router: StorageRouter) {
    self.router = router
    plain = TransactionSide(store: router.plainStore)
    vault = TransactionSide(store: router.vaultStore)
  }

  /// The value of `key`: the one set by this transaction, else the stored one, else the default.
  ///
  /// - Throws: the errors of ``StorageRouter/value(for:)``.
  public func value<V, R>(for key: StorageKey<V, R>) throws(StoreError) -> V {
    let isSettled = try isSettled(key), side = R.side(of: self)
    do { return try key.read(isSettled ? side.form(key.name) : side.unmovedForm(key)) } catch {
      throw R.store(of: router).told(error, of: key.name)
    }
  }

  /// Sets `key`, or removes it when `value` is nil, once the transaction commits.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/unencodable``, ``/CofferPlatform/StoreError/Kind/tooLarge(limit:)``.
  public func set<V, R>(_ value: V, for key: StorageKey<V, R>) throws(StoreError) {
    let form = try key.form(of: value)
    let former = try admitReplacing(key)
    // A closure that catches this error has set nothing. The former value stays too.
    if key.traits.endsWithSession { try noteSession(key) }
    if let former { drop(former, of: key.name) }
    R.side(of: self).writes[key.name] = Write(form)
  }

  /// Removes the value of `key`, once the transaction commits.
  public func remove<V, R>(_ key: StorageKey<V, R>) throws(StoreError) {
    if let former = try admitReplacing(key) { drop(former, of: key.name) }
    R.side(of: self).writes[key.name] = .remove
  }

  /// Changes the value of `key`, once the transaction commits. It starts with the result of ``value(for:)``, but neither
  /// reads nor writes an override.
  ///
  /// - Throws: ``/CofferPlatform/StoreError``, or the error of `body`; this transaction's value of the key is then unchanged.
  public func update<V, R>(_ key: StorageKey<V, R>, _ body: (inout V) throws -> Void) throws {
    try updating(key, body).get()
  }

  /// The same for a closure that throws nothing or declares `throws(StoreError)`.
  public func update<V, R>(_ key: StorageKey<V, R>, _ body: (inout V) throws(StoreError) -> Void) throws(StoreError) {
    try updating(key, body).get()
  }

  private func updating<V, R, Failure>(
    _ key: StorageKey<V, R>, _ body: (inout V) throws(Failure) -> Void
  ) throws(StoreError) -> Result<Void, Failure> {
    if try !replaces(key) { try router.admit(key) }
    let form: R.Form?
    var value: V
    do throws(StoreError) {
      form = try R.side(of: self).base(key.name)
      value = try key.read(form)
    } catch { throw error.about(key: key.name) }
    do throws(Failure) { try body(&value) } catch { return .failure(error) }
    // An unchanged value stays in its layer, perhaps a suite.
    if let form = form as? PlainForm, try key.form(of: value) as? PlainForm == form { return .success(()) }
    try set(value, for: key)
    return .success(())
  }

  /// Notes a coming read of `key`, so that all such keys load at once.
  func want<V, R>(_ key: StorageKey<V, R>) throws(StoreError) {
    R.side(of: self).wanted += try isSettled(key) ? [key.name] : key.names
  }

  func end() { isOver = true }

  private func admitReplacing<V, R>(_ key: StorageKey<V, R>) throws(StoreError) -> FormerValues? {
    try checkIsOn(key.name)
    return try key.admitReplacing(on: router)
  }

  private func isSettled<V, R>(_ key: StorageKey<V, R>) throws(StoreError) -> Bool {
    if try replaces(key) { return true }
    return try router.isSettled(key)
  }

  /// Whether the closure replaced an unmovable former value. It then reads its own value.
  private func replaces<V, R>(_ key: StorageKey<V, R>) throws(StoreError) -> Bool {
    try checkIsOn(key.name)
    return former[key.name] != nil
  }

  private func checkIsOn(_ name: String) throws(StoreError) {
    guard isOver else { return }
    throw StoreError(.closed, "the transaction is over", key: name, cure: "use it only inside the closure it was handed to")
  }
}

/// A transaction's reads and writes in one store.
public final class TransactionSide<R: Route> {
  private let store: any Store<R>
  private(set) var readings: [String: Reading<R>] = [:]
  private var expectations: [String: R.Stamp] = [:]
  var wanted: [String] = []
  var writes: [String: Write<R.Form>] = [:]

  init(store: any Store<R>) { self.store = store }

  var isTouched: Bool { !readings.isEmpty || !writes.isEmpty || !wanted.isEmpty || !expectations.isEmpty }

  /// The writes, applied only if everything that was read still stands.
  var batch: Batch<R> {
    var batch = Batch<R>()
    batch.expectations = expectations.merging(readings.mapValues(\.stamp)) { expected, _ in expected }
    batch.writes = writes
    return batch
  }

  func expect(_ stamp: R.Stamp, of name: String) { expectations[name] = stamp }

  func form(_ name: String) throws(StoreError) -> R.Form? {
    // The first test saves most reads from making the type of an optional write at run time.
    if !writes.isEmpty, let write = writes[name] { return write.form }
    return try reading(name).form
  }

  func unmovedForm<V>(_ key: StorageKey<V, R>) throws(StoreError) -> R.Form? {
    if let write = writes[key.name] { return write.form }
    var readings: [Reading<R>] = []
    for name in key.names { readings.append(try reading(name)) }
    return key.unmovedForm(in: readings)
  }

  func stored(_ name: String) throws(StoreError) -> R.Form? {
    if let write = writes[name] { return write.form }
    return R.stored(try reading(name))
  }

  func base(_ name: String) throws(StoreError) -> R.Form? {
    if let write = writes[name] { return write.form }
    return try reading(name).base
  }

  func loadWanted() throws(StoreError) {
    guard let first = wanted.first else { return }
    do {
      for (name, reading) in zip(wanted, try store.load(wanted)) { readings[name] = reading }
    } catch { throw [.locked, .noAgent].contains(error.kind) ? error.about(key: first) : error }
  }

  // A value that was read once stays the same for the rest of the closure; the commit compares it.
  private func reading(_ name: String) throws(StoreError) -> Reading<R> {
    if !readings.isEmpty, let reading = readings[name] { return reading }
    let reading = try store.load([name])[0]
    readings[name] = reading
    return reading
  }
}
