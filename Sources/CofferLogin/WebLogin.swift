internal import CofferMemory
internal import CofferPlatform
public import CofferStorage
internal import FoundationEssentials
internal import Synchronization

/// Logins of a web service's users, whose browsers go to the server's page and return to an address of the service.
///
/// ```swift
/// let login = WebLogin(client, in: app)
/// // GET /login
/// let start = try await login.authorization(redirect: "https://app.example/callback")
/// // … answer 303 with `Location: start.url` and `Set-Cookie: start.cookie`
/// // GET /callback
/// let tokens = try await login.tokens(for: request.uri.string, cookies: request.headers[.cookie])
/// ```
///
/// Until the browser returns, the vault keeps the login's secrets, so that any process of the service can take the answer.
/// Source: RFC 6749, 4.1; PKCE, RFC 7636; the server's name, RFC 9207; with the scope `openid`, OpenID Connect Core 1.0.
public struct WebLogin: Sendable {
  private let client: OAuthClient
  private let vault: any DecidingStore

  /// The beginning of a login, for the browser.
  public struct Authorization: Sendable {
    /// The server's page: the target of a redirect.
    public let url: String
    /// The value of the redirect's `Set-Cookie`. The cookie binds the login to this browser. Otherwise another person's browser
    /// could finish an attacker's login (RFC 6749, 10.12). It is not a session.
    public let cookie: String
  }

  /// Seconds that a login may take.
  static let longest = 600.0
  /// Most pending logins. Anybody can begin one: this limits them to about a megabyte of the vault. When nearly all names are
  /// taken, another login ends.
  static let most = 1024
  /// Names tried to find a free one, so that the cost does not grow with the pending logins.
  private static let looks = 8
  /// Most bytes of an answer. A code has a few hundred bytes.
  private static let longestAnswer = 1 << 14
  /// Of strangers' requests at one time: each holds a thread while the server does not answer.
  private static let mostExchanges = 32
  private static let exchanges = Atomic(0)

  /// Logins at `client`'s server, kept in the vault of `app`.
  public init(_ client: OAuthClient, in app: StorageRouter) {
    self.client = client
    vault = app.vault
  }

  /// Begins a login, which ends after ten minutes.
  ///
  /// - Parameter redirect: the service's address for the answer, as registered at the server: https, or http on this machine,
  ///   without a query.
  /// - Throws: `StoreError` `.invalidName` for another address; `.unsupported` for a server without a page, or with the scope
  ///   `openid` without an issuer; `.locked` and the other errors of the vault.
  public func authorization(redirect: String) throws -> Authorization {
    _ = try Endpoint(redirect, "redirect address")
    guard !redirect.utf8.contains(UInt8(ascii: "?")) else {
      throw StoreError(
        .invalidName, "the redirect address has a query", place: redirect,
        cure: "give one without a query: the answer comes there")
    }
    let isOpenID = client.scopes.contains("openid")
    guard !isOpenID || client.server.issuer != nil else {
      throw StoreError(
        .unsupported, "the issuer of the server's id tokens is not known", place: client.server.token.host,
        cure: "discover the server, or give it an issuer")
    }
    let word = { CodeGrant.text(try CodeGrant.randomWord()) }
    let verifier = try CodeGrant.randomWord()
    let pending = try PendingLogin(
      state: word(), verifier: CodeGrant.text(verifier), nonce: isOpenID ? word() : nil, browser: word(), redirect: redirect,
      client: client.id, server: client.server.token.text)
    let slot = try keep(pending)
    let url = try CodeGrant(client: client, redirect: redirect, verifier: verifier)
      .url(state: "\(slot).\(pending.state)", nonce: pending.nonce)
    let isSecure = !redirect.hasPrefix("http://")
    return Authorization(
      url: url,
      cookie: "\(Self.cookie(of: slot, isSecure: isSecure))=\(pending.browser); Path=/; Max-Age=\(Int(Self.longest)); HttpOnly; "
        + "SameSite=Lax" + (isSecure ? "; Secure" : ""))
  }

  /// The asynchronous form: no thread of Swift's pool waits for the vault's disk.
  nonisolated(nonsending) public func authorization(redirect: String) async throws -> Authorization {
    try await CallQueues.callClosure(within: nil) { try authorization(redirect: redirect) }
  }

  /// Ends a login with the server's tokens. An answer works once, in the browser that began the login.
  ///
  /// With the scope `openid`, ``OAuthTokens/idToken`` names the person.
  ///
  /// - Parameters:
  ///   - target: the request's target, such as `/callback?code=…`, or its whole address.
  ///   - cookies: the request's `Cookie`.
  /// - Throws: `StoreError` `.loginRefused` if this browser began no such login within ten minutes, the answer was used before,
  ///   came to another address or is from another server, or the person refused; `.busy` while 32 others wait for the server,
  ///   after which the same answer works; `.locked` and the vault's other errors; the errors of ``OAuthClient/tokensOfItsOwn()``.
  public func tokens(for target: String, cookies: String?) async throws -> OAuthTokens {
    defer { Self.exchanges.subtract(1, ordering: .relaxed) }
    guard Self.exchanges.add(1, ordering: .relaxed).newValue <= Self.mostExchanges else {
      throw StoreError(
        .busy, "\(Self.mostExchanges) logins already wait for the server", place: client.server.token.text, cure: "try again")
    }
    let (pending, answer) = try await CallQueues.callClosure(within: nil) { try take(target, cookies) }
    let grant = CodeGrant(client: client, redirect: pending.redirect, verifier: try CodeGrant.secret(pending.verifier))
    return try await Cancellation.run { cancellation in
      var tokens = try grant.tokens(for: answer, cancellation)
      guard let nonce = pending.nonce else { return tokens }
      guard let token = tokens.rawIDToken else {
        throw StoreError(
          .damaged, "the server's answer holds no id token", place: client.server.token.text,
          cure: "ask the server's operator whether this client may use the scope openid")
      }
      tokens.idToken = try IDToken(token, for: client, nonce: nonce, at: Date())
      return tokens
    }
  }

