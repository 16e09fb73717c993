internal import CofferFormats
internal import CofferLogin
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

/// The logins in the vault. A token is the item of its host and account, with a mark; another item names a host's active
/// account.
struct AuthAccounts {
  /// A placeholder for a login's future token. Tokens of large servers have some 2000 bytes, and so have their refresh
  /// tokens.
  static func usualToken() throws -> SecretForm { SecretForm(try SecretBytes(zeros: 8192)) }
  /// The account of a login that names none.
  static let unnamed = "default"
  /// The user name for a token whose account has none. GitHub, GitLab and Bitbucket accept it with an OAuth token.
  static let unnamedUser = "oauth2"

  static func user(of account: String) -> String { account == unnamed ? unnamedUser : account }

  struct Login {
    let host: String, account: String
    let isActive: Bool
    let since: Date
    let expires: Date?
    /// Whether a known server issued the token and renews it.
    let isRenewable: Bool
    /// Nil if unknown.
    let scope: String?
    var hasExpired: Bool { expires.map { $0 <= Date() } ?? false }
  }

  let items: VaultItems

  /// Whether Coffer trusts the items of `service`: active accounts and client secrets.
  static func isOwn(service: String) -> Bool { [LoginItems.pointers, LoginServers.secrets].contains(service) }

  static func checkFree(service: String) throws(Failure) {
    guard !isOwn(service: service) else {
      throw .usage("the service '\(service)' is Coffer's own", try: "another name; nothing was stored")
    }
  }

  /// All logins, or those of one host, by host and account. No token is opened.
  func logins(of host: String? = nil) throws -> [Login] {
    var active: [String: String] = [:]
    return try Self.tokens(of: host, in: items).filter(LoginItems.isToken).map { item in
      let host = item.name.service
      if active[host] == nil { active[host] = try self.active(host) ?? "" }
      return Login(
        host: host, account: item.name.account, isActive: active[host]?.hasSameBytes(as: item.name.account) == true,
        since: item.created, expires: item.metadata.expires, isRenewable: try RenewableLogin.isRenewed(item, in: items),
        scope: RenewableLogin.scope(of: item))
    }
  }

  static func hosts(in items: VaultItems) throws -> Set<String> { Set(try tokens(of: nil, in: items).map(\.name.service)) }

  private static func tokens(of host: String?, in items: VaultItems) throws -> [VaultItem] {
    var query = ItemQuery(service: host)
    query.attributes = [ItemQuery.Attribute(LoginItems.mark, LoginItems.token)]
    return try items.find(query).items()
  }

