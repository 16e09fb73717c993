internal import CofferDefaults
public import CofferPlatform
public import CofferStorage
internal import CofferVault
internal import Synchronization

/// A plain store on a PostgreSQL server, for the settings of a fleet: one domain in a database, which many machines read and
/// write.
///
/// Plain means readable: the server, its backups and whoever reads the database see these names and values. Secrets go to a
/// vault, which may lie in the same database; a router over both commits a transaction over them in one transaction of the
/// server. See <doc:SharedVault>.
///
/// ```swift
/// let settings = try PostgresDefaults.open(domain: "com.example.app", at: "postgresql://db.example.com/team#main")
/// ```
///
/// A write is durable when it returns. Names and values are held to what ``/CofferDefaults/DefaultsStore`` takes, and names are
/// told apart by their bytes. Nothing else than the domain is asked: there are no suites, overrides and registered values.
public final class PostgresDefaults: LayeredStore {
  /// Serves the plain route.
  public typealias R = Plain

  /// The domain that is read and written.
  public let domain: String
  /// The domain: a place has many.
  public var part: String { domain }
  /// The URL that was given.
  public var place: String { table.place }
  /// Changes to the domain: this store's own as they are made, all others once the server reports their commit, as those of
  /// another process with an unknown number.
  ///
  /// Of several changes to one name before a look, the last is reported. After a lost connection, missed changes are reported
  /// over the next one; if the database is another one by then, as after a restore, ``/CofferStorage/ChangeFeed/Event/access``
  /// takes their place. ``close()`` ends the feed.
  public var changes: ChangeFeed {
    feed.withLock { feed in
      if let feed { return feed }
      let new = ChangeFeed { [weak self] (_) throws(StoreError) in try self?.startWatching() ?? Subscription {} }
      feed = new
      return new
    }
  }

  let table: PlainTable
  let deciding = Deciding()
  private let state: Mutex<State>
  private let feed = Mutex<ChangeFeed?>(nil)
  /// The observers' knowledge is from before they left.
  let isStale = Atomic<Bool>(false)

  /// One thread at a time is let in.
  struct State {
    let session: PostgresSession
    var isClosed = false
    /// The domain as observers know it; nil while nobody observes, and until it is looked at.
    var known: KnownDomain?
  }

  private init(_ table: PlainTable, _ session: sending PostgresSession) {
    domain = table.domain
    self.table = table
    state = Mutex(State(session: session))
  }

  deinit { feed.withLock { $0 }?.end() }

  /// Opens the domain `domain` of a database, in the schema that `place` names. Tables for plain values are made where there are
  /// none.
  ///
  /// - Parameters:
  ///   - domain: the domain's name, as one in a file has: 1 to 200 bytes without slashes and control characters.
  ///   - place: `postgresql://[user@]host[,host2]/database[?options]#name`, as a vault's: see <doc:SharedVault>.
  /// - Throws: ``/CofferPlatform/StoreError`` `.invalidName` for a domain or a place that is none, and for a place with a
  ///   password; `.unsupported` without libpq and for a file; `.unreachable`, `.denied`, `.busy`; `.damaged` where the tables are
  ///   not those of plain values.
  public static func open(domain: String, at place: VaultPlace) throws(StoreError) -> PostgresDefaults {
    let domain = try StoredPlain.checked(domain: domain)
    guard let url = place.url else {
      throw StoreError(
        .unsupported, "this plain store is on a server, and this place is a file", place: place.description,
        cure: "write postgresql://host/database#name, or open a DefaultsStore")
    }
    // A place of a known scheme is shown in errors, and a program that opens settings here opens the vault beside them.
    PostgresVaults.use()
    let session = PostgresSession(try PostgresPlace(url), patience: nil, away: nil, most: PostgresLink.mostPlainReceived)
    _ = try session.open()
    let table = PlainTable(schema: session.place.schema, domain: domain, place: url)
    try make(table, session)
    return PostgresDefaults(table, session)
  }

  /// Makes the tables where there are none.
  private static func make(_ table: PlainTable, _ session: PostgresSession) throws(StoreError) {
    guard ["UTF8", "SQL_ASCII"].contains(session.facts.encoding) else {
      throw StoreError(
        .unsupported, "the database does not keep text in UTF-8", place: table.place,
        cure: "make a database with ENCODING 'UTF8', and give its place")
    }
    if session.facts.plainTables.isEmpty {
      do throws(StoreError) { try makeTables(table, session) } catch {
        // Another machine made them at the same moment, or they were made without an answer: the tables show it.
        guard error.isOfSomethingThere || error.kind == .outcomeUnknown else { throw error }
      }
      session.close()
      _ = try session.open()
    }
    guard session.facts.plainTables == PlainSchema.text else {
      throw table.damaged("the schema \(table.schema) does not have the tables of plain values, or has others of their names")
    }
  }

