internal import CofferPlatform
internal import CofferVaultRows

extension PostgresServer {
  /// Numbers suffice: names of roles and settings are not repeated. Every role sees the rows of `pg_stat_replication`, but
  /// only some see `sync_state`: for the others, all standbys count as awaited. Running backups and subscribers are no
  /// standbys.
  private static let question = """
    SELECT (SELECT CASE WHEN rolsuper THEN 1::bigint ELSE 0 END FROM pg_roles WHERE rolname = current_user),
      \(PostgresSchema.isAsynchronous),
      (SELECT count(*) FROM pg_stat_replication WHERE coalesce(state, '') <> 'backup'
        AND pid NOT IN (SELECT active_pid FROM pg_replication_slots WHERE slot_type = 'logical' AND active_pid IS NOT NULL)),
      CASE WHEN current_setting('synchronous_standby_names') = '' THEN 0::bigint
        ELSE (SELECT count(*) FROM pg_stat_replication WHERE coalesce(sync_state, 'sync') IN ('sync', 'quorum')) END,
      (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
      (SELECT count(*) FROM pg_class c, aclexplode(c.relacl) a WHERE c.relnamespace = n.oid AND a.grantee = 0)
        + (SELECT count(*) FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid, aclexplode(t.attacl) a
          WHERE c.relnamespace = n.oid AND a.grantee = 0),
      (SELECT count(*) FROM pg_class c WHERE c.relnamespace = n.oid AND c.relkind = 'r'
        AND current_setting('default_transaction_read_only') = 'off' AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE')),
      CASE WHEN current_setting('default_transaction_read_only') = 'off' THEN 0::bigint ELSE 1 END,
      (SELECT count(*) FROM pg_class c WHERE c.relnamespace = n.oid AND c.relrowsecurity)
        + (SELECT count(*) FROM pg_class c JOIN pg_trigger t ON t.tgrelid = c.oid
          WHERE c.relnamespace = n.oid AND NOT t.tgisinternal)
        + (SELECT count(*) FROM pg_class c JOIN pg_rewrite r ON r.ev_class = c.oid
          WHERE c.relnamespace = n.oid AND c.relkind = 'r')
      FROM (SELECT 1) one LEFT JOIN pg_namespace n ON n.nspname = $1
    """

  /// The most schemas of copies; further ones are not listed.
  private static let mostCopies = 100

  func report(_ url: String) throws(StoreError) -> ServerReport {
    let session = PostgresSession(try PostgresPlace(url), patience: nil)
    let connection = try session.open()
    defer { session.close() }
    // The server's clock was read between the question and the answer.
    let asked = Self.now()
    try connection.ask(Self.question, [.text(session.place.schema)], until: session.deadline)
    let facts = try connection.answers(doing: "ask the server about itself", until: session.deadline)
    let answered = Self.now()
    try connection.ask(
      "SELECT nspname::text FROM pg_namespace WHERE starts_with(nspname, $1) ORDER BY nspname LIMIT \(Self.mostCopies)",
      [.text("coffer_\(session.place.nameOfCopies)")], until: session.deadline)
    let names = try connection.answers(doing: "look for copies", until: session.deadline)
    guard let row = facts.first, row.count == 1, let names = names.first else {
      throw StoreError(.damaged, "the server sent an unexpected answer", place: url, cure: "check what is at that address")
    }
    try row.check([UInt32](repeating: PostgresResult.bigint, count: 9))
    var report = ServerReport()
    let parameters = connection.parameters
    report.isThisMachine = connection.host.hasPrefix("/") || (connection.host == "localhost" && parameters["hostaddr"] == nil)
    report.isEncrypted = connection.usesTLS
    report.provesHost = parameters["sslmode"] == "verify-full"
    report.isSuperuser = try row.number(0, 0) == 1
    report.mayWrite = session.facts.mayWrite
    report.acknowledgesEarly = try row.number(0, 1) == 1
    report.allowsEarly = session.place.allowsAsynchronousCommit
    report.standbys = Int(try row.number(0, 2))
    report.awaitedStandbys = Int(try row.number(0, 3))
    report.isOpenToAll = try row.number(0, 5) > 0
    report.mayWriteSome = try row.number(0, 6) > 0
    report.isReadOnly = try row.number(0, 7) > 0
    report.foreignRules = Int(clamping: try row.number(0, 8))
    let clock = Double(try row.number(0, 4)) / 1000
    report.clockAhead = clock > answered ? clock - answered : clock < asked ? clock - asked : 0
    let head = url.prefix { $0 != "#" }
    for index in 0..<names.count {
      report.keptCopies.append(VaultPlace("\(head)#\(try names.text(index, 0).dropFirst("coffer_".utf8.count))"))
    }
    return report
  }

  /// Seconds since 1970 on this machine.
  static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1_000_000_000
  }
}
