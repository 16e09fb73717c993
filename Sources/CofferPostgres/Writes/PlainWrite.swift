internal import CofferDefaults
internal import CofferPlatform
internal import CofferStorage

/// A write to a domain, in the caller's transaction: it takes the domain's lock and reads the values to change, and later
/// queues the changes.
final class PlainWrite {
  let table: PlainTable
  private let names: [String]
  /// By the bytes of the names, which distinguish them here.
  private var old: [[UInt8]: PlainForm] = [:]
  private var domain = Domain()
  /// The number of its commit.
  var version: Int64 { domain.version + 1 }
  /// Identifies the commit.
  let id = TransactionID.random()
  /// The changes that have an effect.
  private(set) var effects: [(name: String, form: PlainForm?)] = []

  /// The highest count in a domain's row: more commits than ever happen.
  private static let mostCounted: Int64 = 1 << 53

  private struct Domain { var version: Int64 = 0, weight = 0, names: Int64 = 0 }

  init(_ table: PlainTable, _ names: some Sequence<String>) {
    self.table = table
    var seen: Set<[UInt8]> = []
    self.names = names.filter { seen.insert(Array($0.utf8)).inserted }
  }

  subscript(_ name: String) -> PlainForm? { old[Array(name.utf8)] }

  // MARK: Beginning

  /// Takes the lock of the domain's writers, and reads.
  func begin(_ connection: PostgresConnection, _ session: PostgresSession) throws(StoreError) {
    (old, effects) = ([:], [])
    var answers = try ask(connection, session)
    if answers[0].count == 0 {
      // The domain has no row yet. This waits for another writer that makes it.
      try connection.perform(
        """
        INSERT INTO \(table.schema).plain_domain (domain, version, weight, names) VALUES ($1, 0, 0, 0) ON CONFLICT DO NOTHING
        """, [.text(table.domain)], until: session.deadline)
      answers = try ask(connection, session)
    }
    let row = answers[0]
    try row.check([UInt32](repeating: PostgresResult.bigint, count: 4))
    guard row.count == 1 else { throw table.damaged("the domain's row is missing") }
    try session.checkDurability(row.number(0, 3))
    domain = Domain(version: try row.number(0, 0), weight: Int(try row.number(0, 1)), names: try row.number(0, 2))
    // Each will be increased, and any writer of settings may have stored any number.
    guard [domain.version, Int64(domain.weight), domain.names].allSatisfy((0...Self.mostCounted).contains) else {
      throw table.damaged("the domain's row counts what cannot be counted")
    }
    for (name, answer) in zip(names, answers.dropFirst()) { old[Array(name.utf8)] = try table.form(answer, of: name) }
  }

  private func ask(_ connection: PostgresConnection, _ session: PostgresSession) throws(StoreError) -> [PostgresResult] {
    // First, and alone: joined rows would be from before the wait for the lock.
    try connection.ask(
      """
      SELECT version, weight, names, \(PostgresSchema.isAsynchronous) FROM \(table.schema).plain_domain WHERE domain = $1 FOR \
      UPDATE
      """, [.text(table.domain)], until: session.deadline)
    for name in names { try connection.ask(table.question, table.parameters(name), until: session.deadline) }
    let answers = try connection.answers(doing: "begin to write", until: session.deadline)
    guard answers.count == names.count + 1 else { throw table.damaged("the server did not answer a query") }
    return answers
  }

  /// Compares a batch's expectations with the current values.
  func compare(_ expectations: [String: PlainForm?]) throws(StoreError) {
    for (name, expected) in expectations where self[name] != expected { throw table.conflict(name) }
  }

  /// Collects those of `changes` that have an effect.
  func change(_ changes: [(name: String, form: PlainForm?)]) throws(StoreError) {
    let before = domain
    for (name, form) in changes where self[name] != form {
      effects.append((name, form))
      domain.weight += StoredPlain.weight(of: form, under: name) - StoredPlain.weight(of: self[name], under: name)
      domain.names += (form == nil ? 0 : 1) - (self[name] == nil ? 0 : 1)
    }
    try StoredPlain.check(weight: domain.weight, before: before.weight, changing: effects.first?.name, in: table.place)
  }

  // MARK: Writing

