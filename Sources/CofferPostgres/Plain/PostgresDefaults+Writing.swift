internal import CofferDefaults
public import CofferPlatform
public import CofferStorage

// A write takes the lock of the domain's row, which orders all writers, and is one transaction of the server.
extension PostgresDefaults {
  /// Replaces the value of `name` by what `body` makes of it, atomically for all machines. `body` runs while the domain is locked
  /// on the server: keep it short.
  ///
  /// - Throws: what ``commit(_:decision:)`` throws, or `body`; nothing has changed then, unless it is `.outcomeUnknown`.
  public func update(
    _ name: String, _ body: (PlainForm?) throws(StoreError) -> PlainForm?
  ) throws(StoreError) {
    try run { (state) throws(StoreError) in
      let name = try StoredPlain.checked(name)
      try write(PlainWrite(table, [name]), &state) { (write) throws(StoreError) in
        let old = write[name]
        let new = try Reentrancy.inside { () throws(StoreError) in try body(old) }
        try write.change([(name, try new.map { (form) throws(StoreError) in try StoredPlain.settled(form, for: name) })])
      }
    }
  }

  /// Applies all of `batch` to the domain in one transaction of the server, or nothing.
  ///
  /// With a decision that changes something elsewhere, the batch may write only where that is the vault of a
  /// ``/CofferStorage/StorageRouter``, opened in this process in the same database: the server makes both halves in one
  /// transaction. Nothing is ever left prepared. A batch that writes nothing, and a decision that only reads, need no vault in
  /// particular.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.conflict`, `.invalidName`, `.unencodable`, `.tooLarge`; `.readOnly` for a role
  ///   that may not write; `.refused` where the server acknowledges a commit before it is durable; `.busy` where another machine
  ///   writes for as long as is waited; `.unreachable`; `.unsupported` for a decision of another kind, and for a batch that
  ///   decides. Nothing has changed then. `.outcomeUnknown` where nobody can tell whether a commit was made, whose connection was
  ///   lost.
  public func commit(_ batch: Batch<Plain>, decision: Decision?) throws(StoreError) {
    try run { (state) throws(StoreError) in
      guard batch.decides == nil else {
        throw StoreError(
          .unsupported, "the plain store does not decide transactions", place: place,
          cure: "let the vault decide, and pass a decision")
      }
      guard batch.forgets == nil else { return }  // It decides no transaction, and leaves none prepared.
      var changes: [(name: String, form: PlainForm?)] = []
      for (name, write) in batch.writes {
        let name = try StoredPlain.checked(name)
        changes.append((name, try write.form.map { (form) throws(StoreError) in try StoredPlain.settled(form, for: name) }))
      }
      let new = PlainWrite(table, Array(batch.writes.keys) + Array(batch.expectations.keys))
      switch (decision, decision?.kind) {
      case (nil, _), (_, nil): try commit(new, changes, batch, nil, &state)
      case (let decision?, .comparison): try commit(new, changes, batch, decision, &state)
      case (let decision?, _) where changes.isEmpty: try hold(new, batch, decision, &state)
      case (_, .shared(let make)): try share(new, changes, batch, make, &state)
      case (_, .own): throw PlainHalf.apart(place)
      }
    }
  }

  /// In one transaction of this store: a decision changes nothing elsewhere.
  private func commit(
    _ new: PlainWrite, _ changes: [(name: String, form: PlainForm?)], _ batch: Batch<Plain>, _ decision: Decision?,
    _ state: inout State
  ) throws(StoreError) {
    guard !changes.isEmpty else { return try compare(batch, decision, state.session) }
    try write(new, &state, isMigration: batch.isMigration) { (write) throws(StoreError) in
      try write.compare(batch.expectations)
      if let decision { try deciding.make(decision, nil) }
      try write.change(changes)
    }
  }

