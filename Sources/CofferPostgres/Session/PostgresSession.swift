internal import CofferPlatform

/// A connection to a place's server, with a vault's settings, remade after a loss.
final class PostgresSession {
  let place: PostgresPlace
  /// The longest wait for anything.
  let patience: Duration
  /// The cure for an unreachable server: a vault may have a mirror, settings have none.
  private let away: StoreError.Remedy?
  private let mostReceived: Int
  private var connection: PostgresConnection?
  /// The server's facts at the last contact.
  private(set) var facts = Facts()
  /// The number of connections made.
  private(set) var made = 0

  /// Facts about a server and this role.
  struct Facts {
    /// The place under its hosts' names.
    var found: VaultPlace?
    /// The vault's tables in the schema, in the form of ``PostgresSchema/text``; empty if there are none.
    var tables = ""
    var hasSchema = false
    /// Whether there is any table other than those of plain values.
    var hasVault: Bool { !tables.isEmpty }
    var mayWrite = false
    var isStandby = false
    /// The tables of plain values, in the form of ``PlainSchema/text``; empty if there are none.
    var plainTables = ""
    var mayWritePlain = false
    var encoding = ""
    /// The names of the database itself.
    var database: [[UInt8]] = []
  }

  init(_ place: PostgresPlace, patience: Int32?, away: StoreError.Remedy? = .readMirror, most: Int = PostgresLink.mostReceived) {
    (self.place, mostReceived) = (place, most)
    self.away = away
    self.patience = patience.map { .milliseconds(Int64($0)) } ?? place.patience
  }

  /// The place in errors.
  var shown: VaultPlace { facts.found ?? VaultPlace(place.url) }

  /// Later than the server's own limits: the server reports a timeout first.
  var deadline: ContinuousClock.Instant { .now + patience + .seconds(2) }

  /// A usable connection, remade after a loss.
  func open() throws(StoreError) -> PostgresConnection {
    try Waiting.refuse(at: place.url)
    if let connection, !connection.isLost { return connection }
    connection = nil
    let parameters = try PostgresHandle.parameters(of: place)
    let new = PostgresConnection(try connect(parameters))
    facts = try learn(new, parameters)
    connection = new
    made += 1
    return new
  }

  private var milliseconds: Int64 { Int64(patience / .milliseconds(1)) }
  /// Seconds between checks whether the peer is alive.
  private var seconds: Int64 { max(2, (milliseconds + 999) / 1000) }

  /// Connects to the place's first host that accepts this program and is writable. libpq would spend all hosts' time on a
  /// silent one: its `connect_timeout` is for blocking calls.
  private func connect(_ parameters: PlaceParameters) throws(StoreError) -> PostgresLink {
    let options = [
      ("fallback_application_name", "coffer"), ("connect_timeout", String(seconds)), ("client_encoding", "UTF8"),
      // A standby lags. From a server with read-only transactions by default, only reading is wanted.
      ("target_session_attrs", "primary"), ("tcp_user_timeout", String(milliseconds)), ("keepalives_idle", String(seconds)),
      // Otherwise Linux asks again after 75 s, until when a mere listener notices nothing.
      ("keepalives_interval", String(seconds)),
    ]
    let alone = parameters.alone
    var hosts = alone.isEmpty ? [[]] : alone
    if place.prefersStandby {
      hosts = ["standby", "any"].flatMap { kind in hosts.map { $0 + [("target_session_attrs", kind)] } }
    }
    var refusal: StoreError?
    for host in hosts {
      do throws(StoreError) {
        return try PostgresLink(
          place.connection, place: VaultPlace(place.url), options: options, overriding: host, away: away, most: mostReceived,
          until: .now + max(patience, .seconds(2)))
      } catch {
        guard hosts.count > 1, error.kind == .unreachable || error.kind == .busy else { throw error }
        refusal = error
      }
    }
    throw refusal ?? StoreError(.unreachable, "no host is named", place: place.url, cure: "name one in the place")
  }

  func close() { connection = nil }

