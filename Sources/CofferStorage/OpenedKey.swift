public import CofferPlatform
internal import FoundationEssentials
public import Synchronization

/// The operations of a router on a key of unknown types.
protocol OpenedKey: DeclaredKey {
  /// Whether a property list holds the key's values as readable text or data.
  var isReadableText: Bool { get }

  /// The type of its values without optionals and seals.
  var storedType: Any.Type { get }

  func migrate(on router: StorageRouter) throws(StoreError) -> [Migration.Change]

  func formerValues(on router: StorageRouter) throws(StoreError) -> FormerValues

  func form(on router: StorageRouter) throws(StoreError) -> DeclaredForm?
}

extension StorageKey: OpenedKey {
  var storedType: Any.Type { FormKinds.stored(Value.self) }

  var isReadableText: Bool {
    let texts: [Any.Type] = [String.self, String?.self, Data.self, Data?.self]
    return R.self == Plain.self && texts.contains { $0 == Value.self }
  }

  func migrate(on router: StorageRouter) throws(StoreError) -> [Migration.Change] {
    guard let key = self as? StorageKey<Value, Vault> else {
      guard let key = self as? StorageKey<Value, Plain> else { return [] }
      return try router.migratePlain(key)
    }
    return try router.migrateIntoVault(key)
  }

  func formerValues(on router: StorageRouter) throws(StoreError) -> FormerValues {
    var values = FormerValues()
    let names = R.self == Vault.self ? self.names : traits.formerNames
    for (former, reading) in zip(names, try router.plain.load(names)) where reading.stamp != nil {
      values.plain.writes[former] = .remove
    }
    if R.self == Vault.self { for former in traits.formerNames { values.vault.writes[former] = .remove } }
    values.changes = values.plain.writes.keys.sorted().map(Migration.Change.superseded)
    values.leavesSecrets = R.self == Vault.self && !values.plain.writes.isEmpty
    return values
  }

  func form(on router: StorageRouter) throws(StoreError) -> DeclaredForm? {
    do throws(StoreError) {
      let store = R.store(of: router)
      let form = try router.isSettled(self) ? store.load(name) : unmovedForm(in: store.load(names))
      if let form = form as? PlainForm { return .plain(form) }
      return (form as? SecretForm).map(DeclaredForm.secret)
    } catch { throw error.about(key: name) }
  }
}

extension DeclaredKey {
  /// The key's name, then its former names. A value under an earlier name takes precedence.
  package var names: [String] { [name] + traits.formerNames }

  var mayMigrate: Bool { traits.isSecret || !traits.formerNames.isEmpty || traits.isOutdated != nil }
}

extension StorageRouter {
  func migratePlain<V>(_ key: StorageKey<V, Plain>) throws(StoreError) -> [Migration.Change] {
    try retryingConflicts { () throws(StoreError) in
      let names = key.names
      let stored = try plain.load(names).map(\.stamp)
      var batch = Batch<Plain>()
      var changes: [Migration.Change] = []
      if let source = stored.firstIndex(where: { $0 != nil }), let form = stored[source] {
        let current = try key.upToDate(form)
        if source > 0 { changes.append(.renamed(from: names[source])) }
        if current != nil { changes.append(.upgraded) }
        if source > 0 || current != nil { batch.writes[key.name] = .set(current ?? form) }
        for index in names.indices.dropFirst() where stored[index] != nil {
          batch.writes[names[index]] = .remove
          if index != source { changes.append(.superseded(names[index])) }
        }
      }
      guard !batch.writes.isEmpty else { return [] }
      for (name, form) in zip(names, stored) { batch.expectations[name] = .some(form) }
      if key.traits.endsWithSession, batch.writes[key.name] != nil { try plain.noteSession(key.name, in: &batch) }
      try commitMigration(batch, Batch<Vault>(), leavesSecrets: false)
      return changes
    }
  }

  func migrateIntoVault<V>(_ key: StorageKey<V, Vault>) throws(StoreError) -> [Migration.Change] {
    try retryingConflicts { () throws(StoreError) in
      let names = key.names
      let copies = try plain.load(names).map(\.stamp)
      let isInVaultAlone = copies.allSatisfy { $0 == nil }
      // Do not ask the vault, which may be locked.
      if isInVaultAlone, names.count == 1, key.traits.isOutdated == nil { return [] }
      let stored = try vault.load(names)
      var plainBatch = Batch<Plain>(), vaultBatch = Batch<Vault>()
      var changes: [Migration.Change] = []
      if let source = stored.firstIndex(where: { $0.form != nil }), let form = stored[source].form {
        let current = try key.upToDate(form)
        if source > 0 { changes.append(.renamed(from: names[source])) }
        if current != nil { changes.append(.upgraded) }
        if source > 0 || current != nil { vaultBatch.writes[key.name] = .set(key.marked(current ?? form)) }
        for index in names.indices.dropFirst() where stored[index].form != nil {
          vaultBatch.writes[names[index]] = .remove
          if index != source { changes.append(.superseded(names[index])) }
        }
        for (name, copy) in zip(names, copies) where copy != nil { changes.append(.superseded(name)) }
      } else if let source = copies.firstIndex(where: { $0 != nil }), let copy = copies[source] {
        vaultBatch.writes[key.name] = .set(try key.promoted(copy))
        changes.append(.movedIntoVault(from: names[source]))
        for index in names.indices where index != source && copies[index] != nil {
          changes.append(.superseded(names[index]))
        }
      }
      for (name, copy) in zip(names, copies) where copy != nil { plainBatch.writes[name] = .remove }
      guard !plainBatch.writes.isEmpty || !vaultBatch.writes.isEmpty else { return [] }
      for (name, reading) in zip(names, stored) { vaultBatch.expectations[name] = reading.stamp }
      if !isInVaultAlone { for (name, copy) in zip(names, copies) { plainBatch.expectations[name] = .some(copy) } }
      try commitMigration(plainBatch, vaultBatch, leavesSecrets: !isInVaultAlone)
      return changes
    }
  }
}

