public import CofferPlatform
public import Synchronization

/// What lies under a key's former names and in its plain copies, and cannot be moved. It leaves in the very step that replaces the key's value, so
/// that a step that fails leaves all of it where it was.
@usableFromInline
package struct FormerValues {
  var plain = Batch<Plain>()
  var vault = Batch<Vault>()
  var changes: [Migration.Change] = []
  /// Whether the plain store's files may still say a secret once the values have left.
  var leavesSecrets = false
}

extension StorageRouter {
  /// Admits a key whose value is about to be replaced or removed.
  ///
  /// - Returns: what has to leave with the value; nil where everything has been moved, as nearly always.
  @inlinable
  package func admitReplacing<V, R>(_ key: StorageKey<V, R>) throws(StoreError) -> FormerValues? {
    if key.declaration.admittedBy.load(ordering: .relaxed) == id { return nil }
    return try admitReplacingForTheFirstTime(key)
  }

  @usableFromInline
  func admitReplacingForTheFirstTime<V, R>(_ key: StorageKey<V, R>) throws(StoreError) -> FormerValues? {
    do { try admitForTheFirstTime(key) } catch {
      guard error.isAboutTheValue, migrator.isPending(key.name) else { throw error }
      do { return try key.formerValues(on: self) } catch { throw error.about(key: key.name) }
    }
    return nil
  }

  /// Stores `form` for `key`, or removes it, in one step with what `former` tells.
  @usableFromInline
  func replace<V, R>(_ key: StorageKey<V, R>, by form: R.Form?, with former: FormerValues) throws(StoreError) {
    let transaction = Transaction(on: self)
    transaction.drop(former, of: key.name)
    R.side(of: transaction).writes[key.name] = Write(form)
    do { try commit(transaction) } catch { throw error.about(key: key.name) }
  }

  /// Commits what `transaction` has gathered, and then tells of what left with it.
  func commit(_ transaction: Transaction) throws(StoreError) {
    try commit(transaction.plain.batch, transaction.vault.batch)
    for (name, former) in transaction.former { migrator.record(name, .success(former.changes)) }
    if transaction.former.values.contains(where: \.leavesSecrets) { finishScrubbing() }
  }
}

extension Transaction {
  /// Removes, once the transaction commits, what could not be moved of the key `name`, which it replaces.
  func drop(_ values: FormerValues, of name: String) {
    plain.writes.merge(values.plain.writes) { own, _ in own }
    vault.writes.merge(values.vault.writes) { own, _ in own }
    // Noted in the same step: whoever opens the store after a crash finishes the scrubbing.
    if values.leavesSecrets { plain.writes[ReservedName.scrubPending] = .set(.bool(true)) }
    former[name] = values
  }
}

extension StoreError {
  /// Whether it is the stored value, and not a store, that stands in the way.
  fileprivate var isAboutTheValue: Bool {
    switch kind {
    case .undecodable, .unencodable, .expired, .clockBehind, .tooLarge: true
    default: false
    }
  }
}