  /// Begins a transaction by `body`, and retries after the loss of an existing connection: the server may have been
  /// restarted, and nothing was asked of it yet.
  func begin<Result>(_ body: (PostgresConnection) throws(StoreError) -> Result) throws(StoreError) -> Result {
    let before = made
    let connection = try open()
    do throws(StoreError) { return try body(connection) } catch {
      guard connection.isLost, !connection.wasLate, made == before, before > 0 else { throw error }
      return try body(open())
    }
  }

  /// Refuses to write if the server does not wait for its disk, unless the place allows it.
  func checkDurability(_ isAsynchronous: Int64) throws(StoreError) {
    guard isAsynchronous != 0, !place.allowsAsynchronousCommit else { return }
    throw StoreError(
      .refused, "the server acknowledges commits before they are durable", place: shown.description,
      cure: "set synchronous_commit and fsync to on; or say coffer_allow_async=1 in the place, and accept losses in a crash")
  }

  /// Makes tables by `statements` in a new transaction, if the server waits for its disk; the caller commits.
  func makeTables(_ statements: [String], _ doing: String) throws(StoreError) -> PostgresConnection {
    let connection = try open()
    do throws(StoreError) {
      try connection.perform("BEGIN ISOLATION LEVEL READ COMMITTED", until: deadline)
      try connection.ask("SELECT \(PostgresSchema.isAsynchronous)", until: deadline)
      for sql in statements { try connection.perform(sql, until: deadline) }
      for answer in try connection.answers(doing: doing, until: deadline) {
        try answer.check([PostgresResult.bigint])
        try checkDurability(answer.number(0, 0))
      }
    } catch {
      connection.rollBack(until: deadline)
      throw error
    }
    return connection
  }

  private func learn(_ new: PostgresConnection, _ parameters: PlaceParameters) throws(StoreError) -> Facts {
    var (backend, answer) = try settle(new, behind: new.backend)
    if backend != new.backend {
      try checkPool(new, backend, parameters)
      let before = backend
      (backend, answer) = try settle(new, behind: before)
      guard backend == before else { throw pooled }
    }
    var facts = Facts()
    facts.hasSchema = try answer.text(0, 0) == "1"
    facts.tables = try answer.text(0, 1)
    facts.mayWrite = try answer.text(0, 2) == "1"
    facts.plainTables = try answer.text(0, 3)
    facts.mayWritePlain = try answer.text(0, 4) == "1"
    facts.encoding = try answer.text(0, 5)
    facts.isStandby = try answer.text(0, 6) == "1"
    // All of its hosts, whichever was reached.
    let names = PlaceNames(parameters, host: new.host, name: place.name)
    facts.database = PlaceNames(parameters, host: new.host, name: "").all
    facts.found = VaultPlace(found: place.url, scheme: "postgresql", names: names.all)
    return facts
  }

  /// Sets the connection's settings if it speaks to the process `backend`, and reads the tables. A pooler's shared
  /// connection must get neither settings nor prepared statements.
  ///
  /// Schemas in which others can make objects are not searched: all names but the system's are qualified. Each query has one
  /// good plan, by an index: planning for each value costs more than many of them take. A machine that is gone sends no end:
  /// the server probes it, as it holds locks for it.
  private func settle(
    _ new: PostgresConnection, behind backend: String
  ) throws(StoreError) -> (backend: String, tables: PostgresResult) {
    let end = ContinuousClock.now + max(patience, .seconds(2))
    try new.ask(
      """
      SELECT pg_catalog.pg_backend_pid()::text, (SELECT pg_catalog.count(pg_catalog.set_config(name, value, false)) FROM (VALUES
          ('search_path', 'pg_catalog, pg_temp'), ('client_min_messages', 'warning'), ('plan_cache_mode', 'force_generic_plan'),
          ('lock_timeout', $1::text), ('tcp_user_timeout', $1), ('statement_timeout', $2::text),
          ('idle_in_transaction_session_timeout', $2), ('tcp_keepalives_idle', $3::text), ('tcp_keepalives_interval', $3)
        ) settings (name, value) WHERE pg_catalog.pg_backend_pid()::text OPERATOR(pg_catalog.=) $4)
      """,
      [.text("\(milliseconds)ms"), .text("\(milliseconds + 1000)ms"), .text("\(seconds)s"), .text(backend)], isKept: false,
      until: end)
    try new.ask(PostgresSchema.question, [.text(place.schema)], isKept: false, until: end)
    let answers = try new.answers(doing: "look at the tables", until: end)
    guard answers.count == 2, answers[0].count == 1, answers[1].count == 1 else {
      throw StoreError(
        .damaged, "the server sent an unexpected answer", place: place.url, cure: "check what is at that address")
    }
    return (try answers[0].text(0, 0), answers[1])
  }

