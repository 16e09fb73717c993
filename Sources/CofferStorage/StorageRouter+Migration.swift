package import CofferPlatform
internal import Synchronization

/// The keys to migrate, and the migrations made.
final class Migrator: Sendable {
  private struct State {
    var pending: [String: StoreError] = [:]
    var done: [Migration] = []
    var scrub: StoreError?
  }
  private let state = Mutex(State())

  var report: MigrationReport {
    state.withLock { state in
      var report = MigrationReport()
      report.done = state.done
      report.pending = state.pending.sorted { $0.key < $1.key }.map(\.value)
      if let scrub = state.scrub { report.pending.append(scrub) }
      return report
    }
  }

  func isPending(_ name: String) -> Bool { error(of: name) != nil }
  func error(of name: String) -> StoreError? { state.withLock { $0.pending[name] } }
  var pendingNames: [String] { state.withLock { $0.pending.keys.sorted() } }

  func record(_ key: String, _ outcome: Result<[Migration.Change], StoreError>) {
    state.withLock { state in
      switch outcome {
      case .success(let changes):
        state.pending[key] = nil
        state.done += changes.map { Migration(key: key, $0) }
      case .failure(let error): state.pending[key] = error.about(key: key)
      }
    }
  }

  func recordScrub(_ error: StoreError?) { state.withLock { $0.scrub = error } }
}

extension StorageRouter {
  /// The migrations since this router was opened: renamed and upgraded values, preferences that became secrets; and those still
  /// to be made.
  public var migrations: MigrationReport { migrator.report }

  /// Tries again what could not be migrated at open, because the vault was locked for example. The first use of such a key does
  /// so by itself.
  ///
  /// - Returns: ``migrations``.
  @discardableResult
  public func migrate() -> MigrationReport {
    for name in migrator.pendingNames {
      if let key = declared[name] as? any OpenedKey {
        attempt(key)
      } else if let family = keys.family(of: name) {
        if family.name == name { attempt(family) } else { attempt(family.member(named: name)) }
      }
    }
    finishScrubbing()
    return migrations
  }

  func migrateAtOpen() {
    for key in declared.values.filter(\.mayMigrate).sorted(by: { $0.name < $1.name }) {
      if let key = key as? any OpenedKey { attempt(key) }
    }
    for family in keys.families where family.traits.isSecret { attempt(family) }
    if declared.values.contains(where: \.traits.isSecret) || keys.families.contains(where: \.traits.isSecret) {
      finishScrubbing()
    }
  }

  /// Migrates the members of a family of secrets that still lie in the plain store. Which there are is found by looking.
  private func attempt(_ family: any OpenedFamily) {
    let copies = Result { () throws(StoreError) in try plain.names().filter { family.owns($0) && $0 != family.name } }
    migrator.record(family.name, copies.map { _ in [] })
    guard case .success(let names) = copies else { return }
    for name in names { attempt(family.member(named: name)) }
  }

  /// Tries again what could not be looked at when the router was opened.
  func settle(_ family: any OpenedFamily) throws(StoreError) {
    guard migrator.isPending(family.name) else { return }
    attempt(family)
    if let error = migrator.error(of: family.name) { throw error }
  }

  /// Tries the members of `family` again that could not be moved yet.
  ///
  /// - Returns: the names of those that still cannot be.
  func settleMembers(of family: any OpenedFamily) -> [String] {
    let names = migrator.pendingNames.filter { family.owns($0) && $0 != family.name }
    for name in names { attempt(family.member(named: name)) }
    return names.filter(migrator.isPending)
  }

  private func attempt(_ key: any OpenedKey) {
    migrator.record(key.name, Result { () throws(StoreError) in try key.migrate(on: self) })
  }

  /// Migrates a key that is about to be used.
  func settle(_ key: any OpenedKey) throws(StoreError) {
    guard migrator.isPending(key.name) else { return }
    attempt(key)
    if let error = migrator.error(of: key.name) { throw error }
  }

  /// Commits both parts, and overwrites the remains of moved values in the plain store's files.
  func commitMigration(
    _ plainBatch: Batch<Plain>, _ vaultBatch: Batch<Vault>, leavesSecrets: Bool
  ) throws(StoreError) {
    var (plainBatch, vaultBatch) = (plainBatch, vaultBatch)
    (plainBatch.isMigration, vaultBatch.isMigration) = (true, true)
    // Noted in the same step: the next opener of the store after a crash finishes the scrubbing.
    if leavesSecrets { plainBatch.writes[ReservedName.scrubPending] = .set(.bool(true)) }
    try commit(plainBatch, vaultBatch)
    if leavesSecrets { finishScrubbing() }
  }

  /// Moves `stored` out of the plain store and `form` into the vault, under one name, in one transaction, and leaves no trace of
  /// it in the plain store's files.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/conflict`` when the plain value is another by now, or the vault has one; nothing
  ///   has changed then.
  package func move(_ name: String, _ stored: PlainForm, intoVaultAs form: SecretForm) throws(StoreError) {
    var departure = Batch<Plain>(), arrival = Batch<Vault>()
    departure.expectations[name] = .some(stored)
    departure.writes[name] = .remove
    arrival.expectations[name] = .absent
    arrival.writes[name] = .set(form)
    try commitMigration(departure, arrival, leavesSecrets: true)
    // The caller must hear of a trace that stays.
    if let error = migrator.report.pending.first { throw error }
  }

  package func finishScrubbing() {
    do throws(StoreError) {
      guard try plain.load([ReservedName.scrubPending]).first?.stamp != nil else { return migrator.recordScrub(nil) }
      try plain.synchronize()
      // A store of property lists has done so by then.
      try plain.save(nil, for: ReservedName.scrubPending)
      migrator.recordScrub(nil)
    } catch { migrator.recordScrub(error.about(key: ReservedName.scrubPending)) }
  }
}
