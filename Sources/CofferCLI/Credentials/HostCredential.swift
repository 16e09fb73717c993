internal import Coffer
internal import CofferFormats
internal import CofferStorage
internal import CofferVault
internal import FoundationEssentials

/// A credential for a program that asks by a URL, a host or an item's name. It is the item that git's helper or
/// `coffer auth login` stored, so that there is one token in one place.
struct HostCredential {
  let name: ItemName
  let secret: SecretForm
  /// Its end, if known.
  let expires: Date?
  let item: VaultItem

  var user: String { LoginItems.isToken(item) ? AuthAccounts.user(of: name.account) : name.account }

  /// The credential for `service`; nil if nothing is stored.
  ///
  /// Tried in this order: the item of exactly that service; for an HTTPS URL the login of its host; for any URL git's item
  /// for its scheme and host. Among several accounts it is the given one, or that of the URL; otherwise the active login,
  /// then the last one written.
  ///
  /// A server login's token is renewed if it has ended.
  ///
  /// - Throws: `.expired` if all stored credentials have expired; the errors of ``LiveToken``.
  static func find(_ service: String, _ account: String?, in items: VaultItems) throws -> HostCredential? {
    var expired: StoreError?
    for item in try candidates(service, account, in: items) {
      do throws(StoreError) {
        if let found = try HostCredential(item, in: items) { return found }
      } catch {
        guard error.kind == .expired else { throw error }
        expired = expired ?? error.about(key: item.name.description)
      }
    }
    if let expired { throw expired }
    return nil
  }

  /// Like ``find(_:_:in:)``, for a credential that must exist.
  ///
  /// - Throws: `.notFound`.
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

  /// The candidates, the likeliest first; no value is opened.
  static func candidates(_ service: String, _ account: String?, in items: VaultItems) throws -> [VaultItem] {
    let origin = Origin(service)
    let account = account ?? origin?.user
    var found = try stored(service, account, in: items)
    guard let origin else { return found }
    if origin.service != service, origin.service != origin.name { found += try stored(origin.service, account, in: items) }
    if origin.scheme == "https" {
      found += try stored(origin.host, account == AuthAccounts.unnamedUser ? nil : account, in: items).filter(
        LoginItems.isToken)
    }
    let known = Set(found.map(\.name))
    return try found + stored(origin.name, account, in: items).filter { !known.contains($0.name) }
  }

  /// Replaces the secret of `item`. A login keeps nothing that would renew another token.
  static func replace(_ item: VaultItem, with secret: SecretForm, in items: VaultItems, keeping: Int? = nil) throws {
    guard !LoginItems.isToken(item) else {
      return try AuthAccounts(items: items).store(
        secret.bytes.duplicate(), item.name.service, item.name.account, expires: nil)
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
  /// The value for a program that takes a line of text.
  ///
  /// - Parameter program: the program of the protocol.
  /// - Throws: `.unsupported` for a value that is no line of UTF-8.
  func line(of name: ItemName, for program: String) throws(StoreError) -> SecretForm {
    let isLine = bytes.withUnsafeBytes { raw in
      UTF8Validity.isValid(raw) && raw.allSatisfy { $0 != 0 && $0 != 0x0A && $0 != 0x0D }
    }
    guard isLine else {
      throw StoreError(
        .unsupported, "the value is no line of text, which is all that \(program) takes", key: name.description,
        cure: "store it without a NUL or a line's end: coffer vault set")
    }
    return self
  }
}
