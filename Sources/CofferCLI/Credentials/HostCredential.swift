internal import CofferFormats
internal import CofferStorage
internal import CofferVault
internal import FoundationEssentials

/// A credential for a program that asks by a URL, a host or an item's name: the item that a login, a person or git's helper
/// stored, so that one token is in one place.
struct HostCredential {
  let name: ItemName
  let secret: SecretForm
  let expires: Date?
  let item: VaultItem

  var user: String { Self.user(of: item) }

  static func user(of item: VaultItem) -> String {
    LoginItems.isToken(item) ? AuthAccounts.user(of: item.name.account) : item.name.account
  }

  /// The first credential of ``first(_:_:at:ofWholeHost:in:_:)``; nil if nothing is stored.
  ///
  /// A server login's token is renewed if it has ended.
  ///
  /// - Throws: `.expired` if all stored credentials have expired; the errors of ``LiveToken``.
  static func find(_ service: String, _ account: String?, at origin: Origin?, in items: VaultItems) throws -> HostCredential? {
    var expired: StoreError?
    let found = try first(service, account, at: origin, in: items) { item -> HostCredential? in
      do throws(StoreError) { return try HostCredential(item, in: items) } catch {
        guard error.kind == .expired else { throw error }
        expired = expired ?? error.about(key: item.name.description)
        return nil
      }
    }
    if found == nil, let expired { throw expired }
    return found
  }

  static func find(_ service: String, _ account: String?, in items: VaultItems) throws -> HostCredential? {
    try find(service, account, at: Origin(service), in: items)
  }

  static func get(_ service: String, _ account: String?, in items: VaultItems) throws -> HostCredential {
    guard let found = try find(service, account, in: items) else {
      throw AuthAccounts.nobody(Origin(service)?.host ?? service, account ?? Origin(service)?.user)
    }
    return found
  }

  private init?(_ item: VaultItem, in items: VaultItems) throws(StoreError) {
    let credential: GitCredential
    do {
      if RenewableLogin.isOne(item) {
        let token = try LiveToken(items: items).token(of: item.name)
        guard let renewed = try items.item(item.name) else { return nil }
        (name, secret, expires, self.item) = (item.name, token, renewed.metadata.expires, renewed)
        return
      }
      guard let form = try items.get(item.name) else { return nil }
      credential = try GitCredential(form)
    } catch let error as StoreError { throw error } catch { throw StoreError(.damaged, "\(error)", cure: "see the cause") }
    guard let password = credential.password else { return nil }
    guard !credential.isExpired else {
      throw StoreError(.expired, "the item has expired", cure: "store a fresh value, or delete the item")
    }
    (name, secret, self.item) = (item.name, password, item)
    expires = credential.expiry.map { Date(timeIntervalSince1970: Double($0)) }
  }

  /// What `body` makes of the first candidate that it takes. No value is opened, and nothing is looked up beyond that one.
  ///
  /// In this order: the item of exactly `service`; for HTTPS the login of the host; the item of scheme and host; for HTTPS the
  /// item of the bare host. Among several accounts it is the given one, or that of the URL; otherwise the active login, then
  /// the last one written.
  ///
  /// - Parameters:
  ///   - origin: where the credential goes; nil if `service` is no place.
  ///   - ofWholeHost: false if a path of the host has credentials of its own.
  static func first<Found>(
    _ service: String, _ account: String?, at origin: Origin?, ofWholeHost: Bool = true, in items: VaultItems,
    _ body: (VaultItem) throws -> Found?
  ) throws -> Found? {
    var seen: Set<ItemName> = []
    func taken(_ found: [VaultItem]) throws -> Found? {
      for item in found where !item.metadata.isWithheld && seen.insert(item.name).inserted {
        if let found = try body(item) { return found }
      }
      return nil
    }
    let account = account ?? origin?.user
    if let found = try taken(stored(service, account, in: items)) { return found }
    guard let origin else { return nil }
    if origin.service != service, origin.service != origin.name, let found = try taken(stored(origin.service, account, in: items))
    {
      return found
    }
    let isSecure = origin.scheme == "https"
    if isSecure {
      let logins = try stored(origin.host, account == AuthAccounts.unnamedUser ? nil : account, in: items)
      if let found = try taken(logins.filter(LoginItems.isToken)) { return found }
    }
    guard ofWholeHost else { return nil }
    if let found = try taken(stored(origin.name, account, in: items)) { return found }
    return isSecure ? try taken(bare(origin.host, account, in: items)) : nil
  }

