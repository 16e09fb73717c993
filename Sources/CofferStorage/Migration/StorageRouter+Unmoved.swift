public import CofferPlatform
public import Synchronization

// Where nothing can be written, a renamed value stays where an older program left it, and is read there.
extension StorageRouter {
  /// Admits a key that is about to be read. False where its value can be read under a former name but not moved.
  @inlinable
  package func isSettled<V, R>(_ key: StorageKey<V, R>) throws(StoreError) -> Bool {
    if key.declaration.admittedBy.load(ordering: .relaxed) == id { return true }
    return try settlesForTheFirstTime(key)
  }

  @usableFromInline
  func settlesForTheFirstTime<V, R>(_ key: StorageKey<V, R>) throws(StoreError) -> Bool {
    do { try admitForTheFirstTime(key, false) } catch {
      guard error.kind == .readOnly, migrator.isPending(key.name), try !hasPlainCopy(key) else { throw error }
      return false
    }
    return true
  }

  @usableFromInline
  func unmovedValue<V, R>(for key: StorageKey<V, R>) throws(StoreError) -> V {
    do throws(StoreError) { return try key.read(key.unmovedForm(in: R.store(of: self).load(key.names))) } catch {
      throw error.about(key: key.name)
    }
  }

  /// A secret that still lies in the clear is to be moved before anything else: its reads go on to fail.
  private func hasPlainCopy<V, R>(_ key: StorageKey<V, R>) throws(StoreError) -> Bool {
    guard R.self == Vault.self else { return false }
    return try plain.load(key.names).contains { $0.stamp != nil }
  }
}

extension StorageKey {
  /// The key's name and its former ones, the value of an earlier one first.
  var names: [String] { [name] + traits.formerNames }

  /// What a read gives, of readings of ``names``.
  func unmovedForm(in readings: [Reading<R>]) -> R.Form? {
    let own = readings[0]
    // An override stands above whatever is stored; suites and registered values beneath.
    if case .argument? = own.form as? PlainForm { return own.form }
    return readings.lazy.compactMap { R.stored($0) }.first ?? own.form
  }
}
