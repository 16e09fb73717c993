internal import CofferPlatform

/// A vault on a PostgreSQL server: `postgresql://[user@]host[,host2]/database[?options]#name`; the name is `main` by
/// default.
///
/// The part before `#` is libpq's: "libpq — C Library, Connection URIs". A password is refused, because places appear in
/// arguments, messages and unit files; libpq finds one in `~/.pgpass`.
struct PostgresPlace: Sendable {
  /// libpq's schemes.
  static let schemes = ["postgresql", "postgres"]
  /// An identifier has at most 63 bytes: it begins with `coffer_`, and a copy's ends with its time.
  private static let longestName = 50
  /// Seconds that any wait may take, unless the place sets them.
  private static let usualPatience = 15
  /// A day: nobody waits longer.
  private static let mostPatience = 86_400

  /// As given.
  let url: String
  /// The part for libpq.
  let connection: String
  let name: String
  /// Whether to write although the server acknowledges commits before they are durable.
  let allowsAsynchronousCommit: Bool
  let patience: Duration
  /// Whether each host is asked for a standby first. libpq would ask one host at a time.
  let prefersStandby: Bool

  var schema: String { "coffer_\(name)" }

  /// The prefix of the names of copies; a time of 13 digits follows.
  var nameOfCopies: String { "\(name.prefix(Self.longestName - 21))_before_" }

  /// - Throws: ``/CofferPlatform/StoreError/Kind/invalidName``.
  init(_ url: String) throws(StoreError) {
    let parts = url.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
    let address = parts[0]
    name = parts.count == 2 ? String(parts[1]) : "main"
    guard (1...Self.longestName).contains(name.utf8.count), name.utf8.allSatisfy(Self.isOfName) else {
      throw Self.malformed("the part after # is not the name of a vault", "give 1 to 50 of the characters a-z, 0-9 and _")
    }
    guard let scheme = Self.schemes.first(where: { address.hasPrefix("\($0)://") }) else {
      throw Self.malformed("it is not a PostgreSQL URL", "write postgresql://host/database#name")
    }
    let rest = address.dropFirst(scheme.utf8.count + 3)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    if let at = authority.lastIndex(of: "@"), authority[..<at].contains(":") { throw Self.password() }
    let query = rest.firstIndex(of: "?")
    var (patience, allows, kept) = (Self.usualPatience, false, [Substring]())
    for option in query.map({ rest[rest.index(after: $0)...].split(separator: "&") }) ?? [] {
      let halves = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let value = halves.count == 2 ? String(halves[1]) : ""
      // libpq reports a badly encoded name.
      switch PercentEncoding.decode(halves[0].utf8).map({ String(decoding: $0, as: UTF8.self) }) {
      case "password", "sslpassword": throw Self.password()
      case "coffer_timeout":
        guard let seconds = Int(value), (1...Self.mostPatience).contains(seconds) else {
          throw Self.malformed("coffer_timeout is not a number of seconds", "give 1 to \(Self.mostPatience)")
        }
        patience = seconds
      case "coffer_allow_async":
        guard value == "1" || value == "0" else {
          throw Self.malformed("coffer_allow_async is neither 0 nor 1", "leave it out, or say coffer_allow_async=1")
        }
        allows = value == "1"
      default: kept.append(option)
      }
    }
    self.url = url
    prefersStandby = kept.contains("target_session_attrs=prefer-standby")
    self.patience = .seconds(patience)
    allowsAsynchronousCommit = allows
    let head = query.map { address[..<$0] } ?? address
    connection = kept.isEmpty ? String(head) : "\(head)?\(kept.joined(separator: "&"))"
  }

  private static func isOfName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
    default: false
    }
  }

  private static func password() -> StoreError {
    malformed(
      "a password does not belong in a vault's place, which others can see",
      "leave it out, and keep it in ~/.pgpass, a service file or a certificate of libpq's")
  }

  /// The place may hold a password, so the message omits it.
  private static func malformed(_ what: String, _ cure: String) -> StoreError {
    StoreError(.invalidName, what, place: "postgresql://…", cure: cure)
  }
}
