import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Testing

@testable import CofferLogin

/// Logins at real servers, case by case. A whole program's behavior in a fault is in `LoginFaultTests`.
@Suite(.tags(.process), .wholeRun) struct LoginTests {
  private func text(_ form: SecretForm?) -> String { form?.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } ?? "" }

  private func client(_ server: OAuthServer) async throws -> OAuthClient {
    OAuthClient(
      id: server.kind.client, secret: server.kind.secret.map(secret), at: try await .discover(issuer: server.issuer),
      scopes: ["read"])
  }

  private func device(_ client: OAuthClient, _ server: OAuthServer, _ answers: String...) async throws -> OAuthTokens {
    let login = try await client.loginByCode()
    for answer in answers { try server.control(answer, ["code": login.userCode]) }
    return try await login.wait()
  }

  private func browser(_ client: OAuthClient, _ server: OAuthServer) async throws -> OAuthTokens {
    let login = try client.loginByBrowser()
    async let waited = login.wait()
    try await server.visit(login.url)
    return try await waited
  }

  // MARK: By a code

  @Test(arguments: OAuthServer.Kind.withCodes)
  func `a person who enters the code is logged in`(kind: OAuthServer.Kind) async throws {
    let server = try OAuthServer(kind)
    let login = try await client(server).loginByCode()
    #expect(login.verificationURL == "\(server.issuer)/device" && login.completeURL?.hasSuffix(login.userCode) == true)
    let cancellation = Cancellation()
    var pauses = 0
    let tokens = try login.wait(cancellation) {
      pauses += 1
      if pauses == 2 { try server.control("allow", ["code": login.userCode]) }
      cancellation.sleep($0)
    }
    #expect(pauses >= 2)
    #expect(try server.takes(text(tokens.access)))
    #expect(tokens.type.lowercased() == "bearer" && tokens.scope == "read")
    let life = try #require(tokens.expires).timeIntervalSinceNow
    #expect(life > 3500 && life < 3545)
  }

  @Test(arguments: OAuthServer.Kind.present)
  func `a server without logins by a code is told from one with them`(kind: OAuthServer.Kind) async throws {
    let client = try await client(OAuthServer(kind))
    #expect((client.server.deviceAuthorizationEndpoint != nil) == OAuthServer.Kind.withCodes.contains(kind))
    guard client.server.deviceAuthorizationEndpoint == nil else { return }
    let error = await #expect(throws: StoreError.self) { try await client.loginByCode() }
    #expect(error?.kind == .unsupported)
  }

  @Test(arguments: OAuthServer.Kind.present.filter(\.takesNo))
  func `whoever says no is understood`(kind: OAuthServer.Kind) async throws {
    let server = try OAuthServer(kind)
    let error = await #expect(throws: StoreError.self) { try await device(client(server), server, "deny") }
    #expect(error?.kind == .loginRefused && error?.what.hasPrefix("the server refused the login: access_denied") == true)
  }

  @Test(arguments: OAuthServer.Kind.withCodes)
  func `a code that ended before it was entered is told`(kind: OAuthServer.Kind) async throws {
    let server = try OAuthServer(kind)
    let error = await #expect(throws: StoreError.self) { try await device(client(server), server, "end") }
    #expect(error?.kind == .loginRefused && error?.what == "the code expired before it was entered")
  }

  @Test(arguments: OAuthServer.Kind.withCodes)
  func `a server that wants to be asked less often is`(kind: OAuthServer.Kind) async throws {
    let server = try OAuthServer(kind)
    let login = try await client(server).loginByCode()
    try server.control("allow", ["code": login.userCode])
    try server.fault(400, #"{"error": "slow_down"}"#, at: "/token")
    var pauses: [Double] = []
    _ = try login.wait(Cancellation()) { pauses.append($0) }
    // The server's interval, and then five seconds more.
    #expect(pauses == [1, 6])
  }

  @Test(arguments: OAuthServer.Kind.anyWithCodes)
  func `a login that nobody waits for any more ends at once`(kind: OAuthServer.Kind) async throws {
    let server = try OAuthServer(kind)
    let login = try await client(server).loginByCode()
    let waiting = Task { try await login.wait() }
    try await poll("the server is asked") { try server.control("counts")["token"] == 1 }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
  }

  @Test(arguments: OAuthServer.Kind.anyWithCodes)
  func `a server that goes away for a moment ends no login, and one that stays away is told`(kind: OAuthServer.Kind) async throws
  {
    let server = try OAuthServer(kind)
    let client = try await client(server)
    let login = try await client.loginByCode()
    try server.control("allow", ["code": login.userCode])
    try server.fault(503, times: 2)
    #expect(try await server.takes(text(login.wait().access)))
    server.stop()
    let error = await #expect(throws: StoreError.self) { try await client.loginByCode() }
    #expect(error?.kind == .unreachable)
  }

  @Test(arguments: OAuthServer.Kind.any)
  func `an interval of less than a second is none, and none is five seconds`(kind: OAuthServer.Kind) async throws {
    let server = try OAuthServer(kind)
    let place = try await AuthorizationServer.discover(issuer: server.issuer)
    let client = OAuthClient(
      id: "program",
      at: try AuthorizationServer(
        token: place.tokenEndpoint, deviceAuthorization: place.deviceAuthorizationEndpoint ?? place.tokenEndpoint))
    for interval in ["-5", "0", "1e-300", "null"] {
      try server.fault(
        200,
        """
        {"device_code": "d", "user_code": "U", "verification_uri": "https://id.example/", "expires_in": 600, "interval": \(interval)}
        """)
      let login = try await client.loginByCode()
      #expect(login.firstInterval == 5, "\(interval): \(login.firstInterval)")
    }
  }

  // MARK: By the browser

  @Test(arguments: OAuthServer.Kind.present)
  func `the browser comes back with a code`(kind: OAuthServer.Kind) async throws {
    let server = try OAuthServer(kind)
    let login = try await client(server).loginByBrowser()
    #expect(login.url.contains("code_challenge_method=S256") && login.url.contains("scope=read"))
    async let waited = login.wait()
    let page = try await server.visit(login.url)
    #expect(page.contains("You can close this page"))
    #expect(try await server.takes(text(waited.access)))
  }

  @Test(arguments: OAuthServer.Kind.present)
  func `what the browser brings of another server or of nothing is refused`(kind: OAuthServer.Kind) async throws {
    let server = try OAuthServer(kind)
    let client = try await client(server)
    // Glewlwyd declares that it names itself in each answer, and is not trusted without.
    let issuer = "&iss=\(server.issuer)"
    for (query, what) in [
      ("state=STATE\(issuer)", "the answer holds no code"),
      ("error=access_denied&state=STATE\(issuer)", "the server refused the login: access_denied"),
      ("code=c&state=STATE&iss=https://elsewhere.example", "the answer is from another server"),
      ("code=forged&state=STATE\(issuer)", "the server refused the code: "),
    ] {
      let login = try client.loginByBrowser()
      let parts = try #require(URLComponents(string: login.url)?.queryItems)
      let value = { name in parts.first { $0.name == name }?.value ?? "" }
      async let waited = login.wait()
      let page = try await server.visit("\(value("redirect_uri"))?\(query.replacing("STATE", with: value("state")))")
      #expect(page.contains("You are not logged in."), "\(query)")
      do {
        _ = try await waited
        Issue.record("\(query) is taken")
      } catch let error as StoreError { #expect(error.kind == .loginRefused && error.what.hasPrefix(what), "\(query): \(error)") }
    }
  }

  @Test(arguments: OAuthServer.Kind.any)
  func `whoever comes without this login's state finds nothing, and the login goes on`(kind: OAuthServer.Kind) async throws {
    let server = try OAuthServer(kind)
    let login = try await client(server).loginByBrowser()
    let parts = try #require(URLComponents(string: login.url)?.queryItems)
    let redirect = try #require(parts.first { $0.name == "redirect_uri" }?.value)
    let state = try #require(parts.first { $0.name == "state" }?.value)
    async let waited = login.wait()
    for query in [
      "x=1", "code=stolen&state=another", "code=stolen&state=", "error=access_denied", "code=stolen&state=\(state.dropLast())",
      "code=stolen&state=\(state)x",
    ] {
      let page = try await server.visit("\(redirect)?\(query)")
      #expect(page.contains("There is nothing here.") && !page.contains("You can close this page"), "\(query)")
    }
    #expect(try await server.visit(login.url).contains("You can close this page"))
    #expect(try await server.takes(text(waited.access)))
  }

  @Test(arguments: OAuthServer.Kind.present)
  func `a code is good once`(kind: OAuthServer.Kind) async throws {
    let server = try OAuthServer(kind)
    let client = try await client(server)
    // The pair of RFC 7636, appendix B.
    let (verifier, challenge) = (
      "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    )
    let redirect = "http://127.0.0.1:1/callback"
    let page = try #require(client.server.authorizationEndpoint)
    let answer = try server.destination(
      of: "\(page)?response_type=code&client_id=\(client.id)&redirect_uri=\(redirect)&state=s&scope=read"
        + "&code_challenge=\(challenge)&code_challenge_method=S256")
    let code = try #require(URLComponents(string: answer)?.queryItems?.first { $0.name == "code" }?.value, "\(answer)")
    var form = Form()
    form.add("grant_type", "authorization_code")
    form.add("code", secret(code))
    form.add("redirect_uri", redirect)
    form.add("code_verifier", secret(verifier))
    let tokens = try client.tokens(form, "the code", cure: "", nil)
    #expect(try server.takes(text(tokens.access)))
    let again = form
    let error = #expect(throws: StoreError.self) { try client.tokens(again, "the code", cure: "", nil) }
    #expect(error?.kind == .loginRefused, "\(error?.description ?? "")")
  }

  // MARK: Renewal and its end

  @Test(arguments: OAuthServer.Kind.present)
  func `tokens renew each other until they are taken back`(kind: OAuthServer.Kind) async throws {
    let server = try OAuthServer(kind)
    let client = try await client(server)
    let first = try await browser(client, server)
    let second = try await client.tokens(refreshing: #require(first.refresh))
    #expect(try server.takes(text(second.access)))
    #expect(text(second.refresh) != text(first.refresh))
    #expect(try await client.revoke(#require(second.refresh)))
    // Glewlwyd's access tokens outlive the refresh token.
    if kind != .glewlwyd { #expect(try !server.takes(text(second.access))) }
    // Whether this program revoked it or another did: a person, a colleague, the server.
    let error = await #expect(throws: StoreError.self) { try await client.tokens(refreshing: #require(second.refresh)) }
    #expect(error?.kind == .loginRefused, "\(error?.description ?? "")")
  }

  @Test(arguments: OAuthServer.Kind.present)
  func `a refresh token that was used before ends the login, and the error says so`(kind: OAuthServer.Kind) async throws {
    let server = try OAuthServer(kind)
    let client = try await client(server)
    let first = try await browser(client, server)
    let second = try await client.tokens(refreshing: #require(first.refresh))
    let error = await #expect(throws: StoreError.self) { try await client.tokens(refreshing: #require(first.refresh)) }
    let reason = kind == .glewlwyd ? "status 400, without a reason" : "invalid_grant"
    #expect(error?.kind == .loginRefused && error?.what == "the server refused to renew the login: \(reason)")
    #expect(error?.description.contains("used before") == true)
    let next = await #expect(throws: StoreError.self) { try await client.tokens(refreshing: #require(second.refresh)) }
    #expect(next?.kind == .loginRefused)
  }

  @Test(arguments: OAuthServer.Kind.present)
  func `a service logs in with its secret, and with no other`(kind: OAuthServer.Kind) async throws {
    let server = try OAuthServer(kind)
    let place = try await AuthorizationServer.discover(issuer: server.issuer)
    let tokens = try await OAuthClient(id: "service", secret: secret(OAuthServer.secret), at: place, scopes: ["read"])
      .tokensOfItsOwn()
    // Glewlwyd's token check page knows only people.
    if kind != .glewlwyd { #expect(try server.takes(text(tokens.access))) }
    let body = try AuthorizationServer(token: place.tokenEndpoint, takesSecretInBody: true)
    let other = try await OAuthClient(id: "service", secret: secret(OAuthServer.secret), at: body, scopes: ["read"])
      .tokensOfItsOwn()
    #expect(!text(other.access).isEmpty)
    for wrong in [secret("another"), nil] {
      let error = await #expect(throws: StoreError.self) {
        try await OAuthClient(id: "service", secret: wrong, at: place, scopes: ["read"]).tokensOfItsOwn()
      }
      #expect(error?.kind == .loginRefused, "\(error?.description ?? "")")
    }
  }

  // MARK: Answers that are none

  /// A server's possible answers instead of tokens, and their error kinds.
  private static let answers: [(status: Int, body: String, copies: Int, kind: StoreError.Kind)] = [
    (500, "fault", 1, .unreachable), (503, "{}", 1, .unreachable), (429, "", 1, .unreachable),
    (200, "<html>Sign in</html>", 1, .damaged), (200, "", 1, .damaged), (200, "{}", 1, .damaged),
    (200, "{\"access_token\": 5}", 1, .damaged), (200, "{\"access_token\": \"a\"", 1, .damaged),
    (200, "{\"access_token\": \"a\", \"access_token\": \"b\"}", 1, .damaged),
    (200, "{\"access_token\": \"a\", \"expires_in\": \"soon\"}", 1, .damaged),
    (200, "[]", 1, .damaged), (404, "not here", 1, .damaged), (400, "{}", 1, .damaged), (400, "<html>", 1, .damaged),
    // A gigabyte, and a body without an end.
    (200, String(repeating: "x", count: 1 << 10), 1 << 20, .damaged), (200, "x", 0, .damaged),
    // Glewlwyd's answers to unknown requests.
    (400, "", 1, .loginRefused), (401, "", 1, .loginRefused), (403, "", 1, .loginRefused), (404, "", 1, .damaged),
    // GitHub's form of errors.
    (200, "{\"error\": \"bad_refresh_token\", \"error_description\": \"The refresh token is incorrect.\"}", 1, .loginRefused),
    (200, "{\"error\": \"\\u001b[31m no word\"}", 1, .loginRefused),
  ]

  @Test(arguments: OAuthServer.Kind.any)
  func `answers that are none are told as what they are, and give no secret away`(kind: OAuthServer.Kind) async throws {
    let server = try OAuthServer(kind)
    let client = try await client(server)
    for answer in Self.answers {
      try server.fault(answer.status, answer.body, copies: answer.copies)
      let error = await #expect(throws: StoreError.self) { try await client.tokens(refreshing: secret("the old token")) }
      #expect(error?.kind == answer.kind, "\(answer.status) \(answer.body.prefix(40)): \(error?.description ?? "")")
      #expect(error?.description.contains("\u{1B}") == false)
    }
    try server.fault(400, "{\"error\": \"invalid_grant\", \"error_description\": \"you sent the old token\"}")
    let error = await #expect(throws: StoreError.self) { try await client.tokens(refreshing: secret("the old token")) }
    #expect(error?.kind == .loginRefused && error?.description.contains("the old token") == false)

    for (life, least, most) in [("1e30", 3e8, 4e8), ("-5", -300.0, 1.0), ("\"60\"", -250.0, 54.1)] {
      try server.fault(200, "{\"access_token\": \"a\", \"expires_in\": \(life)}")
      let tokens = try await client.tokens(refreshing: secret("the old token"))
      let rest = try #require(tokens.expires).timeIntervalSinceNow
      #expect(rest > least && rest < most, "\(life): \(rest)")
    }
  }

  @Test(arguments: OAuthServer.Kind.any)
  func `tokens follow nobody who sends elsewhere: not to http, not to another host`(kind: OAuthServer.Kind) async throws {
    let server = try OAuthServer(kind)
    let other = try OAuthServer(kind)
    let client = try await client(server)
    let before = try other.control("counts")
    for place in [client.server.tokenEndpoint, "http://elsewhere.example/token"] {
      for status in [301, 302, 307, 308] {
        try server.fault(status, to: place.replacing(server.place, with: other.place))
        let error = await #expect(throws: StoreError.self) { try await client.tokens(refreshing: secret("the old token")) }
        #expect(error?.kind == .damaged && error?.what.contains("the server redirects") == true, "\(status) \(place)")
      }
    }
    #expect(try other.control("counts") == before)
  }

  @Test(.tags(.slow), .wholeRun, arguments: OAuthServer.Kind.any)
  func `a body that comes drop by drop is not waited for longer than any other`(kind: OAuthServer.Kind) async throws {
    let server = try OAuthServer(kind)
    let client = try await client(server)
    try server.fault(200, String(repeating: " ", count: 600), drip: 0.5)
    let start = ContinuousClock.now
    let error = await #expect(throws: StoreError.self) { try await client.tokens(refreshing: secret("the old token")) }
    #expect(error?.kind == .unreachable && error?.what == "the server did not answer in time")
    #expect(ContinuousClock.now - start < .seconds(120))
  }

  @Test(arguments: OAuthServer.Kind.any)
  func `a document of another issuer, or of none, is not believed`(kind: OAuthServer.Kind) async throws {
    let server = try OAuthServer(kind)
    let other = server.issuer.replacing("127.0.0.1", with: "localhost")
    let error = await #expect(throws: StoreError.self) { try await AuthorizationServer.discover(issuer: other) }
    #expect(error?.kind == .damaged && error?.what.contains("another issuer") == true)
    let none = await #expect(throws: StoreError.self) {
      try await AuthorizationServer.discover(issuer: "\(server.issuer)/tenant")
    }
    #expect(none?.kind == .damaged)
    try server.fault(200, "{\"issuer\": \"\(server.issuer)\", \"token_endpoint\": \"http://elsewhere.example/token\"}")
    let open = await #expect(throws: StoreError.self) { try await AuthorizationServer.discover(issuer: server.issuer) }
    #expect(open?.kind == .damaged)
  }
}
