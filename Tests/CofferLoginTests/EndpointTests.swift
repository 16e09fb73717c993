import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
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

  @Test func `an address that a server gives, and is none to send tokens to, is the server's fault`() throws {
    let body = try SecretBytes.copy(#"{"issuer":"https://id.example","token_endpoint":"http://id.example/token"}"#)
    #expect(
      kind {
        _ = try AuthorizationServer(ServerDocument(body, place: "p"), issuer: "https://id.example", authority: nil)
      } == .damaged)
  }

  @Test(arguments: ["https://ada:hunter2@example.com/", "https://ada:hunter2@exa mple.com/", "ada:hunter2@example.com"])
  func `a password in an address is refused and not repeated`(text: String) {
    let error = #expect(throws: StoreError.self) { try AuthorizationServer(token: text) }
    #expect(error.map { !"\($0)".contains("hunter2") } == true)
  }

  @Test(arguments: [
    "https://ada:hunter2@example.com/", "https://ada:hun ter2@example.com/", "http://hunter2@example.com",
    "ada:hunter2@example.com",
    "https://\(String(repeating: "hunter2", count: 60))@example.com/", "https://ada:hunter2@x@example.com/",
  ])
  func `a password in an address is not repeated`(text: String) {
    for body in [
      { _ = try AuthorizationServer(token: text) }, { _ = try AuthorizationServer.discover(issuer: text, authority: nil, nil) },
    ] {
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

  @Test func `a token with a line's end is none, and a server's words are one line`() throws {
    let answer = { (text: String) in try OAuthAnswer(SecretBytes.copy(text), place: "p") }
    for text in [
      #"{"access_token":"a","token_type":"Bearer\r\nX: 1"}"#,
      #"{"access_token":"a\nb"}"#, #"{"access_token":"a","refresh_token":"b\u0000"}"#,
    ] {
      let found = try answer(text)
      #expect(kind { _ = try OAuthTokens(found, at: .now, place: "p") } == .damaged)
    }
    let refused = OAuthFailure(try answer(#"{"error":"x","error_description":"a\ncoffer: done\u001b[2J"}"#), "x", Form())
    #expect(refused.error("it", "p", cure: "c").what == "the server refused it: x (a?coffer: done?[2J)")
  }

  @Test func `whoever says nothing at the port keeps the browser out no longer than others`() throws {
    let door = try LoopbackDoor()
    func connected() -> Int32 {
      let peer = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var address = sockaddr_in()
      (address.sin_family, address.sin_port) = (sa_family_t(AF_INET), door.port.bigEndian)
      address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
      let code = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(peer, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
      }
      #expect(code == 0)
      return peer
    }
    let (found, isDone) = (Collected<String?>(), DispatchSemaphore(value: 0))
    Thread.detachNewThread {
      do { found.add(try door.answer(of: secret("s"), within: 600, Cancellation()).parameters["code"]) } catch {
        Issue.record(error)
      }
      isDone.signal()
    }
    let idle = (0..<20).map { _ in connected() }
    // The browser's request comes in pieces.
    let browser = connected()
    for part in ["GET /callback?code=c&st", "ate=s HTTP/1.1\r\nHost: x\r", "\n\r\n"] {
      _ = send(browser, part, part.utf8.count, 0)
    }
    isDone.wait()
    #expect(found.all == ["c"])
    var byte: UInt8 = 0
    // None timed out before the browser was heard.
    for peer in idle { #expect(recv(peer, &byte, 1, Int32(MSG_DONTWAIT)) <= 0) }
    for peer in idle + [browser] { close(peer) }
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

extension SecretBytes {
  static func copy(_ text: String) throws -> SecretBytes {
    try text.utf8Span.span.bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
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
