internal import Coffer
internal import CofferLogin
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal

/// A login server and this program's registration there: by an issuer, which publishes the endpoints, or by a known name.
struct LoginServer: Equatable {
  enum Place: Equatable {
    case issuer(String)
    case known(AuthorizationServer.Known)
  }
  var place: Place
  var client: String
  var scopes: [String]
  /// The path of a file with the only trusted certificates for the server; nil for this machine's.
  var authority: String?

  func server() throws -> AuthorizationServer {
    switch place {
    case .known(let known): try AuthorizationServer(known)
    case .issuer(let issuer): try AuthorizationServer.discover(issuer: issuer, authority: authority, nil)
    }
  }

  /// The client and server that a secret belongs to.
  var owner: String { "\(client) \(description)" }

  var description: String {
    switch place {
    case .known(let known): known.rawValue
    case .issuer(let issuer): issuer
    }
  }

  /// By its name, or by a host that it logs in to.
  static func known(_ text: String) -> AuthorizationServer.Known? {
    AuthorizationServer.Known(rawValue: text)
      ?? [
        "github.com": .gitHub, "gitlab.com": .gitLab, "accounts.google.com": .google, "login.microsoftonline.com": .microsoft,
      ][text]
  }
}

/// The servers named by the user: settings of this program, without secrets.
struct LoginServers {
  let context: Context

  private static let prefix = "provider."
  static let secrets = "coffer.auth.provider"

  func server(_ name: String) throws -> LoginServer? {
    try context.domain(Settings.domain).load(Self.prefix + name).flatMap(Self.read)
  }

  func all() throws -> [(name: String, server: LoginServer)] {
    try Settings.all(Self.prefix, context, Self.read).map { ($0.name, $0.value) }
  }

  func set(_ server: LoginServer, as name: String) throws {
    var fields: [String: PlainForm] = ["client": .string(server.client), "scopes": .array(server.scopes.map { .string($0) })]
    switch server.place {
    case .known(let known): fields["known"] = .string(known.rawValue)
    case .issuer(let issuer): fields["issuer"] = .string(issuer)
    }
    if let authority = server.authority { fields["ca"] = .string(authority) }
    try Settings.save(.dictionary(fields), as: Self.prefix + name, context)
  }

  func remove(_ name: String) throws -> Bool {
    guard try server(name) != nil else { return false }
    try Settings.save(nil, as: Self.prefix + name, context)
    return true
  }

  /// Does nothing without a vault.
  func removeSecret(_ name: String) throws {
    if let vault = context.places.vault.path, !FileFacts.exists(vault) { return }
    do { try context.items().remove(Self.secretName(name)) } catch let error as StoreError where error.kind == .noVault {
      // Only here a server is asked for the vault.
    }
  }

  /// The attribute that ties a client's secret to its server: settings are not encrypted, and an edit of them must not send
  /// the secret elsewhere.
  private static let owner = "coffer.auth.client"

  static func secret(_ secret: SecretForm, of server: LoginServer) -> SecretForm {
    secret.with(ItemMetadata(attributes: [owner: server.owner]))
  }

  /// The secret of the client of `name`; nil if it has none. Secrets of an earlier version do not name their owner.
  ///
  /// - Throws: `.refused` if it was given for another client or server.
  static func secret(_ name: String, of server: LoginServer, in items: VaultItems) throws -> SecretForm? {
    guard let secret = try items.get(secretName(name)) else { return nil }
    guard secret.metadata.attributes[owner].map({ $0.hasSameBytes(as: server.owner) }) ?? true else {
      throw StoreError(
        .refused, "the client's secret belongs to a server or client other than the one in the settings", key: name,
        cure: "check coffer provider list; if it is right, coffer provider add NAME with --client-secret-file")
    }
    return secret.with(ItemMetadata())
  }

  static func secretName(_ name: String) throws -> ItemName { try ItemName(service: secrets, account: name) }

  private static func read(_ form: PlainForm) -> LoginServer? {
    guard case .dictionary(let fields) = form, case .string(let client) = fields["client"] else { return nil }
    var scopes: [String] = []
    if case .array(let found) = fields["scopes"] {
      scopes = found.compactMap { if case .string(let scope) = $0 { scope } else { nil } }
    }
    var authority: String?
    if case .string(let path) = fields["ca"] { authority = path }
    switch (fields["known"], fields["issuer"]) {
    case (.string(let word), _):
      guard let known = AuthorizationServer.Known(rawValue: word) else { return nil }
      return LoginServer(place: .known(known), client: client, scopes: scopes)
    case (_, .string(let issuer)):
      return LoginServer(place: .issuer(issuer), client: client, scopes: scopes, authority: authority)
    default: return nil
    }
  }
}
