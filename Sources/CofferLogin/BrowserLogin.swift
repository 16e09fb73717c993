internal import CofferStorage

/// A login in the browser of this machine: its page redirects to a port that only this program listens to.
///
/// Source: RFC 6749, 4.1, with PKCE (RFC 7636, S256) and a loopback address (RFC 8252, 7.3).
public final class BrowserLogin: Sendable {
  /// The page to open. As a program's argument every user of the machine can read it. It gives them no token, but lets them
  /// finish the login with an account of their own.
  public let url: String

  private let grant: CodeGrant
  private let door: LoopbackDoor
  private let state: SecretForm

  /// A user without an answer by then has left. Seconds.
  package static let longestWait = 300.0

  init(_ client: OAuthClient) throws {
    door = try LoopbackDoor()
    state = try CodeGrant.randomWord()
    grant = CodeGrant(
      client: client, redirect: "http://127.0.0.1:\(door.port)/callback", verifier: try CodeGrant.randomWord())
    url = try grant.url(state: CodeGrant.text(state))
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
      let tokens = try grant.tokens(for: answer, cancellation)
      browser.reply("200 OK", "The server has let you in. You can close this page and go back to the program that opened it.")
      return tokens
    } catch {
      browser.reply("200 OK", "You are not logged in. The program that opened this page says why.")
      throw error
    }
  }
}

extension OAuthClient {
  /// Begins a login in the browser of this machine: open ``BrowserLogin/url``, then wait.
  ///
  /// - Throws: `StoreError` `.unsupported` for a server without a page; `.io` without a port to listen to; `.memory`.
  public func loginByBrowser() throws -> BrowserLogin { try BrowserLogin(self) }
}