  private static func makeTables(_ table: PlainTable, _ session: PostgresSession) throws(StoreError) {
    _ = try session.open()
    let statements = PlainSchema.statements(table.schema, makesSchema: !session.facts.hasSchema)
    let connection = try session.makeTables(statements, "make the tables of plain values")
    try connection.commit(at: session.shown, until: session.deadline) {}
  }

  /// Lets this thread in.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.closed`, `.reentrant`, `.afterFork`.
  func run<Result: Sendable>(_ body: (inout State) throws(StoreError) -> Result) throws(StoreError) -> Result {
    try Reentrancy.check(place)
    try deciding.check(place)
    try ForkedChild.refuse("use a connection of its parent", place: place)
    return try state.withLock { (state) throws(StoreError) in
      guard !state.isClosed else {
        throw StoreError(.closed, "the store was closed", place: place, cure: "open it again")
      }
      return try body(&state)
    }
  }

  /// Ends the store's use: later calls throw ``/CofferPlatform/StoreError/Kind/closed``. Closing twice does nothing.
  public func close() throws(StoreError) {
    try Reentrancy.check(place)
    try deciding.check(place)
    state.withLock { state in
      state.isClosed = true
      state.session.close()
      state.known = nil
    }
    changes.end()
  }
}

// Reads ask the server each time, and return another machine's last write.
extension PostgresDefaults {
  /// The value of `name`; nil when the domain has none.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.unreachable`, `.damaged`, `.closed`, `.reentrant`.
  public func load(_ name: String) throws(StoreError) -> PlainForm? {
    try run { (state) throws(StoreError) in
      let session = state.session
      return try session.begin { (connection) throws(StoreError) in
        try connection.ask(table.question, table.parameters(name), until: session.deadline)
        return try table.form(answer(connection, session), of: name)
      }
    }
  }

  /// Several values from one moment.
  public func load(_ names: [String]) throws(StoreError) -> [Reading<Plain>] {
    try run { (state) throws(StoreError) in try snapshot(names, state.session).readings }
  }

  /// All names with a value, ascending.
  public func names() throws(StoreError) -> [String] {
    try run { (state) throws(StoreError) in
      let session = state.session
      return try session.begin { (connection) throws(StoreError) in
        try askForNames(connection, session)
        return try names(answer(connection, session)).sorted()
      }
    }
  }

  func askForNames(_ connection: PostgresConnection, _ session: PostgresSession) throws(StoreError) {
    // One more than there can be.
    try connection.ask(
      "SELECT name FROM \(table.schema).plain WHERE domain = $1 LIMIT \(StoredPlain.mostNames + 1)", [.text(domain)],
      until: session.deadline)
  }

  func names(_ answer: PostgresResult) throws(StoreError) -> [String] {
    guard answer.count <= StoredPlain.mostNames else { throw table.damaged("the domain has more names than one can have") }
    var names: [String] = []
    for row in 0..<answer.count { names.append(try answer.text(row, 0)) }
    return names
  }

  private func answer(_ connection: PostgresConnection, _ session: PostgresSession) throws(StoreError) -> PostgresResult {
    guard let answer = try connection.answers(doing: "read the domain", until: session.deadline).first else {
      throw table.damaged("the server did not answer a query")
    }
    return answer
  }

  /// The values of `names` from one moment, and the number of the commit that was the last by then.
  func snapshot(
    _ names: [String], _ session: PostgresSession
  ) throws(StoreError) -> (version: Int64, readings: [Reading<Plain>]) {
    let answers = try reading(session) { (connection) throws(StoreError) in
      try connection.ask(
        "SELECT version FROM \(table.schema).plain_domain WHERE domain = $1 LIMIT 1", [.text(domain)], until: session.deadline)
      for name in names { try connection.ask(table.question, table.parameters(name), until: session.deadline) }
      return try connection.answers(doing: "read the domain", until: session.deadline)
    }
    guard answers.count == names.count + 1 else { throw table.damaged("the server did not answer a query") }
    var readings: [Reading<Plain>] = []
    for (name, answer) in zip(names, answers.dropFirst()) {
      let form = try table.form(answer, of: name)
      readings.append(Reading(form: form, stamp: form))
    }
    return (try answers[0].count > 0 ? answers[0].number(0, 0) : 0, readings)
  }

  /// Runs `body` in a transaction that sees one moment.
  func reading<Result>(
    _ session: PostgresSession, _ body: (PostgresConnection) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try session.begin { (connection) throws(StoreError) in
      try connection.perform("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", until: session.deadline)
      do throws(StoreError) {
        let result = try body(connection)
        try connection.endReading(until: session.deadline)
        return result
      } catch {
        connection.rollBack(until: session.deadline)
        throw error
      }
    }
  }
}