extension StorageKey {
  /// `form` as the key's own type encodes it. Nil if it is up to date, or cannot be converted and reads as the default, which
  /// never replaces the stored value.
  fileprivate func upToDate(_ form: R.Form) throws(StoreError) -> R.Form? {
    guard traits.isOutdated?(form) == true else { return nil }
    let value: Value
    do { value = try declaration.decode(form) } catch {
      guard case .undecodable = error.kind, traits.readsDefaultWhenUndecodable else { throw error.about(key: name) }
      return nil
    }
    return try self.form(of: value)
  }
}

extension StorageKey where R == Vault {
  /// `form` with the logout mark, for programs that do not know the key.
  fileprivate func marked(_ form: SecretForm) -> SecretForm {
    guard traits.endsWithSession else { return form }
    var marked = form
    marked.metadata.attributes[ItemMetadata.endsWithSession] = "true"
    return marked
  }

  fileprivate func promoted(_ copy: PlainForm) throws(StoreError) -> SecretForm {
    guard let promotion = traits.promotion, let form = try self.form(of: declaration.decode(promotion(copy))) else {
      throw StoreError(
        .undecodable(stored: copy.kindName), "the plain copy cannot be moved into the vault", key: name,
        cure: "set the key, which drops the copy; nothing was changed")
    }
    return form
  }
}

// If the store cannot be written, a renamed value stays under its former name and is read there.
extension StorageRouter {
  /// False if the key's value can be read under a former name but not moved.
  @inlinable
  package func isSettled<V, R>(_ key: StorageKey<V, R>) throws(StoreError) -> Bool {
    if key.declaration.admittedBy.load(ordering: .relaxed) == id { return true }
    return try settlesForTheFirstTime(key)
  }

  @usableFromInline
  func settlesForTheFirstTime<V, R>(_ key: StorageKey<V, R>) throws(StoreError) -> Bool {
    do { try admitForTheFirstTime(key) } catch {
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

  /// A secret in the clear must be moved first: until then its reads fail.
  private func hasPlainCopy<V, R>(_ key: StorageKey<V, R>) throws(StoreError) -> Bool {
    guard R.self == Vault.self else { return false }
    return try plain.load(key.names).contains { $0.stamp != nil }
  }
}

extension StorageKey {
  func unmovedForm(in readings: [Reading<R>]) -> R.Form? {
    let own = readings[0]
    // An override is above any stored value; suites and registered values are below.
    if case .argument? = own.form as? PlainForm { return own.form }
    return readings.lazy.compactMap { R.stored($0) }.first ?? own.form
  }
}

// A value that is about to be replaced needs no migration if it cannot be read.
extension StorageKey {
  /// Lets `router` admit the key before its value is replaced or removed.
  ///
  /// - Returns: the values to remove with it; nil if everything was moved, the usual case.
  @inlinable
  package func admitReplacing(on router: StorageRouter) throws(StoreError) -> FormerValues? {
    if declaration.admittedBy.load(ordering: .relaxed) == router.id { return nil }
    return try admitReplacingForTheFirstTime(on: router)
  }

  @usableFromInline
  func admitReplacingForTheFirstTime(on router: StorageRouter) throws(StoreError) -> FormerValues? {
    do { try router.admitForTheFirstTime(self) } catch {
      guard error.isAboutTheValue, router.migrator.isPending(name) else { throw error }
      do { return try formerValues(on: router) } catch { throw error.about(key: name) }
    }
    return nil
  }

  @usableFromInline
  func replace(by form: R.Form?, with former: FormerValues, on router: StorageRouter) throws(StoreError) {
    let transaction = Transaction(on: router)
    transaction.drop(former, of: name)
    R.side(of: transaction).writes[name] = Write(form)
    do { try transaction.commit() } catch { throw error.about(key: name) }
  }
}

extension StoreError {
  /// Whether the stored value, not a store, causes the error. An error of the list of session keys counts: a removal needs no
  /// list, and a set meets the error again.
  fileprivate var isAboutTheValue: Bool {
    switch kind {
    case .undecodable, .unencodable, .expired, .clockBehind, .tooLarge: true
    default: false
    }
  }
}
