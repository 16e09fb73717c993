import CofferPlatform
import CofferStorage
import CofferTestSupport
import Testing

@testable import CofferLogin

@Suite struct EndpointTests {
  @Test(arguments: [
    "http://example.com/token", "ftp://127.0.0.1/", "https://", "example.com", "https://ada:pass@example.com/",
    "https://example.com/#x",
    "https://exa mple.com/", "https://example.com/\u{0}", "http://127.0.0.1.example.com/", "http://localhost.example.com/", "",
  ])
  func `tokens are sent over https alone, or to this machine`(text: String) {
    #expect(kind { _ = try AuthorizationServer(token: text) } == .invalidName)
  }

  @Test(arguments: [
    "https://ada:hunter2@example.com/", "https://ada:hun ter2@example.com/", "http://hunter2@example.com",
    "ada:hunter2@example.com",
    "https://\(String(repeating: "hunter2", count: 60))@example.com/", "https://ada:hunter2@x@example.com/",
  ])
  func `a password in an address is not repeated`(text: String) {
    for body in [{ _ = try AuthorizationServer(token: text) }, { _ = try AuthorizationServer.discover(issuer: text, nil) }] {
      let error = #expect(throws: StoreError.self) { try body() }
      #expect(error.map { !"\($0)".contains("hun") && "\($0)".contains("@example.com") } ?? false)
    }
  }

  @Test(arguments: [
    "https://example.com", "https://example.com:8443/a?b=c", "http://127.0.0.1:8080/token", "http://localhost/",
    "http://[::1]:80/",
  ])
  func `what is https, or of this machine, is taken`(text: String) throws {
    #expect(try AuthorizationServer(token: text).tokenEndpoint == text)
  }

  @Test func `an issuer's documents are where the standards have them`() {
    #expect(
      AuthorizationServer.documents(of: "https://example.com") == [
        "https://example.com/.well-known/oauth-authorization-server", "https://example.com/.well-known/openid-configuration",
      ])
    #expect(
      AuthorizationServer.documents(of: "https://example.com/tenant") == [
        "https://example.com/.well-known/oauth-authorization-server/tenant",
        "https://example.com/tenant/.well-known/openid-configuration",
      ])
  }

  @Test func `every server that is known by name has its endpoints`() throws {
    for known in AuthorizationServer.Known.allCases {
      let server = try AuthorizationServer(known)
      #expect(server.tokenEndpoint.hasPrefix("https://") && server.deviceAuthorizationEndpoint != nil, "\(known)")
    }
  }

  @Test func `what a browser brings back is read by its bytes, and nothing twice`() {
    #expect(LoopbackDoor.parameters("GET /callback?code=a%2Fb+c&state=s HTTP/1.1") == ["code": "a/b c", "state": "s"])
    for line in [
      "GET /favicon.ico HTTP/1.1", "POST /callback?code=a HTTP/1.1", "GET /callback?code=a&code=b HTTP/1.1",
      "GET /callback?code=%zz HTTP/1.1", "GET /callback?code=%+f HTTP/1.1",
      "GET /callback?code=%f HTTP/1.1", "GET /callback?code HTTP/1.1",
      "GET /callback?code=%ff HTTP/1.1", "GET /callback HTTP/1.1", "GET /callback?a=b", "",
    ] { #expect(LoopbackDoor.parameters(line) == nil, "\(line)") }
  }

  @Test func `a peer that has closed ends no program that is asking it, and leaves no signal behind`() throws {
    let blocksPipe = {
      var mask = sigset_t()
      pthread_sigmask(SIG_BLOCK, nil, &mask)
      return sigismember(&mask, SIGPIPE) == 1
    }
    let didBlock = blocksPipe()
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    close(ends[0])
    defer { close(ends[1]) }
    let (count, code, wasRaised) = ClosedPipe.ignored {
      let count = write(ends[1], "x", 1)
      return (count, errno, ClosedPipe.isWaiting)
    }
    #expect(count == -1 && code == EPIPE && wasRaised)
    #expect(!ClosedPipe.isWaiting && blocksPipe() == didBlock)
  }

  @Test func `a form is encoded as every server reads it`() throws {
    var form = Form()
    form.add("a", "b c&d=é")
    form.add("none", String?.none)
    form.add("s", secret("100% ~sure"))
    let text = try form.bytes().withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    #expect(text == "a=b%20c%26d%3D%C3%A9&s=100%25%20~sure")
    #expect(form.isGivenAway(by: "you sent 100% ~sure") && !form.isGivenAway(by: "you sent something"))
  }
}

func secret(_ text: String) -> SecretForm {
  do { return SecretForm(try text.utf8Span.span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }) } catch {
    preconditionFailure("no guarded memory: \(error)")
  }
}

func kind(_ body: () throws -> Void) -> StoreError.Kind? {
  do {
    try body()
    return nil
  } catch { return (error as? StoreError)?.kind }
}
