internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials

/// A login in the browser of this machine: its page redirects to a port that only this program listens to.
///
/// Source: RFC 6749, 4.1, with PKCE (RFC 7636, S256) and a loopback address (RFC 8252, 7.3).
public final class BrowserLogin: Sendable {
  /// The page to open. As a program's argument every user of the machine can read it. It gives them no token, but lets them
  /// finish the login with an account of their own.
  public let url: String

  private let client: OAuthClient
  private let door: LoopbackDoor
  private let state: SecretForm
  private let verifier: SecretForm
  private let redirect: String

  /// A user without an answer by then has left. Seconds.
  package static let longestWait = 300.0

  init(_ client: OAuthClient, _ page: Endpoint) throws {
    door = try LoopbackDoor()
    redirect = "http://127.0.0.1:\(door.port)/callback"
    state = try Self.randomWord()
    verifier = try Self.randomWord()
    self.client = client
    let challenge = try Self.base64url(SecretDigest.sha256.hash(verifier.bytes))
    var parameters = [
      ("response_type", "code"), ("client_id", client.id), ("redirect_uri", redirect),
      ("state", state.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }),
      ("code_challenge", challenge.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }),
      ("code_challenge_method", "S256"),
    ]
    if let scope = client.scope { parameters.append(("scope", scope)) }
    url =
      page.text + (page.text.utf8.contains(UInt8(ascii: "?")) ? "&" : "?")
      + parameters.map { "\($0)=\(Form.encoded($1))" }.joined(separator: "&")
  }

  /// Waits until the browser comes back, and fetches the tokens.
  ///
  /// - Throws: `StoreError` `.loginRefused` if the person refused, nothing came within five minutes, or the answer is of
  ///   another server; the errors of ``OAuthClient/tokensOfItsOwn()``.
  public func wait() async throws -> OAuthTokens { try await Cancellation.run { try self.wait($0) } }

  package func wait(_ cancellation: Cancellation) throws -> OAuthTokens {
    defer { door.close() }
    let (answer, browser) = try door.answer(of: state, within: Self.longestWait, cancellation)
    do {
      let tokens = try tokens(for: answer, cancellation)
      browser.reply("200 OK", "The server has let you in. You can close this page and go back to the program that opened it.")
      return tokens
    } catch {
      browser.reply("200 OK", "You are not logged in. The program that opened this page says why.")
      throw error
    }
  }

  private func tokens(for answer: [String: String], _ cancellation: Cancellation) throws -> OAuthTokens {
    if let issuer = answer["iss"], let expected = client.server.issuer, issuer != expected {
      throw refused("the answer is from another server", cure: "log in again; if it stays so, the page is not the server's")
    }
    // Source: RFC 9207, 2.4: a server that announces its name has to send it.
    guard !client.server.namesIssuer || answer["iss"] != nil else {
      throw refused("the answer does not name its server", cure: "log in again")
    }
    if let code = answer["error"] {
      let isWord = code.utf8.allSatisfy { $0 == UInt8(ascii: "_") || (0x61...0x7A).contains($0) }
      throw refused(
        "the server refused the login: \(isWord ? code : "an unnamed error")", cure: "log in again, and allow it")
    }
    guard let code = answer["code"] else { throw refused("the answer holds no code", cure: "log in again") }
    var form = Form()
    form.add("grant_type", "authorization_code")
    form.add("code", SecretForm(try code.utf8Span.span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }))
    form.add("redirect_uri", redirect)
    form.add("code_verifier", verifier)
    return try client.tokens(form, "the code", cure: "log in again", cancellation)
  }

  private func refused(_ what: String, cure: String) -> StoreError {
    StoreError(.loginRefused, what, place: client.server.token.host, cure: cure)
  }

  /// 32 random bytes as text that needs no encoding. Source: RFC 7636, 4.1.
  private static func randomWord() throws -> SecretForm { try base64url(SecretBytes.random(32)) }

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

extension OAuthClient {
  /// Begins a login in the browser of this machine: open ``BrowserLogin/url``, then wait.
  ///
  /// - Throws: `StoreError` `.unsupported` for a server without a page; `.io` without a port to listen to; `.memory`.
  public func loginByBrowser() throws -> BrowserLogin {
    guard let page = server.authorization else {
      throw StoreError(.unsupported, "the server has no login page", place: server.token.host, cure: "log in by a code")
    }
    return try BrowserLogin(self, page)
  }
}
