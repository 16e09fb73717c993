internal import Coffer
internal import CofferStorage
internal import CofferVault
internal import FoundationEssentials

/// The logins in the vault: a token is the item of its host and account, marked as one; which account of a host is active is
/// an item of its own.
struct AuthAccounts {
  /// The attribute of items that are tokens, so that other items of a host are none.
  private static let mark = "coffer.auth"
  private static let token = "token"
  /// The service of the items that name the active accounts.
  static let pointers = "coffer.auth"
  /// The account of a login that names none.
  static let unnamed = "default"

  /// A login, without its token.
  struct Login {
    let host: String, account: String
    let isActive: Bool
    let since: Date
    let expires: Date?
    var hasExpired: Bool { expires.map { $0 <= Date() } ?? false }
  }

  let items: VaultItems

  /// Whether an item says which account of a host is active: it is nobody's secret.
  static func isPointer(_ item: VaultItem) -> Bool { item.name.service == pointers }

  /// All logins, or those of one host, by host and account. No token is opened.
  func logins(of host: String? = nil) throws -> [Login] {
    var active: [String: String] = [:]
    return try Self.tokens(of: host, in: items).filter(Self.isToken).map { item in
      let host = item.name.service
      if active[host] == nil { active[host] = try self.active(host) ?? "" }
      return Login(
        host: host, account: item.name.account, isActive: active[host] == item.name.account, since: item.created,
        expires: item.metadata.expires)
    }
  }

  /// The hosts that somebody is logged in to.
  static func hosts(in items: VaultItems) throws -> Set<String> { Set(try tokens(of: nil, in: items).map(\.name.service)) }

  private static func tokens(of host: String?, in items: VaultItems) throws -> [VaultItem] {
    var query = ItemQuery(service: host)
    query.attributes = [ItemQuery.Attribute(mark, token)]
    return try items.find(query).items()
  }

  /// The login that is meant: of the only host where none is named, of the active account where none is.
  ///
  /// - Throws: `.notFound`; `.ambiguous` with the choices.
  func login(_ host: String?, _ account: String?) throws -> Login {
    let logins = try logins(of: host)
    let hosts = Set(logins.map(\.host))
    guard !hosts.isEmpty else { throw Self.nobody(host) }
    guard hosts.count == 1 else {
      throw StoreError(
        .ambiguous, "there are logins at \(hosts.count) hosts: \(hosts.sorted().joined(separator: ", "))",
        cure: "name the host as well")
    }
    if let account {
      guard let login = logins.first(where: { $0.account == account }) else { throw Self.nobody(host ?? hosts.first, account) }
      return login
    }
    if let login = logins.first(where: \.isActive) ?? (logins.count == 1 ? logins.first : nil) { return login }
    throw StoreError(
      .ambiguous, "no account is active; there are \(logins.map(\.account).joined(separator: ", "))", key: logins.first?.host,
      cure: "name one with --account, or make one active with coffer auth switch")
  }

  /// The token of `login`.
  func token(of login: Login) throws -> SecretForm {
    guard let form = try items.get(ItemName(service: login.host, account: login.account)) else {
      throw Self.nobody(login.host, login.account)
    }
    return form
  }

  /// Stores `token` and makes its account the active one, in one transaction. An item that is no login is not replaced.
  func store(_ token: consuming SecretBytes, _ host: String, _ account: String, expires: Date?) throws {
    let name = try ItemName(service: host, account: account)
    try NewName.check(name)
    if let there = try items.item(name), !Self.isToken(there) {
      throw StoreError(
        .refused, "the vault has an item of that name which is no login", key: name.description,
        cure: "choose another account, or rename the item with coffer vault rename")
    }
    let metadata = ItemMetadata(attributes: [Self.mark: Self.token], expires: expires)
    // Of a token nothing stays after a logout, nor before it.
    try items.apply([.set(SecretForm(token, metadata: metadata), for: name, keeping: 0), try pointer(host, to: account)])
  }

  /// Makes `login` its host's active one.
  func activate(_ login: Login) throws { try items.apply([try pointer(login.host, to: login.account)]) }

  /// Removes logins of one host, in one transaction; a single account that remains becomes the active one. Returns that.
  func remove(_ gone: [Login]) throws -> String? {
    var (changes, next) = ([ItemChange](), String?.none)
    for host in Set(gone.map(\.host)).sorted() {
      let leaving = gone.filter { $0.host == host }
      let rest = try logins(of: host).filter { login in !leaving.contains { $0.account == login.account } }
      for login in leaving { changes.append(.remove(try ItemName(service: host, account: login.account))) }
      guard !rest.contains(where: \.isActive) else { continue }
      next = rest.count == 1 ? rest[0].account : nil
      if let next {
        changes.append(try pointer(host, to: next))
      } else {
        changes.append(.remove(try ItemName(service: Self.pointers, account: host)))
      }
    }
    try items.apply(changes)
    return next
  }

  static func nobody(_ host: String?, _ account: String? = nil) -> StoreError {
    let whom = account.map { "'\($0)' is not logged in" } ?? "nobody is logged in"
    return StoreError(.notFound, whom, key: host, cure: "coffer auth login \(host ?? "HOST")")
  }

  static func isToken(_ item: VaultItem) -> Bool { item.metadata.attributes[mark] == token }

  private func active(_ host: String) throws -> String? {
    guard let form = try items.get(ItemName(service: Self.pointers, account: host)) else { return nil }
    return form.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  private func pointer(_ host: String, to account: String) throws -> ItemChange {
    let bytes = try account.utf8Span.span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
    let form = SecretForm(bytes, metadata: ItemMetadata(attributes: [Self.mark: "active"]))
    return .set(form, for: try ItemName(service: Self.pointers, account: host), keeping: 0)
  }
}

/// The name of a host on the command line.
enum AuthHost {
  /// The host, in lower case: names of hosts have no case (RFC 4343).
  static func check(_ text: String) throws(Failure) -> String {
    guard !text.contains("/"), !text.contains(where: \.isWhitespace), !text.isEmpty else {
      throw .usage("a host is a name, not a URL", try: "github.com, without https:// and a path")
    }
    return text.lowercased()
  }
}
