internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
internal import Dispatch
internal import Synchronization
internal import SystemPackage

final class VaultObservation: Sendable {
  struct Known {
    var generation: UInt64
    /// The last row of the log, and the digest of the header, which changes with the key.
    var logged: UInt64
    var header: Digest32
    var versions: [String: RecordVersion]
  }

  /// The result of a look: a later commit than the known one.
  fileprivate struct Survey {
    enum Items {
      case all([String: RecordVersion])
      /// The changed items, each once, in the order of their last changes; the version is nil for a removed item.
      case changed([(name: String, version: RecordVersion?)])
    }

    let generation: UInt64, logged: UInt64
    let header: Digest32
    let items: Items
  }

  /// Locked from before a commit until its report, to keep reports in order. Nil while the vault cannot be read, and before
  /// the first look.
  let known = Mutex<Known?>(nil)
  /// The knowledge predates a lock of the vault.
  let isStale = Atomic<Bool>(false)
  let isScheduled = Atomic<Bool>(false)
  let queue = DispatchQueue(label: "coffer.vault", qos: .utility)
  private let made = Mutex<ChangeFeed?>(nil)

  func feed(of store: VaultStore) -> ChangeFeed {
    made.withLock { made in
      if let made { return made }
      let new = ChangeFeed { [weak store] (_) throws(StoreError) in try store?.startWatching() ?? Subscription {} }
      made = new
      return new
    }
  }

  var feed: ChangeFeed? { made.withLock { $0 } }
}

extension VaultStore {
  func telling(
    with companion: (any CompanionWrites)? = nil, mayQueue: Bool = false,
    _ body: (OpenVault, inout CofferVault.Change) throws(StoreError) -> [String: CofferStorage.Change.Cause]
  ) throws(StoreError) {
    guard let feed = observation.feed, feed.isObserved else {
      _ = try write(with: companion, mayQueue: mayQueue, body)
      return
    }
    try Reentrancy.check(place)
    try observation.known.withLock { (known) throws(StoreError) in
      var (others, own) = (VaultObservation.Survey?.none, [String: RecordVersion]())
      let done = try write(with: companion) { (vault, change) throws(StoreError) in
        // The writers' lock keeps others out until the commit. The commit stands even if the survey fails; the next look
        // finds the rest.
        if known != nil { do throws(StoreError) { others = try vault.items.survey(service, since: known) } catch {} }
        let done = try body(vault, &change)
        own = try vault.items.versions(done.keys, service: service, after: change)
        return done
      }
      var changes = others.map { Self.take($0, &known) } ?? []
      changes += done.sorted { $0.key < $1.key }.map { CofferStorage.Change($0.key, $0.value, by: .thisProcess) }
      guard !changes.isEmpty else { return }
      feed.send(.changes(changes))
      for name in done.keys { known?.versions[name] = own[name] }
      // As above. Later commits by others are not mistaken for this store's.
      do throws(StoreError) { try follow(&known) } catch {}
    }
  }

  /// Records this store's own commit as known unless others committed since.
  private func follow(_ known: inout VaultObservation.Known?) throws(StoreError) {
    guard let last = known?.generation else { return }
    let (now, logged) = try read { (vault) throws(StoreError) in (vault.view.state.generation, vault.view.state.logSequence) }
    guard last == now - 1 else { return }
    known?.generation = now
    known?.logged = logged
  }

  /// Reports that reads may give other results after locking or unlocking.
  func tellAccess() {
    guard let feed = observation.feed, feed.isObserved else { return }
    observation.isStale.store(true, ordering: .relaxed)
    feed.send(.access)
    scheduleLook()
  }

  fileprivate func startWatching() throws(StoreError) -> Subscription {
    let vault = held.vaultPlace
    if let watch = try vault.watchServer({ [weak self] () throws(StoreError) in try self?.look() }) {
      observation.isStale.store(true, ordering: .relaxed)
      do throws(StoreError) { try look(isFirst: true) } catch {
        watch.cancel()
        throw error
      }
      return watch
    }
    let file = try vault.file()
    guard let name = file.lastName else { return Subscription {} }
    // Commits go to the write-ahead log, which is written with system calls, and from there to the file.
    let watch = try DirectoryWatch.start(file.parent, names: [name, name + "-wal"]) { [weak self] notice in
      switch notice {
      case .changed: self?.scheduleLook()
      case .lost: self?.tellAccess()
      }
    }
    observation.isStale.store(true, ordering: .relaxed)
    // Immediately, so any commit after the subscription is new.
    try look(isFirst: true)
    return watch
  }

