internal import CofferFormats
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

/// Answers git's requests from the vault.
///
/// It stores items with the service `protocol://host`, with `/path` if git sends one (`credential.useHttpPath`), and the
/// user as account. A password for one repository is not given to another.
struct GitHelper {
  /// The prefix of our entries of `state[]`; entries of other helpers are ignored.
  private static let statePrefix = "coffer:revision="

  let items: VaultItems
  let message: GitMessage
  let context: Context

  /// Nil if the message names no place.
  static func service(_ message: GitMessage) -> String? {
    guard let scheme = message.texts["protocol"], !scheme.isEmpty else { return nil }
    let host = message.texts["host"] ?? ""
    let path = message.texts["path"] ?? ""
    guard !host.isEmpty || !path.isEmpty else { return nil }
    return "\(scheme)://\(host)" + (path.isEmpty ? "" : "/\(path)")
  }

  private var understands: Set<String> { Set(message.lists["capability[]"] ?? []) }

  /// As for other programs; where git sends a path, only a login of the host is meant.
  private func first<Found>(_ service: String, _ body: (VaultItem) throws -> Found?) throws -> Found? {
    try HostCredential.first(
      service, message.texts["username"], at: origin, ofWholeHost: message.texts["path"]?.isEmpty ?? true, in: items, body)
  }

  /// Nil for a host that is read in different ways: git decodes `%2f` in it.
  private var origin: Origin? {
    guard let scheme = message.texts["protocol"], let host = message.texts["host"],
      !host.utf8.contains(where: { "/?#@".utf8.contains($0) })
    else { return nil }
    return Origin("\(scheme)://\(host)")
  }

  /// Prints the credential, or nothing: git then asks the next helper, or its user.
  func get(_ service: String) throws {
    _ = try first(service) { item -> Bool? in
      if LoginItems.isToken(item) { return try answerByLogin(item.name) ? true : nil }
      guard let credential = try GitCredential(item, in: items) else { return nil }
      return try answer(credential, item) ? true : nil
    }
  }

  /// Prints a login's token; false if it has ended and nothing renews it. No browser: git does not wait for a person.
  private func answerByLogin(_ name: ItemName) throws -> Bool {
    let token: SecretForm
    do { token = try LiveToken(items: items).token(of: name) } catch let error as StoreError {
      // The note gives the reason.
      guard [.expired, .loginRefused, .unreachable, .notFound].contains(error.kind) else { throw error }
      context.note("\(error.about(key: name.description))")
      return [.loginRefused, .unreachable].contains(error.kind)
    }
    guard let item = try items.item(name) else { return false }
    var lines = SecretLines()
    lines.add("username", AuthAccounts.user(of: name.account))
    lines.add("password", token)
    if let expires = item.metadata.expires {
      lines.add("password_expiry_utc", String(UInt64(max(0, expires.timeIntervalSince1970))))
    }
    try Self.write(lines, of: item)
    return true
  }

  /// False if git can use nothing of it.
  private func answer(_ credential: GitCredential, _ item: VaultItem) throws -> Bool {
    var lines = SecretLines()
    let speaksAuthtype = understands.contains("authtype")
    let speaksState = understands.contains("state")
    if speaksAuthtype { lines.add("capability[]", "authtype") }
    if speaksState { lines.add("capability[]", "state") }
    if let authtype = credential.authtype, let ready = credential.credential, speaksAuthtype, !credential.isExpired {
      lines.add("authtype", authtype)
      lines.add("credential", ready)
      lines.add("ephemeral", "0")
    } else if let password = credential.password, !credential.isExpired {
      addUser(of: item, to: &lines)
      lines.add("password", password)
    } else if credential.refreshToken != nil {
      // The password has expired, but another helper can get a fresh one for this.
      addUser(of: item, to: &lines)
    } else {
      return false
    }
    if let expiry = credential.expiry, !credential.isExpired { lines.add("password_expiry_utc", String(expiry)) }
    if let token = credential.refreshToken { lines.add("oauth_refresh_token", token) }
    if speaksState { lines.add("state[]", Self.statePrefix + String(item.revision)) }
    try Self.write(lines, of: item)
    return true
  }

  /// Without a line git asks for the user. An empty one is a user, as git stores it for a URL.
  private func addUser(of item: VaultItem, to lines: inout SecretLines) {
    guard !item.userName.isEmpty || item.name.service.contains("://") else { return }
    lines.add("username", item.name.account.isEmpty ? item.userName : item.name.account)
  }

