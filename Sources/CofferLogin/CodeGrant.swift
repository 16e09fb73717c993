internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage

/// A login by an authorization code that a browser brings from the server's page to `redirect`.
///
/// Source: RFC 6749, 4.1, with PKCE (RFC 7636, S256).
struct CodeGrant: Sendable {
  let client: OAuthClient
  let redirect: String
  let verifier: SecretForm

  /// The server's page with the request.
  ///
  /// - Throws: `.unsupported` for a server without a page.
  func url(state: String, nonce: String? = nil) throws -> String {
    guard let page = client.server.authorization else {
      throw StoreError(.unsupported, "the server has no login page", place: client.server.token.host, cure: "log in by a code")
    }
    let challenge = try Self.text(Self.base64url(SecretDigest.sha256.hash(verifier.bytes)))
    var parameters = [
      ("response_type", "code"), ("client_id", client.id), ("redirect_uri", redirect), ("state", state),
      ("code_challenge", challenge), ("code_challenge_method", "S256"),
    ]
    if let nonce { parameters.append(("nonce", nonce)) }
    if let scope = client.scope { parameters.append(("scope", scope)) }
    return page.text + (page.text.utf8.contains(UInt8(ascii: "?")) ? "&" : "?")
      + parameters.map { "\($0)=\(Form.encoded($1))" }.joined(separator: "&")
  }

  /// Exchanges the code in a redirect's parameters. The caller has compared `state`.
  ///
  /// - Throws: `.loginRefused` for another server's answer, an error, or a code that the server refuses.
  func tokens(for answer: [String: String], _ cancellation: Cancellation?) throws -> OAuthTokens {
    if let issuer = answer["iss"], let expected = client.server.issuer, issuer != expected {
      throw refused("the answer is from another server", cure: "log in again; if it happens again, the page is not the server's")
    }
    // Source: RFC 9207, 2.4: a server that announces its name must send it.
    guard !client.server.namesIssuer || answer["iss"] != nil else {
      throw refused("the answer does not name its server", cure: "log in again")
    }
    if let code = answer["error"] {
      let isWord = code.utf8.count <= 64 && code.utf8.allSatisfy { $0 == UInt8(ascii: "_") || (0x61...0x7A).contains($0) }
      throw refused(
        "the server refused the login: \(isWord ? code : "an unnamed error")", cure: "log in again, and allow it")
    }
    guard let code = answer["code"] else { throw refused("the answer holds no code", cure: "log in again") }
    var form = Form()
    form.add("grant_type", "authorization_code")
    form.add("code", try Self.secret(code))
    form.add("redirect_uri", redirect)
    form.add("code_verifier", verifier)
    return try client.tokens(form, "the code", cure: "log in again", cancellation)
  }

  func refused(_ what: String, cure: String) -> StoreError {
    StoreError(.loginRefused, what, place: client.server.token.host, cure: cure)
  }

  // MARK: Words and parameters

  /// 32 random bytes as text that needs no encoding. Source: RFC 7636, 4.1.
  static func randomWord() throws -> SecretForm { try base64url(SecretBytes.random(32)) }

  static func text(_ word: SecretForm) -> String { word.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }

  static func secret(_ text: String) throws -> SecretForm {
    SecretForm(try text.utf8Span.span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) })
  }

  /// Whether `given` is `expected`. The time does not reveal where they differ.
  static func isSame(_ given: String?, _ expected: SecretForm) throws -> Bool {
    guard let given else { return false }
    return try secret(given).bytes.isEqual(to: expected.bytes)
  }

  /// A redirect's parameters; nil for a malformed query or a repeated name (RFC 6749, 3.1).
  static func parameters(_ query: some Collection<UInt8>) -> [String: String]? {
    var found: [String: String] = [:]
    for pair in query.split(separator: UInt8(ascii: "&")) {
      let sides = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard sides.count == 2, let name = decoded(sides[0]), let value = decoded(sides[1]),
        found.updateValue(value, forKey: name) == nil
      else { return nil }
    }
    return found
  }

  /// In a form a plus may stand for a blank. Source: HTML, "URL-encoded form data".
  private static func decoded(_ text: some Collection<UInt8>) -> String? {
    PercentEncoding.decode(text.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 })
      .flatMap { String(validating: $0, as: UTF8.self) }
  }

  /// Source: RFC 4648, section 5, without padding.
  private static func base64url(_ bytes: borrowing SecretBytes) throws -> SecretForm {
    let text = try bytes.withUnsafeBytes { raw in
      try SecretBytes.written { (put) throws(StoreError) in
        SecretBase64.encode(raw) { digit in
          switch digit {
          case UInt8(ascii: "+"): put(UInt8(ascii: "-"))
          case UInt8(ascii: "/"): put(UInt8(ascii: "_"))
          case UInt8(ascii: "="): break
          default: put(digit)
          }
        }
      }
    }
    return SecretForm(text)
  }
}