  static func first(_ service: String, _ account: String?, in items: VaultItems) throws -> VaultItem? {
    try first(service, account, at: Origin(service), in: items) { $0 }
  }

  /// A person's items of `host` in any case. Only name and last write decide: imports and other programs write the rest.
  private static func bare(_ host: String, _ account: String?, in items: VaultItems) throws -> [VaultItem] {
    guard !AuthAccounts.isOwn(service: host) else { return [] }
    var query = ItemQuery()
    query.texts = [host]
    return try items.find(query).items().filter { item in
      item.name.service.lowercased().hasSameBytes(as: host) && account.map(item.name.account.hasSameBytes(as:)) ?? true
        && !item.isOfLogin && item.metadata.contentType != GitCredential.contentType
    }.sorted { $0.modified > $1.modified }
  }

  /// A login keeps nothing that would renew another token, and a person's item its history.
  static func replace(_ item: VaultItem, with secret: SecretForm, in items: VaultItems, keeping: Int? = nil) throws {
    guard !LoginItems.isToken(item) else {
      return try AuthAccounts(items: items).store(secret.bytes.duplicate(), item.name.service, item.name.account, expires: nil)
    }
    var metadata = item.metadata
    // The description of the previous value does not apply to this one.
    (metadata.expires, metadata.contentType) = (nil, "text/plain")
    try items.set(secret.with(metadata), for: item.name, if: item.isUnchanged, keeping: keeping)
  }

  private static func stored(_ service: String, _ account: String?, in items: VaultItems) throws -> [VaultItem] {
    if let account { return try [items.item(ItemName(service: service, account: account))].compactMap(\.self) }
    let found = try items.list(service: service).sorted { $0.modified > $1.modified }
    guard found.count > 1, found.contains(where: LoginItems.isToken) else { return found }
    let active = try AuthAccounts(items: items).logins(of: service).first(where: \.isActive)?.account
    let isActive = { (item: VaultItem) in active?.hasSameBytes(as: item.name.account) == true }
    return found.filter(isActive) + found.filter { !isActive($0) }
  }
}

extension SecretForm {
  /// For a program that takes a line of text.
  ///
  /// - Parameter program: the program of the protocol.
  /// - Throws: `.unsupported` for a value that is no line of UTF-8.
  func line(of name: ItemName, for program: String) throws(StoreError) -> SecretForm {
    let isLine = bytes.withUnsafeBytes { raw in
      UTF8Validity.isValid(raw) && raw.allSatisfy { $0 != 0 && $0 != 0x0A && $0 != 0x0D }
    }
    guard isLine else {
      throw StoreError(
        .unsupported, "the value is not one line of text, and \(program) takes nothing else", key: name.description,
        cure: "store it without a NUL or line break: coffer set")
    }
    return self
  }
}

extension AuthAccounts {
  /// The token of ``login(_:_:)``; where `host` has none, the credential that other programs get, which is never renewed.
  func token(_ host: String?, _ account: String?, fresh: Bool) throws -> (host: String, account: String, token: SecretForm) {
    let tokens = LiveToken(items: items)
    do {
      let login = try login(host, account)
      return (login.host, login.account, try tokens.token(of: name(of: login), fresh: fresh))
    } catch let error as StoreError where error.kind == .notFound {
      guard let host, let found = try HostCredential.find("https://\(host)", account, in: items) else { throw error }
      return (host, found.name.account, try fresh ? tokens.token(of: found.name, fresh: true) : found.secret)
    }
  }
}