  private func scheduleLook() {
    guard !observation.isScheduled.exchange(true, ordering: .acquiringAndReleasing) else { return }
    observation.queue.async { [weak self] in
      guard let self else { return }
      observation.isScheduled.store(false, ordering: .sequentiallyConsistent)
      lookWithWriters(Self.pauses)
    }
  }

  /// Finds commits by others, even unfinished ones: the log's file is written before a commit is visible, and the commit
  /// itself causes no event. A writer holds the writers' lock until its commit, so once this process gets the lock, the
  /// commit is readable.
  ///
  /// - Parameter pauses: the pauses between looks without the lock.
  private func lookWithWriters(_ pauses: ArraySlice<DispatchTimeInterval>) {
    var obstacle: StoreError.Kind?
    do throws(StoreError) {
      // Immediately, because visible commits may come from another process than the event.
      try look()
      try look { (last) throws(StoreError) in
        do throws(StoreError) {
          return try write { (vault, _) throws(StoreError) in try vault.items.survey(service, since: last) }
        } catch {
          guard error.kind == .busy || error.kind == .readOnly else { throw error }
          obstacle = error.kind
          return nil
        }
      }
    } catch {
      return lookAgain(after: Self.pause, pauses)
    }
    switch obstacle {
    // A process stopped during a commit may continue at any time.
    case .busy: lookAgain(after: Self.pause, pauses)
    case .readOnly: if let pause = pauses.first { lookAgain(after: pause, pauses.dropFirst()) }
    default: break
    }
  }

  private func lookAgain(after pause: DispatchTimeInterval, _ pauses: ArraySlice<DispatchTimeInterval>) {
    observation.queue.asyncAfter(deadline: .now() + pause) { [weak self] in self?.lookWithWriters(pauses) }
  }

  /// Finds commits by others. After a commit of this store, this costs two reads of the state.
  private func look(isFirst: Bool = false) throws(StoreError) {
    try look(isFirst: isFirst) { (last) throws(StoreError) in
      try read { (vault) throws(StoreError) in try vault.items.survey(service, since: last) }
    }
  }

  /// - Parameter isFirst: whether nobody was notified before.
  /// - Throws: the temporary failure of a server. The next call reports the missed changes.
  private func look(
    isFirst: Bool = false, _ survey: (VaultObservation.Known?) throws(StoreError) -> VaultObservation.Survey?
  ) throws(StoreError) {
    try observation.known.withLock { (known) throws(StoreError) in
      if observation.isStale.exchange(false, ordering: .relaxed) { known = nil }
      do throws(StoreError) {
        let wasKnown = known != nil
        guard let found = try survey(known) else { return }
        let changes = Self.take(found, &known)
        if !changes.isEmpty { observation.feed?.send(.changes(changes)) }
        // An observer may have read after the last change of access, but before a commit that this look counts as known.
        if !wasKnown, !isFirst { observation.feed?.send(.access) }
      } catch {
        guard held.vaultPlace.url == nil || ![.unreachable, .busy].contains(error.kind) else { throw error }
        // Locked, or no longer usable: reads fail, and unlocking is reported.
        if known != nil { observation.feed?.send(.access) }
        known = nil
      }
    }
  }

  private static var pause: DispatchTimeInterval { .milliseconds(500) }
  /// Without write access there is no lock: a commit takes several disk writes, each of milliseconds, or seconds on a busy
  /// disk.
  private static var pauses: ArraySlice<DispatchTimeInterval> {
    [.milliseconds(20), .milliseconds(500), .seconds(5), .seconds(30)]
  }

  /// Replaces the knowledge with `found`.
  ///
  /// - Returns: the changes; none if nothing was known.
  private static func take(
    _ found: VaultObservation.Survey, _ known: inout VaultObservation.Known?
  ) -> [CofferStorage.Change] {
    var changes: [CofferStorage.Change] = []
    func add(_ name: String, _ version: RecordVersion?) {
      changes.append(CofferStorage.Change(name, version == nil ? .removed : .set, by: .otherProcess(id: nil)))
    }
    switch found.items {
    case .all(let versions):
      if let before = known?.versions {
        for name in Set(before.keys).union(versions.keys).sorted() where before[name] != versions[name] {
          add(name, versions[name])
        }
      }
      known = VaultObservation.Known(
        generation: found.generation, logged: found.logged, header: found.header, versions: versions)
    case .changed(let items):
      known?.generation = found.generation
      known?.logged = found.logged
      for (name, version) in items where known?.versions[name] != version {
        known?.versions[name] = version
        add(name, version)
      }
    }
    return changes
  }
}

