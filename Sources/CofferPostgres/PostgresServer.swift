internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import CofferVaultRows

/// Vaults on PostgreSQL servers: see <doc:SharedVault>.
public enum PostgresVaults {
  /// Lets this process open the vaults of places such as `postgresql://host/database#name`, as a
  /// ``/CofferVaultRows/VaultPlace`` from a text or a literal. Call it before opening the first of them; further calls have
  /// no effect. libpq is loaded when a place first names a server.
  ///
  /// ```swift
  /// PostgresVaults.use()
  /// let vault = try LockedVault.open("postgresql://db.example.com/team#main", options: options)
  /// ```
  public static func use() {
    for scheme in PostgresPlace.schemes { VaultServers.use(PostgresServer(), forScheme: scheme) }
  }

  /// The variables from which libpq completes a place, except the password. A program passes them on to one that it starts
  /// for the same places. Source: "libpq — C Library, Environment Variables"; krb5(7) for the last.
  package static let variables = [
    "PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGPASSFILE", "PGREQUIREAUTH", "PGCHANNELBINDING", "PGSERVICE",
    "PGSERVICEFILE", "PGSYSCONFDIR", "PGOPTIONS", "PGSSLMODE", "PGSSLNEGOTIATION", "PGSSLCERT", "PGSSLKEY", "PGSSLCERTMODE",
    "PGSSLROOTCERT", "PGSSLCRL", "PGSSLCRLDIR", "PGSSLSNI", "PGSSLMINPROTOCOLVERSION", "PGSSLMAXPROTOCOLVERSION", "PGREQUIREPEER",
    "PGKRBSRVNAME", "PGGSSENCMODE", "PGGSSLIB", "PGGSSDELEGATION", "PGLOADBALANCEHOSTS", "KRB5CCNAME",
  ]

  /// The reason why libpq cannot be loaded; nil if it can.
  package static func obstacle() -> String? {
    do throws(StoreError) { _ = try PostgresLibrary.load() } catch { return error.what }
    return nil
  }
}

struct PostgresServer: VaultServer {
  func check(_ url: String) throws(StoreError) { _ = try PostgresPlace(url) }

  func open(_ url: String, patience: Int32?) throws(StoreError) -> sending any VaultRows { try rows(url, patience) }

  func openToReplace(_ url: String) throws(StoreError) -> any ServerRows { try rows(url, nil) }

  func rows(_ url: String, _ patience: Int32?) throws(StoreError) -> sending PostgresRows {
    let session = PostgresSession(try PostgresPlace(url), patience: patience)
    _ = try session.open()
    guard session.facts.hasVault || !session.facts.isStandby else {
      throw StoreError(
        .unreachable, "the standby does not have the vault", place: url,
        cure: "try again when it has caught up, or read from the primary")
    }
    guard session.facts.hasVault else {
      throw StoreError(
        .noVault, "there is no vault", place: url, cure: "create one with UnlockedVault.create, or give the name of another",
        remedy: .makeVault)
    }
    guard session.facts.tables == PostgresSchema.text else {
      if session.facts.tables == PostgresSchema.textWithoutQueue {
        throw StoreError(
          .notAVault, "the vault is from before its writers had a queue", place: url,
          cure: "have its owner make the table: \(PostgresSchema.makingQueue(session.place.schema))")
      }
      throw StoreError(
        .notAVault, "the schema \(session.place.schema) does not have the tables of a vault, or not all of them can be seen",
        place: url,
        cure:
          "give the name of a vault, or ask the server's administrator for the rights of a reader; if its tables were changed, "
          + "have the schema renamed, and restore a backup"
      )
    }
    return PostgresRows(session)
  }

  func find(_ url: String) throws(StoreError) -> VaultPlace {
    let session = PostgresSession(try PostgresPlace(url), patience: nil)
    _ = try session.open()
    defer { session.close() }
    return session.shown
  }

  func named(_ url: String) throws(StoreError) -> VaultPlace {
    let place = try PostgresPlace(url)
    let named = try PostgresHandle.names(place)
    return VaultPlace(found: url, scheme: "postgresql", names: named.all)
  }

  func create(
    _ url: String, granting roles: [ServerRole], fill: (any VaultRows) throws(StoreError) -> Void
  ) throws(StoreError) -> sending any VaultRows {
    let session = PostgresSession(try PostgresPlace(url), patience: nil)
    _ = try session.open()
    guard !session.facts.hasVault else { throw Self.taken(url) }
    try Self.check(roles, session)
    let rows = PostgresRows(session)
    do throws(StoreError) { try rows.make(granting: roles, fill) } catch {
      guard error.kind == .outcomeUnknown, rows.hasLostCommit else { throw error }
      try LostAnswer(error, of: "the vault", at: url).settle { () throws(StoreError) in try rows.isMade() }
    }
    // The session's facts are from before its tables.
    session.close()
    return try open(url, patience: nil)
  }

  func turn(_ url: String) throws(StoreError) -> (any ServerTurn)? { try PostgresTurn.take(PostgresPlace(url)) }

  func watch(_ url: String, _ body: @escaping @Sendable () throws(StoreError) -> Void) throws(StoreError) -> Subscription {
    try PostgresWatch(PostgresPlace(url), body).start()
  }

  static func taken(_ url: String) -> StoreError {
    StoreError(.alreadyExists, "a vault of that name is there already", place: url, cure: "open it, or choose another name")
  }
}