  /// The matching login: without a host, that of the only host; without an account, the active one.
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
      guard let login = logins.first(where: { $0.account.hasSameBytes(as: account) }) else {
        throw Self.nobody(host ?? hosts.first, account)
      }
      return login
    }
    if let login = logins.first(where: \.isActive) ?? (logins.count == 1 ? logins.first : nil) { return login }
    throw StoreError(
      .ambiguous, "no account is active; there are \(logins.map(\.account).joined(separator: ", "))", key: logins.first?.host,
      cure: "name one with --account, or activate one with coffer login HOST --account NAME")
  }

  func name(of login: Login) throws -> ItemName { try ItemName(service: login.host, account: login.account) }

  /// The vault is open, writable and has room, and no other item has the name.
  ///
  /// Otherwise the person would log in, and then learn that the token cannot be stored.
  func reserve(_ host: String, _ account: String) throws {
    let name = try checkedName(host, account)
    let form = try Self.usualToken().with(ItemMetadata(attributes: [LoginItems.mark: LoginItems.token]))
    try items.rehearse([.set(form, for: name, keeping: 0), pointer(host, to: account)])
  }

  /// Stores `token` and makes its account the active one, in one transaction. It replaces only logins.
  func store(_ token: consuming SecretBytes, _ host: String, _ account: String, expires: Date?) throws {
    let name = try checkedName(host, account)
    try Self.check(token)
    let metadata = ItemMetadata(attributes: [LoginItems.mark: LoginItems.token], expires: expires)
    // Neither a logout nor a replacement keeps an old token.
    try items.apply(
      [.set(SecretForm(token, metadata: metadata), for: name, keeping: 0), try pointer(host, to: account)]
        + secrets(of: name, refresh: nil, client: nil))
  }

  static func check(_ token: borrowing SecretBytes) throws(Failure) {
    guard token.withUnsafeBytes({ $0.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }) else {
      throw .usage("the token contains a line break or another control character", try: "the token alone; nothing was stored")
    }
  }

  /// The item of a login's name that is none.
  func item(_ host: String, _ account: String) throws -> VaultItem? {
    try items.item(ItemName(service: host, account: account)).flatMap { LoginItems.isToken($0) ? nil : $0 }
  }

  /// Makes `item` the active login of its host, with its value as the token. Like every login it keeps no previous value.
  func adopt(_ item: VaultItem, expires: Date?) throws {
    try Self.checkFree(service: item.name.service)
    try Self.check(items.value(of: item.name).bytes)
    var metadata = item.metadata
    // Nothing that an earlier version or another program wrote there says where the token is renewed.
    metadata.attributes = metadata.freeAttributes
    metadata.attributes[LoginItems.mark] = LoginItems.token
    if let expires { metadata.expires = expires }
    try items.apply([
      .describe(item.name, as: metadata, if: item.isUnchanged, keeping: 0), pointer(item.name.service, to: item.name.account),
    ])
  }

  /// Stores the refresh token too.
  func store(_ tokens: OAuthTokens, from client: OAuthClient, clientSecret: SecretForm?, _ host: String, _ account: String) throws
  {
    let name = try checkedName(host, account)
    var attributes = RenewableLogin.attributes(of: client, tokens)
    attributes[LoginItems.mark] = LoginItems.token
    let metadata = ItemMetadata(attributes: attributes, expires: tokens.expires)
    try items.apply(
      [.set(tokens.access.with(metadata), for: name, keeping: 0), try pointer(host, to: account)]
        + secrets(of: name, refresh: tokens.refresh, client: clientSecret))
  }

  /// Whether the login has these tokens, judged by the refresh token, or without one by the access token.
  ///
  /// - Throws: errors of reading; `.expired`, as the tokens cannot be compared then.
  func holds(_ tokens: OAuthTokens, _ host: String, _ account: String) throws -> Bool {
    let name = try ItemName(service: host, account: account)
    let stored = try items.get(tokens.refresh == nil ? name : name.field(named: RenewableLogin.refreshField))
    return SecretForm.areSame(stored, tokens.refresh ?? tokens.access)
  }

  /// The changes to a login's fields; fields of the previous login are removed.
  private func secrets(of name: ItemName, refresh: SecretForm?, client: SecretForm?) throws -> [ItemChange] {
    try [(RenewableLogin.refreshField, refresh), (RenewableLogin.secretField, client)].map { field, value in
      let name = try name.field(named: field)
      return value.map { .set($0.with(ItemMetadata()), for: name, keeping: 0) } ?? .remove(name)
    }
  }

  private func checkedName(_ host: String, _ account: String) throws -> ItemName {
    let name = try ItemName(service: host, account: account)
    try Self.checkFree(service: host)
    try NewName.check(name)
    guard let there = try item(host, account) else { return name }
    throw Self.isNoLogin(there)
  }

  static func isNoLogin(_ item: VaultItem) -> StoreError {
    let words = ["coffer", "login", item.name.service, "--account", item.name.account, "--yes"].map(CommandText.quoted)
    let line = CommandText.inVault(words.joined(separator: " "))
    return StoreError(
      .refused, "the vault's item of this name is not a login", key: item.name.description,
      cure: "\(line) uses its value as the token; or choose another account, or rename the item")
  }

  func activate(_ login: Login) throws { try items.apply([try pointer(login.host, to: login.account)]) }

  /// In one transaction. A single remaining account becomes active and is returned.
  func remove(_ gone: [Login]) throws -> String? {
    var (changes, next) = ([ItemChange](), String?.none)
    for host in Set(gone.map(\.host)).sorted() {
      let leaving = gone.filter { $0.host == host }
      let rest = try logins(of: host).filter { login in !leaving.contains { $0.account.hasSameBytes(as: login.account) } }
      for login in leaving { changes.append(.remove(try name(of: login))) }
      guard !rest.contains(where: \.isActive) else { continue }
      next = rest.count == 1 ? rest[0].account : nil
      if let next {
        changes.append(try pointer(host, to: next))
      } else {
        changes.append(.remove(try ItemName(service: LoginItems.pointers, account: host)))
      }
    }
    try items.apply(changes)
    return next
  }

  static func nobody(_ host: String?, _ account: String? = nil) -> StoreError {
    let whom = account.map { "'\($0)' is not logged in" } ?? "nobody is logged in"
    return StoreError(.notFound, whom, key: host, cure: "coffer login \(host.map(CommandText.quoted) ?? "HOST")")
  }

  private func active(_ host: String) throws -> String? {
    guard let form = try items.get(ItemName(service: LoginItems.pointers, account: host)) else { return nil }
    return form.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  private func pointer(_ host: String, to account: String) throws -> ItemChange {
    let bytes = try account.utf8Span.span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
    let form = SecretForm(bytes, metadata: ItemMetadata(attributes: [LoginItems.mark: "active"]))
    return .set(form, for: try ItemName(service: LoginItems.pointers, account: host), keeping: 0)
  }
}

enum AuthHost {
  /// The host in lower case, as host names have no case (RFC 4343), and without the port of HTTPS. A pasted address is reduced
  /// to its host.
  ///
  /// - Parameter command: the words before the host, for the error.
  static func check(_ text: String, for command: String = "") throws(Failure) -> String {
    var host = text[...]
    for scheme in ["https://", "http://"] where host.lowercased().hasPrefix(scheme) { host = host.dropFirst(scheme.count) }
    if host.count < text.count, host.hasSuffix("/") { host = host.dropLast() }
    if host.hasSuffix(":443") { host = host.dropLast(4) }
    // Names in other scripts have bytes beyond ASCII.
    let isHost = host.utf8.allSatisfy { $0.isLetterOrDigit || $0 >= 0x80 || ".-_:[]".utf8.contains($0) }
    guard isHost, !host.contains(where: \.isWhitespace), !host.isEmpty else {
      throw .usage("a host has no path or user", try: Self.host(of: host).map { command + $0 } ?? "the host alone")
    }
    return host.lowercased()
  }

  /// The host of an address without its scheme; nil if it is not certain, as a part of a password must not be repeated.
  private static func host(of address: Substring) -> String? {
    let authority = address.prefix { !"/?#".contains($0) }
    guard !address[authority.endIndex...].contains("@") else { return nil }
    let host = authority.split(separator: "@", omittingEmptySubsequences: false).last.map { $0.lowercased() } ?? ""
    return host.wholeMatch(of: /[a-z0-9][a-z0-9.\-]*(:[0-9]+)?/) == nil ? nil : host
  }
}
