public import CofferPlatform
internal import CofferMemory
internal import CofferStorage

/// The endpoints of a server that logs people and services in.
///
/// Each is https; http is allowed only for this machine. Source: RFC 6749, 8414, 8628, 7009.
public struct AuthorizationServer: Sendable, Hashable {
  /// The server's own name; nil if unknown.
  public let issuer: String?
  let token: Endpoint
  let deviceAuthorization: Endpoint?
  let authorization: Endpoint?
  let revocation: Endpoint?
  /// Whether an answer through a browser names the issuer. Source: RFC 9207.
  let namesIssuer: Bool
  /// Whether a client's secret belongs in a request's body, not in its header. Source: RFC 6749, 2.3.1.
  public let takesSecretInBody: Bool
  /// The path of a file with the only certificate authorities trusted for this server; nil for this machine's.
  public let authority: String?

  /// A server with known endpoints; nil for those that it lacks.
  ///
  /// - Parameters:
  ///   - token: the endpoint for tokens.
  ///   - deviceAuthorization: the endpoint for device codes.
  ///   - authorization: the page for a browser.
  ///   - revocation: the endpoint that revokes tokens.
  ///   - issuer: the server's name in answers through a browser.
  ///   - authority: the path of a PEM file with the only certificates trusted for the server; nil for `SSL_CERT_FILE`, and
  ///     without that for this machine's.
  ///   - takesSecretInBody: whether it wants a client's secret in the request's body; the standard's way is the header.
  /// - Throws: `StoreError` `.invalidName` for an invalid address, or one without https.
  public init(
    token: String, deviceAuthorization: String? = nil, authorization: String? = nil, revocation: String? = nil,
    issuer: String? = nil, takesSecretInBody: Bool = false, authority: String? = nil
  ) throws(StoreError) {
    self.token = try Endpoint(token, "token endpoint")
    self.deviceAuthorization = try deviceAuthorization.map { (text) throws(StoreError) in
      try Endpoint(text, "device authorization endpoint")
    }
    self.authorization = try authorization.map { (text) throws(StoreError) in try Endpoint(text, "authorization endpoint") }
    self.revocation = try revocation.map { (text) throws(StoreError) in try Endpoint(text, "revocation endpoint") }
    self.issuer = issuer
    namesIssuer = false
    self.takesSecretInBody = takesSecretInBody
    self.authority = authority
  }

  init(_ document: ServerDocument, issuer: String, authority: String?) throws(StoreError) {
    guard let token = try document.endpoint("token_endpoint") else {
      throw StoreError(
        .damaged, "the server's document names no token endpoint", place: issuer, cure: "check that the address is the issuer's")
    }
    self.token = token
    deviceAuthorization = try document.endpoint("device_authorization_endpoint")
    authorization = try document.endpoint("authorization_endpoint")
    revocation = try document.endpoint("revocation_endpoint")
    self.issuer = issuer
    self.authority = authority
    namesIssuer = document.namesIssuer
    // Without this list the header is the default (RFC 8414, section 2).
    takesSecretInBody = document.methods.map { !$0.contains("client_secret_basic") && $0.contains("client_secret_post") } ?? false
  }

  /// The endpoint for tokens.
  public var tokenEndpoint: String { token.text }
  /// The endpoint for device codes; nil if the server has none.
  public var deviceAuthorizationEndpoint: String? { deviceAuthorization?.text }
  /// The page for a browser; nil if the server has none.
  public var authorizationEndpoint: String? { authorization?.text }
  /// The endpoint that revokes tokens; nil if the server has none.
  public var revocationEndpoint: String? { revocation?.text }
}

extension AuthorizationServer {
  /// A server with public, fixed endpoints.
  public enum Known: String, CaseIterable, Sendable {
    /// github.com. It answers errors with status 200, and does not revoke tokens of a client without a secret.
    case gitHub = "github"
    /// gitlab.com.
    case gitLab = "gitlab"
    /// Google accounts.
    case google
    /// Microsoft accounts, personal and of any organization.
    case microsoft
  }

