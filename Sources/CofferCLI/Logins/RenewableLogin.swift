internal import Coffer
internal import CofferLogin
internal import CofferStorage
internal import CofferVault
internal import FoundationEssentials

/// What the item of a login says of the server that it is of, so that the token can be renewed and taken back. All of it is sealed: as
/// attributes of the token, and, what is secret, as its fields.
enum RenewableLogin {
  private static let tokenEndpoint = "oauth.token-endpoint", revocationEndpoint = "oauth.revocation-endpoint"
  private static let client = "oauth.client", scope = "oauth.scope", secretInBody = "oauth.secret-in-body"
  static let refreshField = "refresh_token", secretField = "client_secret"

  static func attributes(of client: OAuthClient, _ tokens: OAuthTokens) -> [String: String] {
    var attributes = [tokenEndpoint: client.server.tokenEndpoint, Self.client: client.id]
    attributes[revocationEndpoint] = client.server.revocationEndpoint
    attributes[scope] = tokens.scope ?? (client.scopes.isEmpty ? nil : client.scopes.joined(separator: " "))
    if client.server.takesSecretInBody { attributes[secretInBody] = "yes" }
    return attributes
  }

  /// What the token of `item` may be used for; nil where nobody said.
  static func scope(of item: VaultItem) -> String? { item.metadata.attributes[scope] }

  /// Whether the token came from a server that is known.
  static func isOne(_ item: VaultItem) -> Bool { item.metadata.attributes[tokenEndpoint] != nil }

  /// The client that got the token of `item`; nil where it was given by hand.
  static func client(of item: VaultItem, in items: VaultItems) throws -> OAuthClient? {
    let attributes = item.metadata.attributes
    guard let token = attributes[tokenEndpoint], let id = attributes[client] else { return nil }
    let server = try AuthorizationServer(
      token: token, revocation: attributes[revocationEndpoint], takesSecretInBody: attributes[secretInBody] != nil)
    return OAuthClient(id: id, secret: try items.get(item.name.field(named: secretField)), at: server)
  }
}