  /// Checks whether a pooler gives each transaction another connection: then a second client meets the first one's process,
  /// or the first one meets another. Taking turns distinguishes any pool from connections kept for one client.
  private func checkPool(_ new: PostgresConnection, _ backend: String, _ parameters: PlaceParameters) throws(StoreError) {
    let other = PostgresConnection(try connect(parameters))
    for (connection, isOther) in [(other, true), (new, false), (new, false), (other, true), (new, false), (new, false)] {
      let found = try settle(connection, behind: "").backend
      guard (found == backend) != isOther else { throw pooled }
    }
  }

  private var pooled: StoreError {
    StoreError(
      .unsupported, "a pooler gives each transaction another connection", place: place.url,
      cure: "have it pool sessions, or bypass it")
  }
}

/// The tables of a vault on a server, equal to those of a file.
enum PostgresSchema {
  private static let tables: [(name: String, columns: [(name: String, type: String, isNullable: Bool)])] = [
    ("decided", [("txid", "bytea", false), ("outcome", "bigint", false), ("time", "bigint", false)]),
    ("digest", [("bucket", "bigint", false), ("hash", "bytea", false)]),
    ("header", [("id", "bigint", false), ("bytes", "bytea", false)]),
    ("header_copy", [("id", "bigint", false), ("bytes", "bytea", false)]),
    ("intents", [("id", "bytea", false), ("box", "bytea", false)]),
    ("log", [("seq", "bigint", false), ("box", "bytea", false)]),
    ("old", [("idx", "bytea", false), ("rid", "bytea", false), ("meta", "bytea", false), ("value", "bytea", true)]),
    ("rec", [("idx", "bytea", false), ("rid", "bytea", false), ("meta", "bytea", false), ("value", "bytea", true)]),
    ("state", [("id", "bigint", false), ("bytes", "bytea", false)]),
  ]

  static let names = tables.map(\.name)

  /// The tables, as ``question`` describes a vault's.
  static let text = text { _ in true }
  static let textWithoutQueue = text { $0 != "intents" }

  private static func text(where isTable: (String) -> Bool) -> String {
    tables.filter { isTable($0.name) }.map { table in
      table.columns.map { "\(table.name).\($0.name):\($0.type)\($0.isNullable ? "" : "!")" }.joined(separator: " ")
    }.joined(separator: " ")
  }

  static func makingQueue(_ schema: String) -> String {
    statements(schema).filter { $0.contains("\(schema).intents") }.joined(separator: "; ")
  }

  /// Whether the schema $1 exists, its tables, and whether this role may write to them; the same for plain values, and the
  /// database's encoding. Only plain tables count, not views. A description that is too long is cut.
  static let question = """
    SELECT CASE WHEN n.oid IS NULL THEN '0' ELSE '1' END, left(\(described("NOT IN")), 4096), \(mayWrite("NOT IN")),
      left(\(described("IN")), 4096), \(mayWrite("IN")), current_setting('server_encoding'),
      CASE WHEN pg_is_in_recovery() THEN '1' ELSE '0' END
    FROM (SELECT 1) one LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = $1
    """

