import Coffer
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Synchronization
import Testing

@testable import CofferLogin

/// Logins of a web service's users, whose browser is curl, at real servers.
@Suite(.tags(.process), .wholeRun) struct WebLoginTests {
  private struct Keys: KeySpace {
    let own = StorageKey("own", secret: String.self)
  }

  private static let redirect = "http://127.0.0.1:1/callback"
  private let date = Time()
  private let app: StorageRouter

  private final class Time: Sendable {
    let late = Mutex(0.0)
    var now: Date { Date() + late.withLock(\.self) }
  }

  init() throws {
    app = try StorageRouter(
      plain: MemoryStore<Plain>(), vault: MemoryStore<Vault>(now: { [date] in date.now }), keys: Keys())
  }

  private func login(_ server: OAuthServer, scopes: [String] = ["read"]) async throws -> WebLogin {
    let client = OAuthClient(
      id: server.kind.client, secret: server.kind.secret.map(secret), at: try await .discover(issuer: server.issuer),
      scopes: scopes)
    return WebLogin(client, in: app)
  }

  private func needed() throws -> OAuthServer {
    guard let kind = OAuthServer.Kind.any.first else { try Test.skip("no server is installed") }
    return try OAuthServer(kind)
  }

  /// The cookie as the browser sends it back.
  private func cookie(_ start: WebLogin.Authorization) -> String { String(start.cookie.prefix { $0 != ";" }) }

  private func refusal(
    _ login: WebLogin, _ target: String, _ cookies: String?, at location: SourceLocation = #_sourceLocation
  ) async -> String? {
    let error = await #expect(throws: StoreError.self, sourceLocation: location) {
      try await login.tokens(for: target, cookies: cookies)
    }
    #expect(error?.kind == .loginRefused, "\(error?.description ?? "")", sourceLocation: location)
    return error?.what
  }

  private static let unknown = "this browser began no login for this answer within ten minutes"

  // MARK: At each server

  @Test(arguments: OAuthServer.Kind.present)
  func `a browser that comes back brings tokens once`(kind: OAuthServer.Kind) async throws {
    let server = try OAuthServer(kind)
    let login = try await login(server)
    let start = try await login.authorization(redirect: Self.redirect)
    #expect(start.url.contains("code_challenge_method=S256") && !start.url.contains("nonce="))
    let answer = try server.destination(of: start.url)
    #expect(answer.hasPrefix("\(Self.redirect)?"), "\(answer)")
    // Another process of the service, with other cookies beside.
    let other = try await self.login(server)
    let tokens = try await other.tokens(for: answer, cookies: "theme=dark; \(cookie(start)); lang=en")
    #expect(try server.takes(CodeGrant.text(tokens.access)) && tokens.idToken == nil)
    #expect(try app.vault.names() == [])
    #expect(await refusal(login, answer, cookie(start)) == Self.unknown)
  }

  @Test(arguments: OAuthServer.Kind.present.filter { $0 != .oauthlib })
  func `a server of OpenID says who logged in`(kind: OAuthServer.Kind) async throws {
    let server = try OAuthServer(kind)
    let login = try await login(server, scopes: ["openid", "read"])
    let start = try await login.authorization(redirect: Self.redirect)
    let tokens = try await login.tokens(for: server.destination(of: start.url), cookies: cookie(start))
    let person = try #require(tokens.idToken)
    #expect(person.issuer == server.issuer && !person.subject.isEmpty)
    // The same person has the same id the next time.
    let again = try await login.authorization(redirect: Self.redirect)
    let next = try await login.tokens(for: server.destination(of: again.url), cookies: cookie(again))
    #expect(next.idToken?.subject == person.subject)
  }

  // MARK: Answers that are none

  @Test func `an answer of another browser, state, address, server or client is refused, and spends no login`() async throws {
    let server = try needed(), login = try await login(server)
    let start = try await login.authorization(redirect: Self.redirect)
    let answer = try server.destination(of: start.url)
    let second = try await login.authorization(redirect: Self.redirect)
    let state = try #require(URLComponents(string: answer)?.queryItems?.first { $0.name == "state" }?.value)
    for cookies in [nil, "", "\(cookie(start))x", cookie(second), cookie(start).replacing("=", with: "=x")] {
      #expect(await refusal(login, answer, cookies) == Self.unknown, "\(cookies ?? "")")
    }
    let slot = state.prefix { $0 != "." }
    for other in ["\(state)x", "\(slot).x", String(state.dropLast())] {
      #expect(await refusal(login, answer.replacing(state, with: other), cookie(start)) == Self.unknown, "\(other)")
    }
    for other in ["", ".", "x", "-1.x", "1024.x", "99999999999999999999.x", "\(slot)", "\(slot)."] {
      #expect(await refusal(login, answer.replacing(state, with: other), cookie(start)) == "the answer is malformed", "\(other)")
    }
    for target in ["/callback", "/callback?", "/callback?code=a", "/callback?state=a&state=a", "/callback?state=%ff"] {
      #expect(await refusal(login, target, cookie(start)) == "the answer is malformed", "\(target)")
    }
    for address in ["/", "/callback/", "/other", "http://127.0.0.1:2/callback", "https://127.0.0.1:1/callback"] {
      let target = answer.replacing(Self.redirect, with: address)
      #expect(await refusal(login, target, cookie(start)) == "the answer came to another address", "\(address)")
    }
    let elsewhere = OAuthClient(id: "another", at: try await .discover(issuer: server.issuer))
    #expect(await refusal(WebLogin(elsewhere, in: app), answer, cookie(start)) == Self.unknown)
    // The path alone is what a server behind a proxy knows.
    let target = answer.replacing("http://127.0.0.1:1", with: "")
    #expect(try await server.takes(CodeGrant.text(login.tokens(for: target, cookies: cookie(start)).access)))
  }

  @Test func `an answer with another issuer, an error or no code ends the login`() async throws {
    let server = try needed(), login = try await login(server)
    for (query, what) in [
      ("code=c&iss=https://elsewhere.example", "the answer is from another server"),
      ("error=access_denied&error_description=no", "the server refused the login: access_denied"),
      ("error=%1b[2J", "the server refused the login: an unnamed error"),
      ("x=y", "the answer holds no code"),
    ] {
      let start = try await login.authorization(redirect: Self.redirect)
      let state = try #require(URLComponents(string: start.url)?.queryItems?.first { $0.name == "state" }?.value)
      #expect(await refusal(login, "/callback?\(query)&state=\(state)", cookie(start)) == what)
      #expect(await refusal(login, "/callback?code=c&state=\(state)", cookie(start)) == Self.unknown)
    }
    #expect(try app.vault.names() == [])
  }

  @Test func `of many that bring one answer at once, one gets the tokens`() async throws {
    let server = try needed(), login = try await login(server)
    let start = try await login.authorization(redirect: Self.redirect)
    let answer = try server.destination(of: start.url), cookie = cookie(start)
    let results = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<16 {
        group.addTask {
          do { _ = try await login.tokens(for: answer, cookies: cookie) } catch { return false }
          return true
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(results.count(where: \.self) == 1)
    #expect(try server.control("counts")["token"] == 1)
  }

  @Test func `a login ends after ten minutes`() async throws {
    let server = try needed(), login = try await login(server)
    let start = try await login.authorization(redirect: Self.redirect)
    let answer = try server.destination(of: start.url)
    date.late.withLock { $0 = WebLogin.longest + 1 }
    #expect(await refusal(login, answer, cookie(start)) == Self.unknown)
    #expect(try server.control("counts")["token"] == 0)
  }

  @Test func `however many logins are begun, the vault keeps a bounded number, and the newest can end`() async throws {
    let server = try needed(), login = try await login(server)
    try app.vault.save(SecretForm(SecretBytes.copy("own")), for: "own")
    var start = try await login.authorization(redirect: Self.redirect)
    for _ in 0..<3 * WebLogin.most { start = try await login.authorization(redirect: Self.redirect) }
    let names = try app.vault.names()
    #expect(names.count <= WebLogin.most + 1 && names.contains("own"))
    #expect(names.allSatisfy { $0 == "own" || $0.hasPrefix("coffer.login/") })
    _ = try await login.tokens(for: server.destination(of: start.url), cookies: cookie(start))
  }

  // MARK: Id tokens

  private static func token(_ claims: String) -> String {
    let word = { (text: String) in
      Data(text.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
    return "\(word(#"{"alg":"none"}"#)).\(word(claims)).c2ln"
  }

  @Test func `an id token of another issuer, client, login or time is refused`() async throws {
    let server = try needed(), login = try await login(server, scopes: ["openid", "read"])
    let id = server.kind.client, now = Int(Date().timeIntervalSince1970)
    let good = #""iss": "\#(server.issuer)", "sub": "248289", "aud": "\#(id)", "exp": \#(now + 60), "nonce": "NONCE""#
    let cases: [(claims: String, what: String?)] = [
      (good, nil), (good + #", "azp": "\#(id)", "email": "ada@example.com", "groups": ["a", {"b": 1}]"#, nil),
      (good.replacing(#""aud": "\#(id)""#, with: #""aud": ["\#(id)"]"#), nil),
      (good.replacing(#""aud": "\#(id)""#, with: #""aud": ["other", "\#(id)"], "azp": "\#(id)""#), nil),
      (good.replacing(server.issuer, with: "\(server.issuer)/"), "is from another issuer"),
      (good.replacing(#""aud": "\#(id)""#, with: #""aud": "other""#), "is for another client"),
      (good.replacing(#""aud": "\#(id)", "#, with: ""), "is for another client"),
      (good.replacing(#""aud": "\#(id)""#, with: #""aud": ["\#(id)", "other"]"#), "is not for this client alone"),
      (good + #", "azp": "other""#, "is not for this client alone"),
      (good.replacing("\(now + 60)", with: "\(now - 61)"), "has expired"),
      (good.replacing(#""exp": \#(now + 60), "#, with: ""), "has expired"),
      (good.replacing("NONCE", with: "NONCEx"), "belongs to another login"),
      (good.replacing(#", "nonce": "NONCE""#, with: ""), "belongs to another login"),
      (good.replacing(#""sub": "248289", "#, with: ""), "names nobody"),
    ]
    for (claims, what) in cases {
      let start = try await login.authorization(redirect: Self.redirect)
      let nonce = try #require(URLComponents(string: start.url)?.queryItems?.first { $0.name == "nonce" }?.value)
      let answer = try server.destination(of: start.url)
      let token = Self.token("{\(claims.replacing("NONCE", with: nonce))}")
      try server.fault(200, #"{"access_token": "a", "token_type": "Bearer", "id_token": "\#(token)"}"#, at: "/token")
      if let what {
        #expect(await refusal(login, answer, cookie(start)) == "the server's id token \(what)", "\(claims)")
      } else {
        let person = try await login.tokens(for: answer, cookies: cookie(start)).idToken
        #expect(person?.subject == "248289" && person?.issuer == server.issuer, "\(claims)")
        if claims.contains("email") { #expect(person?.claims["email"] == "ada@example.com") }
      }
    }
    for token in ["a.b", "a.b.c.d", "a.!!!!.c", Self.token("[]"), Self.token(#"{"aud": "a", "aud": "b"}"#), Self.token("{")] {
      let start = try await login.authorization(redirect: Self.redirect)
      let answer = try server.destination(of: start.url)
      try server.fault(200, #"{"access_token": "a", "id_token": "\#(token)"}"#, at: "/token")
      let error = await #expect(throws: StoreError.self) { try await login.tokens(for: answer, cookies: cookie(start)) }
      #expect(error?.kind == .damaged, "\(token)")
    }
    let start = try await login.authorization(redirect: Self.redirect)
    try server.fault(200, #"{"access_token": "a"}"#, at: "/token")
    let answer = try server.destination(of: start.url)
    let error = await #expect(throws: StoreError.self) { try await login.tokens(for: answer, cookies: cookie(start)) }
    #expect(error?.kind == .damaged && error?.what == "the server's answer holds no id token")
  }
}

@Suite struct WebLoginAddressTests {
  private func login(_ server: AuthorizationServer, scopes: [String] = []) throws -> (WebLogin, StorageRouter) {
    let app = try StorageRouter.inMemory()
    return (WebLogin(OAuthClient(id: "program", at: server, scopes: scopes), in: app), app)
  }

  @Test func `a cookie is sent to the service alone, and over https where the service has it`() throws {
    let server = try AuthorizationServer(token: "https://id.example/token", authorization: "https://id.example/page?tenant=1")
    let (login, app) = try login(server)
    let start = try login.authorization(redirect: "https://app.example/callback")
    #expect(start.url.hasPrefix("https://id.example/page?tenant=1&response_type=code&client_id=program&"))
    #expect(start.url.contains("&redirect_uri=https%3A%2F%2Fapp.example%2Fcallback&"))
    #expect(start.cookie.hasPrefix("__Host-coffer-login-"))
    #expect(start.cookie.hasSuffix("; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure"))
    #expect(try app.vault.names().count == 1)
    let local = try login.authorization(redirect: "http://localhost:8080/callback").cookie
    #expect(local.hasPrefix("coffer-login-") && !local.contains("Secure"))
  }

  @Test func `an address that is none to come back to, or a server without what is needed, begins no login`() throws {
    let server = try AuthorizationServer(token: "https://id.example/token", authorization: "https://id.example/page")
    let (login, app) = try login(server)
    for address in ["http://app.example/callback", "https://app.example/callback?a=b", "https://app.example/#x", "/callback", ""]
    {
      #expect(kind { _ = try login.authorization(redirect: address) } == .invalidName, "\(address)")
    }
    let pageless = try self.login(AuthorizationServer(token: "https://id.example/token")).0
    #expect(kind { _ = try pageless.authorization(redirect: "https://app.example/callback") } == .unsupported)
    let nameless = try self.login(server, scopes: ["openid"]).0
    #expect(kind { _ = try nameless.authorization(redirect: "https://app.example/callback") } == .unsupported)
    #expect(try app.vault.names() == [])
  }

  @Test func `no key has a name of the logins that have begun`() {
    struct Taken: KeySpace { let taken = StorageKey("coffer.login/7", secret: String.self) }
    struct Family: KeySpace { let logins = StorageKeyFamily("coffer.login", secret: String.self) }
    struct Within: KeySpace { let logins = StorageKeyFamily("coffer.login/x", secret: String.self) }
    for space in [Taken(), Family(), Within()] as [any KeySpace] {
      let (plain, vault) = (MemoryStore<Plain>(), MemoryStore<Vault>())
      #expect(kind { _ = try StorageRouter(plain: plain, vault: vault, spaces: [space]) } == .invalidName)
    }
  }
}
