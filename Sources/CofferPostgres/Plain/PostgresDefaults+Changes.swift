internal import CofferDefaults
internal import CofferPlatform
internal import CofferStorage
internal import Synchronization

/// A domain as observers know it.
struct KnownDomain {
  /// The number of the last commit, and what tells it from another of that number; nil for that of a domain that nobody has
  /// written to.
  var version: Int64
  var commit: [UInt8]?
  /// By their bytes.
  var names: Set<[UInt8]>
}

extension PostgresDefaults {
  /// Listens first and looks then, so that nothing falls between.
  func startWatching() throws(StoreError) -> Subscription {
    let watch = try PostgresWatch(PostgresPlace(place), channel: table.channel, away: nil) { [weak self] () throws(StoreError) in
      try self?.look()
    }
    let listening = try watch.start()
    isStale.store(false, ordering: .relaxed)
    do throws(StoreError) {
      try run { (state) throws(StoreError) in state.known = try survey(state.session) }
    } catch {
      listening.cancel()
      throw error
    }
    return Subscription { [weak self] in
      // No lock is waited for: whoever leaves may be inside of a call.
      self?.isStale.store(true, ordering: .relaxed)
      listening.cancel()
    }
  }

  /// Finds commits by others, and reports them.
  private func look() throws(StoreError) {
    do throws(StoreError) {
      try run { (state) throws(StoreError) in
        forgetStale(&state)
        guard let known = state.known else { return }
        try follow(known, nil, false, &state)
      }
    } catch { guard error.kind == .closed else { throw error } }
  }

  /// Reports this store's commit, after earlier ones by others.
  func tell(_ own: PlainWrite, isMigration: Bool, _ state: inout State) {
    forgetStale(&state)
    guard let known = state.known, !own.effects.isEmpty else { return }
    if known.version == own.version - 1 {
      for (name, form) in own.effects { state.known?.note(name, form) }
      state.known?.version = own.version
      state.known?.commit = own.id.bytes
      return send([:], own, isMigration)
    }
    // The commit stands even if this fails; the next look then finds the rest.
    do throws(StoreError) { try follow(known, own, isMigration, &state) } catch { send([:], own, isMigration) }
  }

  private func forgetStale(_ state: inout State) {
    if isStale.exchange(false, ordering: .relaxed) { state.known = nil }
  }

  /// Brings the knowledge up to the last commit, and reports the changes, those by others first.
  private func follow(
    _ known: KnownDomain, _ own: PlainWrite?, _ isMigration: Bool, _ state: inout State
  ) throws(StoreError) {
    let session = state.session
    guard let found = try changed(since: known, session) else {
      // The history that was known is not the one that is there: a backup was put back.
      state.known = try survey(session)
      changes.send(.access)
      return
    }
    guard found.now.version != known.version else { return }
    state.known = found.now
    send(found.changes, own, isMigration)
  }

  private func send(_ others: [String: Change.Cause], _ own: PlainWrite?, _ isMigration: Bool) {
    var batch = Batch<Plain>()
    batch.isMigration = isMigration
    let mine = (own?.effects ?? []).sorted { $0.name < $1.name }
    var told = others.filter { name, _ in !mine.contains { $0.name == name } }.sorted { $0.key < $1.key }
      .map { Change($0.key, $0.value, by: .otherProcess(id: nil)) }
    told += mine.map { Change($0.name, batch.cause(of: Write($0.form)), by: .thisProcess) }
    if !told.isEmpty { changes.send(.changes(told)) }
  }

  /// The current names, and the changes since; nil if the known commit is not one of those that led here.
  func changed(
    since known: KnownDomain, _ session: PostgresSession
  ) throws(StoreError) -> (now: KnownDomain, changes: [String: Change.Cause])? {
    try reading(session) { (connection) throws(StoreError) in
      try askForDomain(connection, session)
      try table.askForCommit(known.version, connection, session)
      try connection.ask(
        "SELECT name FROM \(table.schema).plain WHERE domain = $1 AND version > $2 LIMIT \(StoredPlain.mostNames + 1)",
        [.text(domain), .number(known.version)], until: session.deadline)
      let answers = try connection.answers(doing: "look for changes", until: session.deadline)
      guard answers.count == 3 else { throw table.damaged("the server did not answer a query") }
      let domain = try domain(answers[0])
      let commit = try table.commit(answers[1])
      guard domain.version >= known.version, commit == nil || known.commit == nil || commit == known.commit else { return nil }
      var now = KnownDomain(version: domain.version, commit: domain.commit, names: known.names)
      var changes: [String: Change.Cause] = [:]
      for name in try names(answers[2]) {
        changes[name] = .set
        now.note(name, .bool(true))
      }
      // A removed name has no row: only its number is missing.
      guard now.names.count != domain.names else { return (now, changes) }
      try askForNames(connection, session)
      guard let list = try connection.answers(doing: "look for changes", until: session.deadline).first else {
        throw table.damaged("the server did not answer a query")
      }
      let left = Set(try names(list).map { Array($0.utf8) })
      for name in now.names.subtracting(left) { changes[String(decoding: name, as: UTF8.self)] = .removed }
      now.names = left
      return (now, changes)
    }
  }

  /// The domain as it is.
  func survey(_ session: PostgresSession) throws(StoreError) -> KnownDomain {
    try reading(session) { (connection) throws(StoreError) in
      try askForDomain(connection, session)
      try askForNames(connection, session)
      let answers = try connection.answers(doing: "look for changes", until: session.deadline)
      guard answers.count == 2 else { throw table.damaged("the server did not answer a query") }
      let domain = try domain(answers[0])
      return KnownDomain(
        version: domain.version, commit: domain.commit, names: Set(try names(answers[1]).map { Array($0.utf8) }))
    }
  }

  private func askForDomain(_ connection: PostgresConnection, _ session: PostgresSession) throws(StoreError) {
    try connection.ask(
      """
      SELECT d.version, d.names, c.id FROM \(table.schema).plain_domain d
        LEFT JOIN \(table.schema).plain_commit c ON c.domain = d.domain AND c.version = d.version WHERE d.domain = $1
      """, [.text(domain)], until: session.deadline)
  }

  private func domain(_ answer: PostgresResult) throws(StoreError) -> (version: Int64, names: Int64, commit: [UInt8]?) {
    try answer.check([PostgresResult.bigint, PostgresResult.bigint, PostgresResult.bytea])
    guard answer.count > 0 else { return (0, 0, nil) }
    let commit = try answer.isNull(0, 2) ? nil : [UInt8](answer.bytes(0, 2))
    return (try answer.number(0, 0), try answer.number(0, 1), commit)
  }
}

extension KnownDomain {
  fileprivate mutating func note(_ name: String, _ form: PlainForm?) {
    if form == nil { names.remove(Array(name.utf8)) } else { names.insert(Array(name.utf8)) }
  }
}