  // MARK: In the vault

  /// The name of a slot. There are only as many names as logins.
  private static func name(of slot: Int) -> String { ReservedName.pendingLogins + String(slot) }

  // Source: RFC 6265bis, 4.1.3.2: other hosts cannot set a cookie with this name.
  private static func cookie(of slot: Int, isSecure: Bool) -> String { (isSecure ? "__Host-" : "") + "coffer-login-\(slot)" }

  /// Keeps `pending` under a free one of several random names, or replaces the login under the last of them.
  private func keep(_ pending: PendingLogin) throws -> Int {
    let bytes = try Sealed(pending).withBytes { try $0.withUnsafeBytes { try SecretBytes(copying: $0) } }
    // The attribute keeps Secret Service clients and imports from changing it.
    let metadata = ItemMetadata(
      contentType: "application/json", attributes: ["coffer.pending-login": "true"],
      expires: Date().addingTimeInterval(Self.longest))
    let form = SecretForm(bytes, metadata: metadata)
    var looks = 0
    while true {
      let slot = Int.random(in: 0..<Self.most)
      let (version, present) = try look(slot)
      looks += 1
      if present == nil || looks >= Self.looks, try replace(slot, version, by: form) { return slot }
    }
  }

  /// The login in `slot`, nil after its end, and its version.
  private func look(_ slot: Int) throws(StoreError) -> (version: RecordVersion, present: SecretForm?) {
    do {
      let reading = try vault.load([Self.name(of: slot)])[0]
      return (reading.stamp, reading.form)
    } catch {
      guard error.kind == .expired else { throw error }
      return (try vault.version(of: Self.name(of: slot)), nil)
    }
  }

  /// False if the slot has changed since `version`.
  private func replace(_ slot: Int, _ version: RecordVersion, by form: SecretForm?) throws(StoreError) -> Bool {
    var batch = Batch<Vault>()
    batch.expectations[Self.name(of: slot)] = version
    batch.writes[Self.name(of: slot)] = Write(form)
    do { try vault.commit(batch, decision: nil) } catch {
      guard error.kind == .conflict else { throw error }
      return false
    }
    return true
  }

  /// Removes and returns the login that `target` answers, with the answer. Only one of two callers with the same answer gets it.
  private func take(_ target: String, _ cookies: String?) throws -> (PendingLogin, [String: String]) {
    let parts = target.utf8.split(separator: UInt8(ascii: "?"), maxSplits: 1)
    guard target.utf8.count <= Self.longestAnswer, parts.count == 2, let answer = CodeGrant.parameters(parts[1]),
      let state = answer["state"]?.split(separator: ".", maxSplits: 1), state.count == 2, let slot = Int(state[0]),
      (0..<Self.most).contains(slot)
    else { throw refused("the answer is malformed") }
    let (version, present) = try look(slot)
    let unknown = refused("this browser began no login for this answer within ten minutes")
    guard let present else { throw unknown }
    let pending = try present.decoded(PendingLogin.self)
    guard try CodeGrant.isSame(String(state[1]), CodeGrant.secret(pending.state)), pending.client == client.id,
      pending.server == client.server.token.text
    else { throw unknown }
    let name = Self.cookie(of: slot, isSecure: !pending.redirect.hasPrefix("http://"))
    let cookie = cookies?.split(separator: ";").map { $0.drop { $0 == " " } }.first { $0.hasPrefix(name + "=") }
    guard try CodeGrant.isSame(cookie.map { String($0.dropFirst(name.count + 1)) }, CodeGrant.secret(pending.browser)) else {
      throw unknown
    }
    // Source: RFC 9700, 4.4.2: an answer to another address may be of another server.
    guard pending.isRedirect(target.prefix { $0 != "?" }) else { throw refused("the answer came to another address") }
    guard try replace(slot, version, by: nil) else { throw unknown }
    return (pending, answer)
  }

  private func refused(_ what: String) -> StoreError {
    StoreError(.loginRefused, what, place: client.server.token.host, cure: "begin the login again, in one browser")
  }
}

/// A login without its answer.
private struct PendingLogin: Codable, Sendable, SecretPayload {
  let state: String
  let verifier: String
  let nonce: String?
  /// The value of the cookie.
  let browser: String
  let redirect: String
  let client: String
  let server: String

  /// Whether `address` is the redirect's, or its path.
  func isRedirect(_ address: Substring) -> Bool {
    let rest = redirect.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    return address == redirect || address == "/" + (rest.count > 3 ? rest[3] : "")
  }
}
