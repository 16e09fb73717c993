import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Testing

@testable import CofferLogin

/// Logins at a real server: Authlib's.
@Suite(.tags(.process), .wholeRun) struct LoginTests {
  private func text(_ form: SecretForm?) -> String { form?.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } ?? "" }

  private func program(_ server: AuthlibServer) async throws -> OAuthClient {
    OAuthClient(id: "program", at: try await .discover(issuer: server.issuer), scopes: ["read"])
  }

  private func device(_ client: OAuthClient, _ server: AuthlibServer, _ answers: String...) async throws -> OAuthTokens {
    let login = try await client.loginByCode()
    for answer in answers { try server.control(answer, ["code": login.userCode]) }
    return try await login.wait()
  }

  @Test func `a person who enters the code is logged in, and the tokens renew each other until they are taken back`() async throws
  {
    guard let server = try AuthlibServer() else { return }
    let client = try await program(server)
    let login = try await client.loginByCode()
    #expect(login.verificationURL == "\(server.issuer)/device" && login.completeURL?.hasSuffix(login.userCode) == true)
    async let waited = login.wait()
    try await Task.sleep(for: .seconds(1.5))
    try server.control("allow", ["code": login.userCode])
    let first = try await waited
    #expect(try server.takes(text(first.access)))
    #expect(first.type == "Bearer" && first.scope == "read")
    let life = try #require(first.expires).timeIntervalSinceNow
    #expect(life > 3500 && life < 3545)

    let second = try await client.tokens(refreshing: #require(first.refresh))
    #expect(try server.takes(text(second.access)))
    #expect(text(second.refresh) != text(first.refresh))
    #expect(try await client.revoke(#require(second.refresh)))
    #expect(try !server.takes(text(second.access)))
    await #expect(throws: StoreError.self) { try await client.tokens(refreshing: #require(second.refresh)) }
  }

  @Test func `a refresh token that was used before ends the login, and the error says so`() async throws {
    guard let server = try AuthlibServer() else { return }
    let client = try await program(server)
    let first = try await device(client, server, "allow")
    let second = try await client.tokens(refreshing: #require(first.refresh))
    let error = await #expect(throws: StoreError.self) { try await client.tokens(refreshing: #require(first.refresh)) }
    #expect(error?.kind == .loginRefused && error?.what == "the server refuses to renew the login: invalid_grant")
    #expect(error?.description.contains("used before") == true)
    #expect(try !server.takes(text(second.access)))
  }

  @Test func `whoever says no, waits too long or is told to slow down is understood`() async throws {
    guard let server = try AuthlibServer() else { return }
    let client = try await program(server)
    let denied = await #expect(throws: StoreError.self) { try await device(client, server, "deny") }
    #expect(denied?.kind == .loginRefused && denied?.what.hasPrefix("the server refuses the login: access_denied") == true)
    let ended = await #expect(throws: StoreError.self) { try await device(client, server, "end") }
    #expect(ended?.kind == .loginRefused && ended?.what == "the code ended before it was entered")
    let start = ContinuousClock.now
    _ = try await device(client, server, "slow", "allow")
    // One second, the server's interval, and then five more than that.
    #expect(ContinuousClock.now - start >= .seconds(6.9))
  }

  @Test func `a login that nobody waits for any more ends at once`() async throws {
    guard let server = try AuthlibServer() else { return }
    let login = try await program(server).loginByCode()
    let waiting = Task { try await login.wait() }
    try await Task.sleep(for: .milliseconds(200))
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
  }

  @Test func `the browser comes back with a code, which is good once and for this login alone`() async throws {
    guard let server = try AuthlibServer() else { return }
    let client = try await program(server)
    let login = try client.loginByBrowser()
    #expect(login.url.contains("code_challenge_method=S256") && login.url.contains("scope=read"))
    async let waited = login.wait()
    let page = try server.browse(login.url)
    #expect(page.contains("You can close this page"))
    #expect(try await server.takes(text(waited.access)))

    for (query, what) in [
      ("code=stolen&state=another", "what came back is of another login"), ("state=STATE", "what came back holds no code"),
      ("error=access_denied&state=STATE", "the server refuses the login: access_denied"),
      ("code=c&state=STATE&iss=https://elsewhere.example", "what came back is of another server"),
      ("code=forged&state=STATE", "the server refuses the code: invalid_grant"),
    ] {
      let login = try client.loginByBrowser()
      let parts = try #require(URLComponents(string: login.url)?.queryItems)
      let value = { name in parts.first { $0.name == name }?.value ?? "" }
      async let waited = login.wait()
      try server.browse("\(value("redirect_uri"))?\(query.replacing("STATE", with: value("state")))")
      do {
        _ = try await waited
        Issue.record("\(query) is taken")
      } catch let error as StoreError { #expect(error.kind == .loginRefused && error.what.hasPrefix(what), "\(query): \(error)") }
    }
  }

  @Test func `a service logs in with its secret, and with no other`() async throws {
    guard let server = try AuthlibServer() else { return }
    let place = try await AuthorizationServer.discover(issuer: server.issuer)
    let tokens = try await OAuthClient(id: "service", secret: secret(AuthlibServer.secret), at: place, scopes: ["read"])
      .tokensOfItsOwn()
    #expect(try server.takes(text(tokens.access)))
    let body = try AuthorizationServer(token: place.tokenEndpoint, takesSecretInBody: true)
    let other = try await OAuthClient(id: "service", secret: secret(AuthlibServer.secret), at: body).tokensOfItsOwn()
    #expect(try server.takes(text(other.access)))
    for wrong in [secret("another"), nil] {
      let error = await #expect(throws: StoreError.self) {
        try await OAuthClient(id: "service", secret: wrong, at: place).tokensOfItsOwn()
      }
      #expect(error?.kind == .loginRefused && error?.what.contains("invalid_client") == true)
    }
  }

  /// What a server may answer in the place of tokens, and what that is.
  private static let answers: [(status: Int, body: String, copies: Int, kind: StoreError.Kind)] = [
    (500, "fault", 1, .unreachable), (503, "{}", 1, .unreachable), (429, "", 1, .unreachable),
    (302, "elsewhere", 1, .damaged), (200, "<html>Sign in</html>", 1, .damaged), (200, "", 1, .damaged), (200, "{}", 1, .damaged),
    (200, "{\"access_token\": 5}", 1, .damaged), (200, "{\"access_token\": \"a\"", 1, .damaged),
    (200, "{\"access_token\": \"a\", \"access_token\": \"b\"}", 1, .damaged),
    (200, "{\"access_token\": \"a\", \"expires_in\": \"soon\"}", 1, .damaged),
    (200, "[]", 1, .damaged), (404, "not here", 1, .damaged), (400, "{}", 1, .damaged), (200, "x", 1 << 20, .damaged),
    // As GitHub answers errors.
    (200, "{\"error\": \"bad_refresh_token\", \"error_description\": \"The refresh token is incorrect.\"}", 1, .loginRefused),
    (200, "{\"error\": \"\\u001b[31m no word\"}", 1, .loginRefused),
  ]

  @Test func `answers that are none are told as what they are, and give no secret away`() async throws {
    guard let server = try AuthlibServer() else { return }
    let client = try await program(server)
    for answer in Self.answers {
      try server.control(
        "fault", ["status": "\(answer.status)", "body": answer.body, "copies": "\(answer.copies)", "times": "1"])
      let error = await #expect(throws: StoreError.self) { try await client.tokens(refreshing: secret("the old token")) }
      #expect(error?.kind == answer.kind, "\(answer.status) \(answer.body): \(error?.description ?? "")")
      #expect(error?.description.contains("\u{1B}") == false)
    }
    let echo = "{\"error\": \"invalid_grant\", \"error_description\": \"you sent the old token\"}"
    try server.control("fault", ["status": "400", "body": echo, "times": "1"])
    let error = await #expect(throws: StoreError.self) { try await client.tokens(refreshing: secret("the old token")) }
    #expect(error?.kind == .loginRefused && error?.description.contains("the old token") == false)

    for (life, least, most) in [("1e30", 3e8, 4e8), ("-5", -300.0, 1.0), ("\"60\"", -250.0, 54.1)] {
      let body = "{\"access_token\": \"a\", \"expires_in\": \(life)}"
      try server.control("fault", ["status": "200", "body": body, "times": "1"])
      let tokens = try await client.tokens(refreshing: secret("the old token"))
      let rest = try #require(tokens.expires).timeIntervalSinceNow
      #expect(rest > least && rest < most, "\(life): \(rest)")
    }
  }

  @Test func `a server that goes away for a moment ends no login, and one that stays away is told`() async throws {
    guard let server = try AuthlibServer() else { return }
    let client = try await program(server)
    let login = try await client.loginByCode()
    try server.control("allow", ["code": login.userCode])
    try server.control("fault", ["status": "503", "body": "", "times": "2"])
    #expect(try await server.takes(text(login.wait().access)))
    server.stop()
    let error = await #expect(throws: StoreError.self) { try await client.loginByCode() }
    #expect(error?.kind == .unreachable)
  }

  @Test func `a document of another issuer, or of none, is not believed`() async throws {
    guard let server = try AuthlibServer() else { return }
    let other = server.issuer.replacing("127.0.0.1", with: "localhost")
    let error = await #expect(throws: StoreError.self) { try await AuthorizationServer.discover(issuer: other) }
    #expect(error?.kind == .damaged && error?.what.contains("another issuer") == true)
    let none = await #expect(throws: StoreError.self) {
      try await AuthorizationServer.discover(issuer: "\(server.issuer)/tenant")
    }
    #expect(none?.kind == .damaged)
    let body = "{\"issuer\": \"\(server.issuer)\", \"token_endpoint\": \"http://elsewhere.example/token\"}"
    try server.control("fault", ["status": "200", "body": body, "times": "1"])
    let open = await #expect(throws: StoreError.self) { try await AuthorizationServer.discover(issuer: server.issuer) }
    #expect(open?.kind == .invalidName)
  }
}