  /// Without a lock, which a reader's role could not take: what did not change from before the decision's look to after it, was
  /// so during it.
  private func compare(_ batch: Batch<Plain>, _ decision: Decision?, _ session: PostgresSession) throws(StoreError) {
    guard !batch.expectations.isEmpty || decision != nil else { return }
    let names = Array(batch.expectations.keys)
    let before = try snapshot(names, session)
    for (name, reading) in zip(names, before.readings) where reading.stamp != batch.expectations[name] {
      throw table.conflict(name)
    }
    guard let decision else { return }
    try deciding.make(decision, nil)
    guard try snapshot([], session).version == before.version else { throw table.conflict(names.first ?? domain) }
  }

  /// Keeps the read values unchanged while the decision is made.
  private func hold(_ new: PlainWrite, _ batch: Batch<Plain>, _ decision: Decision, _ state: inout State) throws(StoreError) {
    try write(new, &state) { (write) throws(StoreError) in
      try write.compare(batch.expectations)
      try deciding.make(decision, nil)
    }
  }

  /// In the transaction of the vault that decides.
  private func share(
    _ new: PlainWrite, _ changes: [(name: String, form: PlainForm?)], _ batch: Batch<Plain>,
    _ make: (any CompanionWrites) throws(StoreError) -> Void, _ state: inout State
  ) throws(StoreError) {
    _ = try state.session.open()
    try checkMayWrite(state.session)
    let half = PlainHalf(new, if: batch.expectations, changes, in: state.session.facts.database)
    do throws(StoreError) {
      try deciding.marked { () throws(StoreError) in try make(half) }
    } catch {
      guard error.kind == .outcomeUnknown, half.state == .lost, !new.effects.isEmpty else { throw error }
      // The vault could not tell: it changed nothing of its own perhaps, so that its log has no row. Both halves were made, or
      // neither.
      try settle(new, error, state.session)
    }
    guard half.state == .made || half.state == .lost else {
      throw StoreError(
        .outcomeUnknown, "the vault committed its part in another transaction, and nothing was written here", place: place,
        cure: "look at what is stored in both")
    }
    tell(new, isMigration: batch.isMigration, &state)
  }

  /// Runs `body`, which notes its changes, under the lock of all writers of the domain, and commits them.
  private func write(
    _ new: PlainWrite, _ state: inout State, isMigration: Bool = false, _ body: (PlainWrite) throws(StoreError) -> Void
  ) throws(StoreError) {
    let session = state.session
    let connection = try session.begin { (connection) throws(StoreError) in
      try checkMayWrite(session)
      do throws(StoreError) {
        try connection.perform("BEGIN ISOLATION LEVEL READ COMMITTED", until: session.deadline)
        try new.begin(connection, session)
      } catch {
        connection.rollBack(until: session.deadline)
        throw error
      }
      return connection
    }
    do throws(StoreError) { try body(new) } catch {
      connection.rollBack(until: session.deadline)
      throw error
    }
    guard !new.effects.isEmpty else { return connection.rollBack(until: session.deadline) }
    do throws(StoreError) {
      try connection.commit(at: session.shown, until: session.deadline) { () throws(StoreError) in
        try new.queue(connection, session.deadline)
      }
    } catch {
      guard error.kind == .outcomeUnknown, connection.isLost else { throw error }
      try settle(new, error, session)
    }
    tell(new, isMigration: isMigration, &state)
  }

  /// Returns where the commit that nobody answered was made.
  private func settle(_ new: PlainWrite, _ unknown: StoreError, _ session: PostgresSession) throws(StoreError) {
    try LostAnswer(unknown, of: "the change", at: place).settle { () throws(StoreError) in try new.isMade(session) }
  }

  private func checkMayWrite(_ session: PostgresSession) throws(StoreError) {
    guard !session.facts.mayWritePlain else { return }
    throw StoreError(
      .readOnly, "this role may not write to the plain values", place: place,
      cure: "ask the server's administrator for the role of a writer")
  }
}
