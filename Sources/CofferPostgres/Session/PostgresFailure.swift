internal import CofferPlatform

/// A failed statement's SQLSTATE, without its message, which the server chose.
struct PostgresFailure: Error, CustomStringConvertible {
  let state: String

  /// Replaces anything but five valid characters.
  init(_ state: String?) {
    let isCode =
      state.map { $0.utf8.count == 5 && $0.utf8.allSatisfy { (48...57).contains($0) || (65...90).contains($0) } } ?? false
    self.state = isCode ? state ?? "" : "XX000"
  }

  var description: String { "PostgreSQL \(state)" }
}

extension StoreError {
  /// A statement refused by the server. Codes: "PostgreSQL Error Codes" of its documentation.
  init(_ failure: PostgresFailure, _ doing: String, place: String) {
    let (kind, cure) = Self.decision(failure.state)
    let what = kind == .noSpace ? "the server has no room left: could not \(doing)" : "could not \(doing)"
    self.init(kind, what, place: place, cure: cure, underlying: failure)
  }

  private static func decision(_ state: String) -> (Kind, String) {
    switch state {
    case "55P03", "40001", "40P01": (.busy, "another machine is writing there: try again")
    case "57014": (.busy, "the server ended a statement that took too long: try again; coffer_timeout=SECONDS gives it more time")
    // A change without effect (`PostgresConnection.perform`), also found by a query that skips damage.
    case "22012", "25P02":
      (
        .tampered,
        "a row was not changed as expected, so nothing was changed: ask who changes rows and triggers, or restore a backup"
      )
    case "25P03", "57P05": (.busy, "the server ended a transaction that took too long: try again")
    case "54000": (.busy, "the server's notification queue is full: end programs that listen and do not read, and try again")
    case "53100": (.noSpace, "free some space on the server and try again; nothing was changed")
    case "53300": (.busy, "the server has as many connections as it takes: try again, or raise max_connections")
    case "53200": (.memory, "free some memory on the server and try again")
    case "2BP01": (.refused, "the role has given rights to others: REVOKE them with CASCADE first")
    case "42501": (.denied, "ask the server's administrator for the rights that this takes: SharedVault says which")
    case "25006": (.readOnly, "give the place of a server that can be written, or the role of a writer")
    case "42P06": (.busy, "another machine did the same in this moment: try again")
    case "42P01", "3F000": (.noVault, "its tables are gone: restore a backup, or give the name of another")
    case "3D000": (.noVault, "make the database, or give the name of another")
    case "26000", "42P05":
      (.unsupported, "a pooler gives each transaction another connection: have it pool sessions, or bypass it")
    case let state where state.hasPrefix("28"): (.denied, "check the user and the server's pg_hba.conf")
    case let state where state.hasPrefix("08") || state.hasPrefix("57P"):
      (.unreachable, "the server went away: try again when it is back")
    case let state where state.hasPrefix("58") || state.hasPrefix("53") || state.hasPrefix("XX"):
      (.io(5), "ask the server's administrator to look at its log; nothing was changed")
    // Others mean statements that do not fit the tables. The statements are fixed, so the tables are wrong.
    default: (.damaged, "check a vault with verify, then restore a backup")
    }
  }
}

/// libpq's messages after a failed connection. They are English: the program sets no locale.
enum Unreached {
  /// Starts of libpq's messages about a wrong place: `conninfo_uri_parse_options` and others of its fe-connect.c.
  private static let ofPlaces = [
    "invalid ", "missing ", "unexpected ", "end of string", "forbidden value", "definition of service", "could not match",
  ]

  static func decision(_ text: String) -> (kind: StoreError.Kind, what: String, cure: String) {
    let unreached = "the server cannot be reached"
    if text.contains("FATAL:") {
      if text.contains("too many") || text.contains("connection slots") {
        return (.busy, unreached, "try again, or raise max_connections")
      }
      if text.contains("the database system is") || text.contains("terminating connection") {
        return (.unreachable, unreached, "try again when it has started")
      }
      return (.denied, "the server refused the connection", "check the user, the database and the server's pg_hba.conf")
    }
    if text.contains("no password supplied") {
      return (
        .denied, "the server wants a password", "keep it in ~/.pgpass, a file of mode 0600, or in a service file of libpq's"
      )
    }
    // Also while TLS begins, which the text then mentions.
    if ["SSL SYSCALL", "closed the connection", "Connection reset"].contains(where: text.contains) {
      return (.unreachable, unreached, "check that it can be reached, then try again")
    }
    if text.contains("certificate") || text.contains("SSL") || text.contains("private key file") {
      return (.denied, "the server cannot be trusted", "check sslmode, sslrootcert and the name of the host")
    }
    // Reported before any contact with a server.
    if Self.ofPlaces.contains(where: text.hasPrefix) {
      return (
        .invalidName, "libpq does not understand the place", "see libpq's documentation of connection URIs"
      )
    }
    return (.unreachable, unreached, "check that it can be reached, then try again")
  }
}
