internal import CofferFormats
internal import CofferLogin
internal import CofferStorage
internal import CofferVault

/// The server of a login, in its item, for renewal and revocation. All of it is sealed: attributes of the token, and secrets
/// as its fields.
enum RenewableLogin {
  private static let tokenEndpoint = "coffer.oauth.token-endpoint", revocationEndpoint = "coffer.oauth.revocation-endpoint"
  private static let client = "coffer.oauth.client", scope = "coffer.oauth.scope", secretInBody = "coffer.oauth.secret-in-body"
  private static let authority = "coffer.oauth.authority"
  static let refreshField = "refresh_token", secretField = "client_secret"

  static func attributes(of client: OAuthClient, _ tokens: OAuthTokens) -> [String: String] {
    var attributes = [tokenEndpoint: client.server.tokenEndpoint, Self.client: client.id]
    attributes[revocationEndpoint] = client.server.revocationEndpoint
    attributes[authority] = client.server.authority
    attributes[scope] = tokens.scope ?? (client.scopes.isEmpty ? nil : client.scopes.joined(separator: " "))
    if client.server.takesSecretInBody { attributes[secretInBody] = "yes" }
    return attributes
  }

  /// The attributes of a login; those of an earlier version get their current names.
  static func attributes(of item: VaultItem) -> [String: String] {
    let earlier = "oauth."
    return Dictionary(
      item.metadata.attributes.map { name, value in
        (name.hasPrefix(earlier) && ItemMetadata.isOwn(attribute: name) ? "coffer." + name : name, value)
      }, uniquingKeysWith: { first, _ in first })
  }

  static func scope(of item: VaultItem) -> String? { attributes(of: item)[scope] }

  /// Whether the token came from a known server.
  static func isOne(_ item: VaultItem) -> Bool { LoginItems.isToken(item) && attributes(of: item)[tokenEndpoint] != nil }

  static func isRenewed(_ item: VaultItem, in items: VaultItems) throws -> Bool {
    try isOne(item) && items.item(item.name.field(named: refreshField)) != nil
  }

  /// Nil if a person stored the token.
  static func client(of item: VaultItem, in items: VaultItems) throws -> OAuthClient? {
    let attributes = attributes(of: item)
    guard isOne(item), let token = attributes[tokenEndpoint], let id = attributes[client] else { return nil }
    let server = try AuthorizationServer(
      token: token, revocation: attributes[revocationEndpoint], takesSecretInBody: attributes[secretInBody] != nil,
      authority: attributes[authority])
    return OAuthClient(id: id, secret: try items.get(item.name.field(named: secretField)), at: server)
  }
}