  private static func described(_ which: String) -> String {
    """
    coalesce((SELECT string_agg(c.relname || '.' || a.attname || ':' || pg_catalog.format_type(a.atttypid, NULL) || CASE WHEN \
    a.attnotnull THEN '!' ELSE '' END,
          ' ' ORDER BY c.relname COLLATE "C", a.attnum)
        FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = n.oid AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped AND \(ofPlain(which))), '')
    """
  }

  private static func mayWrite(_ which: String) -> String {
    """
    CASE WHEN current_setting('default_transaction_read_only') = 'off' AND coalesce((SELECT bool_and(has_table_privilege(c.oid, \
    'INSERT') AND has_table_privilege(c.oid, 'UPDATE')
            AND has_table_privilege(c.oid, 'DELETE'))
          FROM pg_catalog.pg_class c WHERE c.relnamespace = n.oid AND c.relkind = 'r' AND \(ofPlain(which))), false) THEN '1' \
    ELSE '0' END
    """
  }

  private static func ofPlain(_ which: String) -> String {
    "c.relname \(which) (\(PlainSchema.names.map { "'\($0)'" }.joined(separator: ", ")))"
  }

  /// A column of bytes, cut to one more than the maximum.
  static func cut(_ column: String, _ most: Int) -> String { "substring(\(column) FROM 1 FOR \(most + 1))" }

  /// Sealed bytes cannot be compressed: compression is off.
  static func statements(_ schema: String, makesSchema: Bool = true) -> [String] {
    (makesSchema ? ["CREATE SCHEMA \(schema)"] : [])
      + tables.flatMap { table in
        let columns = table.columns.enumerated().map { place, column in
          "\(column.name) \(column.type)" + (column.isNullable ? "" : " NOT NULL") + (place == 0 ? " PRIMARY KEY" : "")
        }
        let make = "CREATE TABLE \(schema).\(table.name) (\(columns.joined(separator: ", ")))"
        return [make]
          + table.columns.dropFirst().filter { $0.type == "bytea" }.map {
            "ALTER TABLE \(schema).\(table.name) ALTER COLUMN \($0.name) SET STORAGE EXTERNAL"
          }
      }
  }

  /// Whether the server acknowledges commits that a crash may take, or that a promoted standby may lack.
  static let isAsynchronous = """
    CASE WHEN current_setting('fsync') = 'off' OR current_setting('synchronous_commit') IN ('off', 'local')
      THEN 1::bigint ELSE 0::bigint END
    """

  static let isReplicated = "SELECT CASE WHEN current_setting('synchronous_standby_names') = '' THEN 0::bigint ELSE 1 END"

  static func copying(_ schema: String, to copy: String) -> [String] {
    statements(copy) + tables.map { "INSERT INTO \(copy).\($0.name) SELECT * FROM \(schema).\($0.name)" }
  }
}

/// A place's names in a pin's name: one for each host among its parameters, after libpq's defaults, service file and
/// environment. User, options and address do not count: they lead to the same rows.
struct PlaceNames {
  private(set) var all: [[UInt8]] = []

  init(_ parameters: PlaceParameters, host reached: String, name: String) {
    for (host, port) in parameters.named {
      let named = host.isEmpty ? Self.canonical(reached) : Self.canonical(host)
      var bytes = Array("pg\0".utf8)
      Self.append(named, to: &bytes)
      let number = UInt16(port) ?? 5432
      bytes += [UInt8(number & 255), UInt8(number >> 8)]
      Self.append(parameters.database, to: &bytes)
      Self.append(name, to: &bytes)
      if !all.contains(bytes) { all.append(bytes) }
    }
  }

  /// A host in lower case without its final dot, or a socket's folder without links.
  private static func canonical(_ host: String) -> String {
    guard host.hasPrefix("/") else {
      let lower = host.lowercased()
      return lower.hasSuffix(".") ? String(lower.dropLast()) : lower
    }
    guard let real = realpath(host, nil) else { return host }
    defer { free(real) }
    return String(cString: real)
  }

  private static func append(_ text: String, to bytes: inout [UInt8]) {
    let count = UInt32(clamping: text.utf8.count)
    for shift in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: count >> shift)) }
    bytes += text.utf8
  }
}