  /// Queues the changes and their notice.
  func queue(_ connection: PostgresConnection, _ deadline: ContinuousClock.Instant) throws(StoreError) {
    guard !effects.isEmpty else { return }
    for (name, form) in effects { try queue(name, form, connection, deadline) }
    let (schema, number) = (table.schema, PostgresConnection.Parameter.number(version))
    try connection.perform(
      "UPDATE \(schema).plain_domain SET version = $2, weight = $3, names = $4 WHERE domain = $1",
      [.text(table.domain), number, .number(Int64(domain.weight)), .number(domain.names)], changesOne: true, until: deadline)
    let id = id.bytes
    try id.span.bytes.withUnsafeBytes { (id) throws(StoreError) in
      try connection.perform(
        """
        INSERT INTO \(schema).plain_commit (domain, version, id) VALUES ($1, $2, $3)
          ON CONFLICT (domain, version) DO UPDATE SET id = excluded.id
        """, [.text(table.domain), number, .bytes(id)], changesOne: true, until: deadline)
    }
    try connection.perform(
      "DELETE FROM \(schema).plain_commit WHERE domain = $1 AND version <= $2",
      [.text(table.domain), .number(version - PlainSchema.mostCommits)], until: deadline)
    try connection.perform(
      "SELECT pg_catalog.pg_notify($1, $2)", [.text(table.channel), .text(table.domain)], until: deadline)
  }

  private func queue(
    _ name: String, _ form: PlainForm?, _ connection: PostgresConnection, _ deadline: ContinuousClock.Instant
  ) throws(StoreError) {
    guard let form else {
      return try connection.remove(
        from: "\(table.schema).plain", where: "domain = $1 AND name = $2", table.parameters(name), until: deadline)
    }
    let bytes = StoredPlain.encoded(form)
    try bytes.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in
      try connection.perform(
        """
        INSERT INTO \(table.schema).plain (domain, name, form, version) VALUES ($1, $2, $3, $4)
          ON CONFLICT (domain, name) DO UPDATE SET form = excluded.form, version = excluded.version
        """, table.parameters(name) + [.bytes(bytes), .number(version)], changesOne: true, until: deadline)
    }
  }

  // MARK: Afterwards

  /// Whether the commit is in effect; nil if the domain has forgotten it. Checked under the lock of all writers.
  func isMade(_ session: PostgresSession) throws(StoreError) -> Bool? {
    let look = PlainWrite(table, [])
    return try session.begin { (connection) throws(StoreError) in
      do throws(StoreError) {
        try connection.perform("BEGIN ISOLATION LEVEL READ COMMITTED", until: session.deadline)
        try look.begin(connection, session)
        let isThere = look.domain.version >= version
        let found = isThere ? try table.commit(version, connection, session) : nil
        // This commit waits for the standby: a restarted server no longer waits with the commit in question.
        try connection.commit(at: session.shown, until: session.deadline) {}
        return isThere ? found.map { $0 == id.bytes } : false
      } catch {
        connection.rollBack(until: session.deadline)
        throw error
      }
    }
  }
}

extension PlainTable {
  /// The query for the value of $2.
  var question: String {
    "SELECT \(PostgresSchema.cut("form", 16 * StoredPlain.largestValue)) FROM \(schema).plain WHERE domain = $1 AND name = $2 "
      + "LIMIT 1"
  }

  func parameters(_ name: String) -> [PostgresConnection.Parameter] { [.text(domain), .text(name)] }

  /// The value in an answer to ``question``.
  func form(_ answer: PostgresResult, of name: String) throws(StoreError) -> PlainForm? {
    try answer.check([PostgresResult.bytea])
    guard answer.count > 0 else { return nil }
    if let form = StoredPlain.decoded(try answer.bytes(0, 0)) { return form }
    throw damaged("the value is none that Coffer wrote", name)
  }

  /// The id of that commit; nil if forgotten, or if there was none.
  func commit(_ version: Int64, _ connection: PostgresConnection, _ session: PostgresSession) throws(StoreError) -> [UInt8]? {
    try askForCommit(version, connection, session)
    guard let answer = try connection.answers(doing: "look for a commit", until: session.deadline).first else {
      throw damaged("the server did not answer a query")
    }
    return try commit(answer)
  }

  func askForCommit(_ version: Int64, _ connection: PostgresConnection, _ session: PostgresSession) throws(StoreError) {
    try connection.ask(
      "SELECT id FROM \(schema).plain_commit WHERE domain = $1 AND version = $2 LIMIT 1", [.text(domain), .number(version)],
      until: session.deadline)
  }

  func commit(_ answer: PostgresResult) throws(StoreError) -> [UInt8]? {
    try answer.check([PostgresResult.bytea])
    return answer.count > 0 ? [UInt8](try answer.bytes(0, 0)) : nil
  }

  func conflict(_ name: String) -> StoreError {
    StoreError(.conflict, "it was changed since it was read", key: name, place: place, cure: "read it again and retry")
  }

  func damaged(_ what: String, _ name: String? = nil) -> StoreError {
    StoreError(.damaged, what, key: name, place: place, cure: "ask who can write to this database, or set the value again")
  }
}