extension ItemTable {
  fileprivate func versions(_ names: [String], service: String) throws(StoreError) -> [String: RecordVersion] {
    var versions: [String: RecordVersion] = [:]
    for name in names {
      let version = try version(of: ItemName(service: service, account: name))
      if version != .absent { versions[name] = version }
    }
    return versions
  }

  /// The versions of the items that exist after the commit of `change`.
  fileprivate func versions(
    _ names: some Sequence<String>, service: String, after change: CofferVault.Change
  ) throws(StoreError) -> [String: RecordVersion] {
    var versions: [String: RecordVersion] = [:]
    for name in names {
      let index = RecordAddress.index(.present, service, name, "", 0, view.keys)
      let bucket = bucket(of: index)
      let list = if let changed = change.lists[bucket] { changed } else { try view.list(of: bucket) }
      if let id = list.record(at: index) { versions[name] = RecordVersion(id.bytes) }
    }
    return versions
  }

  /// The items of `service`, unless the vault is still at the commit of `last`.
  fileprivate func survey(
    _ service: String, since last: VaultObservation.Known?
  ) throws(StoreError) -> VaultObservation.Survey? {
    let state = view.state
    guard state.generation != last?.generation else { return nil }
    var items: VaultObservation.Survey.Items?
    if let last { items = try followed(service, since: last).map { .changed($0) } }
    if items == nil { items = try .all(versions(list(service: service).map(\.name.account), service: service)) }
    return .init(
      generation: state.generation, logged: state.logSequence, header: view.headerDigest, items: items ?? .all([:]))
  }

  /// The changes in the log since `last`, in order; nil if it has entries that are not about items, or more than
  /// ``mostFollowed``.
  private func followed(
    _ service: String, since last: VaultObservation.Known
  ) throws(StoreError) -> [(name: String, version: RecordVersion?)]? {
    let first = last.logged
    guard last.header == view.headerDigest, view.state.logSequence >= first else { return nil }
    let count = view.state.logSequence - first
    guard count <= Self.mostFollowed else { return nil }
    // The distance of each index's last change from the end; the newest row comes first.
    var (indexes, rows, isOfItems) = ([RecordIndex: Int](), 0, true)
    try VaultLog(view).forEach(last: Int(count)) { (_, entry) in
      rows += 1
      switch entry.event {
      case .itemSet, .itemDeleted, .undeleted, .pruned: indexes[entry.index] = min(rows, indexes[entry.index] ?? rows)
      case .unlocked, .trimmed: break
      default: isOfItems = false
      }
    }
    guard isOfItems, rows == count else { return nil }
    var found: [(name: String, version: RecordVersion?, row: Int)] = []
    var gone: [RecordIndex: Int] = [:]
    for (index, row) in indexes {
      guard let id = try view.list(of: bucket(of: index)).record(at: index) else {
        gone[index] = row
        continue
      }
      let meta = try view.openMeta(index, id)
      guard meta.isItem, meta.service.hasSameBytes(as: service) else { continue }
      found.append((meta.account, RecordVersion(id.bytes), row))
    }
    if !gone.isEmpty {
      for account in last.versions.keys {
        if let row = gone[RecordAddress.index(.present, service, account, "", 0, view.keys)] { found.append((account, nil, row)) }
      }
    }
    return found.sorted { $0.row > $1.row }.map { ($0.name, $0.version) }
  }

  /// Each row is read separately; more take longer than a short listing.
  private static var mostFollowed: UInt64 { 64 }

  /// Removing a missing item has no effect.
  func effects(of batch: Batch<Vault>, service: String) throws(StoreError) -> [String: CofferStorage.Change.Cause] {
    var effects: [String: CofferStorage.Change.Cause] = [:]
    for (account, write) in batch.writes {
      if write.form == nil, try version(of: ItemName(service: service, account: account)) == .absent { continue }
      effects[account] = batch.cause(of: write)
    }
    return effects
  }
}