  private static func write(_ lines: SecretLines, of item: VaultItem) throws {
    let bytes = try lines.bytes()
    // A value's own line break would begin another line of the protocol.
    let isSound = bytes.withUnsafeBytes { raw in
      raw.count { $0 == 0x0A } == lines.lines.count && !raw.contains(0) && !raw.contains(0x0D)
    }
    guard isSound else {
      throw StoreError(
        .unsupported, "it contains a NUL, carriage return or newline, which git's protocol cannot carry",
        key: item.name.description, cure: "store the password without it: coffer set")
    }
    try Output.write(bytes)
  }

  // MARK: store

  /// A stored credential is not written again: git reports one after every fetch.
  func store(_ service: String) throws {
    let credential = GitCredential(message)
    guard credential.password != nil || credential.credential != nil, !credential.isExpired, !isTrue("ephemeral") else { return }
    let name = try ItemName(service: service, account: message.texts["username"] ?? "")
    if let there = try items.item(name), try GitCredential(there, in: items)?.isSame(as: credential) == true { return }
    guard try !isStoredElsewhere(credential, name) else { return }
    try items.set(credential.form(), for: name)
  }

  /// Whether a login or a person's item gives the same password.
  private func isStoredElsewhere(_ credential: GitCredential, _ name: ItemName) throws -> Bool {
    let given = try first(name.service) { item in try GitCredential(item, in: items).map { (item.name, $0) } }
    guard let (found, stored) = given, found != name, credential.credential == nil else { return false }
    return SecretForm.areSame(credential.password, stored.password)
  }

  private func isTrue(_ key: String) -> Bool { ["1", "true", "yes", "on"].contains(message.texts[key]?.lowercased() ?? "") }

  /// A restorable deleted one goes too. If git names the password, one stored in the meantime stays.
  func erase(_ service: String) throws {
    _ = try first(service) { item -> Bool? in
      try eraseIfRefused(item)
      return nil
    }
    for item in try deleted(service)
    where try isRefused(item, { try GitCredential(item, in: items, revision: item.revision) }) {
      try items.remove(item.name, if: .absent)
    }
  }

  /// A login's token is renewed at the next request, if it can be. A person's item goes only with its password, and can be
  /// brought back: a server may refuse git a password that is good elsewhere.
  private func eraseIfRefused(_ item: VaultItem) throws {
    let isOfGit = item.name.service.contains("://")
    guard isOfGit || message.secrets["password"] != nil else { return }
    guard try isRefused(item, { try GitCredential(item, in: items) }) else { return }
    if LoginItems.isToken(item) {
      guard try RenewableLogin.isRenewed(item, in: items) else { return }
      var metadata = item.metadata
      metadata.expires = Date()
      try items.apply([.describe(item.name, as: metadata, if: item.isUnchanged, keeping: 0)])
      return
    }
    let end = isOfGit ? nil : Trash.end(item, context)
    try items.remove(item.name, if: item.isUnchanged, keptUntil: end)
    guard !isOfGit else { return }
    let cure = end == nil ? "" : "; \(CommandText.item("undelete", item.name)) brings it back"
    context.note("the password of \(Printable.line(item.name.description)) was refused, and is deleted\(cure)")
  }

  /// Those of the message's user, or all without one.
  private func deleted(_ service: String) throws -> [VaultItem] {
    let user = message.texts["username"]
    return try items.deleted(service: service).map(\.item).filter { item in
      item.name.field.isEmpty && (user == nil || user?.hasSameBytes(as: item.name.account) == true)
    }
  }

  private func isRefused(_ item: VaultItem, _ credential: () throws -> GitCredential?) throws -> Bool {
    guard isStillAsGiven(item) else { return false }
    let refused = GitCredential(message)
    guard refused.password != nil || refused.credential != nil else { return true }
    guard let stored = try credential() else { return false }
    guard refused.password == nil || SecretForm.areSame(refused.password, stored.password) else { return false }
    return refused.credential == nil || SecretForm.areSame(refused.credential, stored.credential)
  }

  private func isStillAsGiven(_ item: VaultItem) -> Bool {
    let ours = (message.lists["state[]"] ?? []).filter { $0.hasPrefix(Self.statePrefix) }
    return ours.isEmpty || ours.contains(Self.statePrefix + String(item.revision))
  }
}