  /// A known server. The client's id is the user's own.
  ///
  /// Source: each server's pages about OAuth for devices and programs.
  public init(_ known: Known) throws(StoreError) {
    switch known {
    case .gitHub:
      try self.init(
        token: "https://github.com/login/oauth/access_token", deviceAuthorization: "https://github.com/login/device/code",
        authorization: "https://github.com/login/oauth/authorize", takesSecretInBody: true)
    case .gitLab:
      try self.init(
        token: "https://gitlab.com/oauth/token", deviceAuthorization: "https://gitlab.com/oauth/authorize_device",
        authorization: "https://gitlab.com/oauth/authorize", revocation: "https://gitlab.com/oauth/revoke",
        takesSecretInBody: true)
    case .google:
      try self.init(
        token: "https://oauth2.googleapis.com/token", deviceAuthorization: "https://oauth2.googleapis.com/device/code",
        authorization: "https://accounts.google.com/o/oauth2/v2/auth", revocation: "https://oauth2.googleapis.com/revoke",
        issuer: "https://accounts.google.com", takesSecretInBody: true)
    case .microsoft:
      try self.init(
        token: "https://login.microsoftonline.com/common/oauth2/v2.0/token",
        deviceAuthorization: "https://login.microsoftonline.com/common/oauth2/v2.0/devicecode",
        authorization: "https://login.microsoftonline.com/common/oauth2/v2.0/authorize", takesSecretInBody: true)
    }
  }
}

extension AuthorizationServer {
  /// The server of `issuer`, from its RFC 8414 document, or else its OpenID Connect document.
  ///
  /// - Parameters:
  ///   - issuer: the server's name, such as `https://accounts.google.com`.
  ///   - authority: as of ``init(token:deviceAuthorization:authorization:revocation:issuer:takesSecretInBody:authority:)``.
  /// - Throws: `StoreError` `.invalidName`; `.unreachable`; `.damaged` without a document, or for one of another issuer;
  ///   `.denied` for a certificate that this machine does not trust; `.unsupported` without libcurl; `CancellationError`.
  public static func discover(issuer: String, authority: String? = nil) async throws -> AuthorizationServer {
    try await Cancellation.run { try discover(issuer: issuer, authority: authority, $0) }
  }

  package static func discover(
    issuer: String, authority: String?, _ cancellation: Cancellation?
  ) throws -> AuthorizationServer {
    let name = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
    _ = try Endpoint(name, "issuer")
    let places = documents(of: name)
    for (index, place) in places.enumerated() {
      let answer = try HTTPExchange(Endpoint(place, "issuer's document"), authority: authority).get(cancellation)
      if answer.status == 404, index + 1 < places.count { continue }
      try OAuthFailure.checkReached(answer.status, place)
      guard answer.status == 200 else { continue }
      let document = try ServerDocument(answer.body, place: place)
      // A server that answers for another issuer would get its tokens (RFC 8414, 3.3).
      guard let found = document.texts["issuer"], found == issuer || found == name else {
        throw StoreError(
          .damaged, "the document belongs to another issuer", place: place,
          cure: "give the issuer as the server names itself")
      }
      return try AuthorizationServer(document, issuer: found, authority: authority)
    }
    throw StoreError(
      .damaged, "the server does not list its endpoints", place: name,
      cure: "check the issuer, or give the endpoints themselves")
  }

  /// Possible addresses of an issuer's document. Source: RFC 8414, 3.1 and 5; OpenID Connect Discovery 1.0, 4.1.
  static func documents(of issuer: String) -> [String] {
    let start = issuer.firstRange(of: "://").map { issuer[$0.upperBound...] } ?? issuer[...]
    let slash = start.firstIndex(of: "/") ?? issuer.endIndex
    let (origin, path) = (issuer[..<slash], issuer[slash...])
    return [
      "\(origin)/.well-known/oauth-authorization-server\(path)", "\(issuer)/.well-known/openid-configuration",
    ]
  }
}

struct ServerDocument {
  var texts: [String: String] = [:]
  var methods: [String]?
  var namesIssuer = false

  private static let names: Set = [
    "issuer", "token_endpoint", "device_authorization_endpoint", "authorization_endpoint", "revocation_endpoint",
  ]

  init(_ body: borrowing SecretBytes, place: String) throws {
    try body.withUnsafeBytes { raw in
      var scanner = JSONScanner(raw, place: place, outcome: "check the address; nothing was changed")
      try scanner.object { scanner, name in
        switch name {
        case _ where Self.names.contains(name): texts[name] = try scanner.text()
        case "token_endpoint_auth_methods_supported":
          var found: [String] = []
          try scanner.array { found.append(try $0.text()) }
          methods = found
        case "authorization_response_iss_parameter_supported": namesIssuer = try scanner.literal() == "true"
        default: try scanner.skip()
        }
      }
      try scanner.end()
    }
  }

  func endpoint(_ name: String) throws(StoreError) -> Endpoint? {
    try texts[name].map { (text) throws(StoreError) in
      try Endpoint(text, name.split(separator: "_").joined(separator: " "), ofServer: true)
    }
  }
}
