internal import CofferMemory
internal import CofferPlatform
public import CofferStorage
internal import FoundationEssentials

/// A program known to an authorization server by an id, and perhaps a secret.
///
/// ```swift
/// let client = OAuthClient(id: "Iv1.8a61f9b3a7aba766", at: try AuthorizationServer(.gitHub), scopes: ["repo"])
/// let login = try await client.loginByCode()
/// print("Open \(login.verificationURL) and enter \(login.userCode)")
/// let tokens = try await login.wait()
/// ```
public struct OAuthClient: Sendable {
  /// The id from the server.
  public let id: String
  /// The server that it asks.
  public let server: AuthorizationServer
  /// The requested scopes.
  public let scopes: [String]
  let secret: SecretForm?

  /// A client; its secret is nil for an installed program, which cannot keep one.
  public init(id: String, secret: SecretForm? = nil, at server: AuthorizationServer, scopes: [String] = []) {
    self.id = id
    self.secret = secret
    self.server = server
    self.scopes = scopes
  }

  /// Tokens for the client itself, without a person. Source: RFC 6749, 4.4.
  ///
  /// - Throws: `StoreError` `.loginRefused`; `.unreachable`; `.damaged` for an invalid answer; `.denied` for a certificate
  ///   that this machine does not trust; `.unsupported` without libcurl; `CancellationError`.
  public func tokensOfItsOwn() async throws -> OAuthTokens {
    try await Cancellation.run { try tokensOfItsOwn($0) }
  }

  package func tokensOfItsOwn(_ cancellation: Cancellation?) throws -> OAuthTokens {
    var form = Form()
    form.add("grant_type", "client_credentials")
    form.add("scope", scope)
    return try tokens(form, "the client's own login", cure: "check the client's id, its secret and its scopes", cancellation)
  }

  /// New tokens for `refresh`. Source: RFC 6749, section 6.
  ///
  /// A server may return another refresh token, and then treat the old one as stolen: store the new one before the access
  /// token is used. If it returns none, the old one stays valid.
  ///
  /// - Throws: as ``tokensOfItsOwn()``; `.loginRefused` if the refresh token has expired or was used before: log in again.
  public func tokens(refreshing refresh: SecretForm) async throws -> OAuthTokens {
    try await Cancellation.run { try tokens(refreshing: refresh, $0) }
  }

  package func tokens(refreshing refresh: SecretForm, _ cancellation: Cancellation?) throws -> OAuthTokens {
    var form = Form()
    form.add("grant_type", "refresh_token")
    form.add("refresh_token", refresh)
    return try tokens(
      form, "to renew the login", cure: "log in again: it has ended, was revoked, or its refresh token was used before",
      cancellation)
  }

  /// Revokes `token` at the server. Source: RFC 7009.
  ///
  /// - Returns: false if the server cannot revoke.
  /// - Throws: as ``tokensOfItsOwn()``.
  public func revoke(_ token: SecretForm) async throws -> Bool {
    try await Cancellation.run { try revoke(token, $0) }
  }

  package func revoke(_ token: SecretForm, _ cancellation: Cancellation?) throws -> Bool {
    guard let endpoint = server.revocation else { return false }
    var form = Form()
    form.add("token", token)
    let answer = try post(&form, to: endpoint, cancellation)
    try OAuthFailure.checkReached(answer.status, endpoint.text)
    guard answer.status != 200 else { return true }
    let (doing, cure) = ("to revoke the token", "revoke it on the server's own page")
    if let refusal = OAuthFailure(silent: answer) { throw refusal.error(doing, endpoint.text, cure: cure) }
    let parts = try OAuthAnswer(answer.body, place: endpoint.text)
    throw OAuthFailure(parts, parts.texts["error"] ?? "", form).error(doing, endpoint.text, cure: cure)
  }

  // MARK: What all ways share

  var scope: String? { scopes.isEmpty ? nil : scopes.joined(separator: " ") }

  func tokens(_ form: Form, _ doing: String, cure: String, _ cancellation: Cancellation?) throws -> OAuthTokens {
    switch try answer(form, cancellation) {
    case .tokens(let tokens): return tokens
    case .refused(let failure): throw failure.error(doing, server.token.text, cure: cure)
    }
  }

  enum Answer { case tokens(OAuthTokens), refused(OAuthFailure) }

  /// The token endpoint's answer. GitHub sends even errors with status 200.
  func answer(_ form: Form, _ cancellation: Cancellation?) throws -> Answer {
    var form = form
    let now = Date()
    let place = server.token.text
    let answer = try post(&form, to: server.token, cancellation)
    try OAuthFailure.checkReached(answer.status, place)
    if let refusal = OAuthFailure(silent: answer) { return .refused(refusal) }
    let parts = try OAuthAnswer(answer.body, place: place)
    if let code = parts.texts["error"] { return .refused(OAuthFailure(parts, code, form)) }
    guard answer.status == 200 else {
      throw StoreError(
        .damaged, "the server answers with status \(answer.status) and no error", place: place,
        cure: "check that the address is the token endpoint's")
    }
    return .tokens(try OAuthTokens(parts, at: now, place: place))
  }

  /// Sends `form` with the client's credentials. Source: RFC 6749, 2.3.1.
  func post(_ form: inout Form, to endpoint: Endpoint, _ cancellation: Cancellation?) throws -> HTTPAnswer {
    guard let secret, !server.takesSecretInBody else {
      form.add("client_id", id)
      form.add("client_secret", secret)
      return try HTTPExchange(endpoint, authority: server.authority).post(form, cancellation)
    }
    return try HTTPExchange(endpoint, authority: server.authority)
      .post(form, authorization: SecretForm(basic(secret)), cancellation)
  }

  private func basic(_ secret: SecretForm) throws -> SecretBytes {
    let pair = try SecretBytes.written { (put) throws(StoreError) in
      for byte in id.utf8 { Form.encode(byte, put) }
      put(UInt8(ascii: ":"))
      secret.bytes.withUnsafeBytes { raw in for byte in raw { Form.encode(byte, put) } }
    }
    return try SecretBytes.written { (put) throws(StoreError) in
      "Basic ".utf8.forEach(put)
      pair.withUnsafeBytes { SecretBase64.encode($0, put) }
    }
  }
}
