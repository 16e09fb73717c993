import Coffer
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferCLI
@testable import CofferFormats
@testable import CofferTerminal

@Suite(.tags(.campaign, .process), .wholeRun) struct ServerLoginTests {
  @Test(arguments: OAuthServer.Kind.present)
  func `a login, its token, git, a renewal and a logout that the server hears of`(kind: OAuthServer.Kind) throws {
    let server = try OAuthServer(kind)
    let home = try Home.loggedIn(server)
    let first = try home.coffer("token").out
    #expect(try server.takes(first))
    #expect(try home.coffer("status --logins").out.contains("renewed on demand"))
    #expect(try home.coffer("status --logins --json").out.contains("\"renewable\":true,\"scope\":\"read\""))
    let asked = "protocol=https\nhost=git.example\n\n"
    let answer = try home.coffer("helper git get", in: Data(asked.utf8)).out
    #expect(answer.hasPrefix("username=ada\npassword=\(first)\npassword_expiry_utc="))
    try home.transcript("helper git store", in: "protocol=https\nhost=git.example\nusername=ada\npassword=\(first)\n\n")
    #expect(try home.coffer("vault list").out.contains("https://") == false)
    try home.transcript("helper git erase", in: "protocol=https\nhost=git.example\nusername=ada\npassword=\(first)\n\n")
    let second = try home.coffer("token").out
    #expect(second != first)
    #expect(try server.takes(second))
    let fresh = try home.coffer("token --fresh")
    let third = fresh.out
    #expect(fresh.status == 0 && fresh.err.isEmpty && !third.isEmpty && third != second)
    try home.transcript("token git.example", out: third)
    #expect(try server.control("counts")["refresh"] == 2)
    try home.transcript("logout", err: "coffer: note: logged out of git.example, account ada\n")
    #expect(try server.control("counts")["revoke"] == 1)
    // Glewlwyd's access tokens outlive the refresh token.
    if kind != .glewlwyd { #expect(try !server.takes(third)) }
    try home.transcript("token", err: "nobody is logged in", exit: 1)
    try home.transcript("provider remove git.example --quiet")
    try home.transcript("vault list", out: "")
  }

  @Test(arguments: OAuthServer.Kind.any)
  func `of processes that find the token ended one asks the server`(kind: OAuthServer.Kind) throws {
    let server = try OAuthServer(kind)
    let home = try Home.loggedIn(server, for: 1)
    let count = Campaign.isLong ? 64 : 8
    sleep(1)  // No event: the token ends.
    let all = try (0..<count).map { _ in try home.start(["token", "git.example"]) }
    let ends = try all.map { try $0.end() }
    #expect(ends.allSatisfy { $0.status == 0 } && Set(ends.map(\.out)).count == 1)
    #expect(try server.takes(ends[0].out))
    #expect(try server.control("counts")["refresh"] == 1)
  }

  @Test(arguments: OAuthServer.Kind.present.filter { $0 == .authlib })
  func `a login of an earlier version is renewed, and says from then on where by names that are Coffer's own`(
    kind: OAuthServer.Kind
  ) throws {
    let server = try OAuthServer(kind)
    let home = try Home.loggedIn(server)
    let name = try ItemName(service: Home.host, account: "ada")
    func metadata(_ change: (inout ItemMetadata) -> Void = { _ in }) throws -> ItemMetadata {
      var credentials = Credentials()
      credentials.keyFile = try Credentials.keyFile(at: FilePath(home.path).appending("key"))
      let vault = try LockedVault.open(
        .file(FilePath(home.path).appending("data/vault.sqlite")), options: .withoutPins
      ).unlock(with: credentials)
      var metadata = try #require(try vault.item(name)).metadata
      let before = metadata
      change(&metadata)
      if metadata != before { try vault.apply([.describe(name, as: metadata)]) }
      return metadata
    }
    let today = try metadata().attributes
    _ = try metadata { metadata in
      metadata.attributes = Dictionary(
        uniqueKeysWithValues: today.map { ($0.key.replacing("coffer.oauth.", with: "oauth."), $0.value) })
    }
    #expect(try home.coffer("status --logins --json").out.contains("\"renewable\":true,\"scope\":\"read\""))
    #expect(try home.coffer("token --fresh --quiet").status == 0)
    #expect(try metadata().attributes == today)
    #expect(try server.takes(home.coffer("token").out))
    try home.transcript("vault delete \(Home.host) ada --field refresh_token --forever --quiet")
    #expect(try home.coffer("status --logins --json").out.contains("\"renewable\":false"))
  }

  @Test func `the secret of a client goes to no server that somebody else wrote into the settings`() throws {
    let home = try Home.withVault()
    let file = try home.file("secret", "client secret")
    try home.transcript("provider add corp --issuer https://a.example --client-id c1 --client-secret-file \(file) --quiet")
    try home.transcript("defaults write coffer.settings provider.corp -dict client c1 issuer https://b.example")
    try home.transcript("provider list", out: "corp\thttps://b.example\tc1\n")
    try home.transcript("login h --provider corp --device", err: "belongs to a server or client other than", exit: 77)
  }

  @Test func `a server of a private authority is believed by --ca or SSL_CERT_FILE alone, and so are its renewals`() throws {
    let home = try Home.withVault()
    let script = try home.file(
      "server.py",
      """
      import http.server, json, ssl, sys
      class Server(http.server.BaseHTTPRequestHandler):
        def answer(self, **fields):
          body = json.dumps(fields).encode()
          self.send_response(200)
          self.send_header("Content-Length", str(len(body)))
          self.end_headers()
          self.wfile.write(body)
        def do_GET(self): self.answer(issuer=base, token_endpoint=base + "/token", device_authorization_endpoint=base + "/device")
        def do_POST(self):
          self.rfile.read(int(self.headers["Content-Length"]))
          if self.path == "/device": self.answer(device_code="d", user_code="U", verification_uri=base, interval=1)
          else: self.answer(access_token="t", refresh_token="r", expires_in=3600)
        def log_message(self, *words): pass
      server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
      base = "https://127.0.0.1:%d" % server.server_port
      context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
      context.load_cert_chain(sys.argv[1] + "/ca.pem", sys.argv[1] + "/ca.key")
      server.socket = context.wrap_socket(server.socket, server_side=True)
      open(sys.argv[1] + "/base.new", "w").write(base)
      import os; os.rename(sys.argv[1] + "/base.new", sys.argv[1] + "/base")
      server.serve_forever()
      """)
    let made = try home.program([
      "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", home.path + "/ca.key", "-out", home.path + "/ca.pem",
      "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
    ])
    guard made?.status == 0 else { try Test.skip(without: "openssl") }
    let server = try Child(
      [script, home.path], environment: home.environment,
      opening: [0: ("/dev/null", O_RDONLY), 1: ("/dev/null", O_WRONLY), 2: ("/dev/null", O_WRONLY)], program: "/usr/bin/python3")
    defer {
      kill(server.id, SIGKILL)
      _ = try? server.wait()
    }
    try eventually("the server listens") { try home.exists("base") || server.hasEnded() }
    let words = "login h --device --issuer \(try home.content("base")) --client-id c"
    try home.transcript(words, err: "this machine does not trust the server's certificate", exit: 77)
    try home.transcript("\(words) --ca \(home.path)/server.py", err: "file of certificates", exit: 77)
    #expect(try home.coffer("\(words) --account a --ca \(home.path)/ca.pem").status == 0)
    let authority = ["SSL_CERT_FILE": home.path + "/ca.pem"]
    #expect(try home.coffer("\(words) --account b", with: authority).status == 0)
    #expect(try home.coffer("token --fresh h --account a").status == 0)
    try home.transcript("token --fresh h --account b", err: "this machine does not trust the server's certificate", exit: 77)
    #expect(try home.coffer("token --fresh h --account b", with: authority).status == 0)
    try home.transcript(
      "login h --device --provider github --client-id c --ca x", err: "--ca needs --issuer", exit: 64)
  }

  @Test(arguments: OAuthServer.Kind.any)
  func `a token that has ended is renewed for other programs too`(kind: OAuthServer.Kind) throws {
    let server = try OAuthServer(kind)
    let home = try Home.loggedIn(server, for: 1)
    sleep(1)  // No event: the token ends.
    let answer = try home.coffer("helper kubectl git.example").out
    let token = try home.coffer("token").out
    #expect(answer.contains("\"token\":\"\(token)\"") && answer.contains("expirationTimestamp"))
    #expect(try server.takes(token))
    #expect(try server.control("counts")["refresh"] == 1)
  }

  @Test(arguments: OAuthServer.Kind.any)
  func `a server that refuses, or is away, is told by the status, and the login stays`(kind: OAuthServer.Kind) throws {
    let server = try OAuthServer(kind)
    let home = try Home.loggedIn(server, for: 1)
    sleep(1)  // No event: the token ends.
    try server.fault(400, "{\"error\": \"invalid_grant\"}")
    try home.transcript("token", err: "the server refused to renew the login: invalid_grant", exit: 77)
    try server.fault(503)
    try home.transcript("token", err: "status 503", exit: 75)
    try server.fault(200, "<html>")
    #expect(try home.coffer("token").status == 65)
    server.stop()
    try home.transcript("token", err: "the server cannot be reached", exit: 75)
    let git = try home.coffer("helper git get", in: Data("protocol=https\nhost=git.example\n\n".utf8))
    #expect(git.out.isEmpty && git.err.contains("cannot be reached") && git.status == 0)
    let out = try home.coffer("logout")
    #expect(out.status == 0 && out.err.contains("the token was not revoked") && out.err.contains("logged out of git.example"))
    try home.transcript("status --logins", err: "nobody is logged in", exit: 1)
  }

  @Test func `what is missing for a login is told before anything is asked`() throws {
    let home = try Home.withVault()
    try home.transcript("login git.example --device", err: "the login server of git.example is not known", exit: 64)
    try home.transcript("login github.com --device", err: "the server needs a client id", exit: 64)
    try home.transcript("login github.com --provider nobody", err: "there is no login server 'nobody'", exit: 64)
    try home.transcript("login h --issuer http://id.example --client-id c", err: "is not https", exit: 64)
    let given = try home.coffer("login h --issuer https://ada:hunter2@id.example --client-id c")
    #expect(
      given.status == 64 && given.err.contains("names a user, a password") && !given.err.contains("hunter2"), "\(given.err)")
    try home.transcript("login h --issuer https://id.example --with-token", err: "--with-token and --expires", exit: 64)
    try home.transcript("login h --device --web", err: "give --device or --web, not both", exit: 64)
    try home.transcript("provider add x --client-id c", err: "the login server of 'x' is not known", exit: 64)
    try home.transcript("provider add github.com", err: "a client id is missing", exit: 64)
    try home.transcript("provider add x --issuer http://id.example --client-id c", err: "is not https", exit: 64)
    try home.transcript("provider remove x", err: "there is no such login server", exit: 1)
    try home.transcript("provider list", out: "")
    try home.transcript("token --fresh", err: "nobody is logged in", exit: 1)
    try home.transcript("login h --with-token --quiet", in: "t")
    try home.transcript("token --fresh h", err: "the token has expired and cannot be renewed", exit: 1)
  }

  @Test func `servers have names, and their clients' secrets lie in the vault`() throws {
    let home = try Home.withVault()
    let file = "\(home.path)/secret"
    _ = FileManager.default.createFile(
      atPath: file, contents: Data("client secret\n".utf8), attributes: [.posixPermissions: 0o600])
    try home.transcript(
      "provider add github.com --client-id c1 --scope repo --scope gist --client-secret-file \(file)",
      err: "coffer: note: github.com logs in at github\n")
    try home.transcript("provider list", out: "github.com\tgithub\tc1\n")
    let terminal = try PseudoTerminal()
    #expect(try terminal.coffer("provider list", in: home).wait() == 0)
    terminal.shows("github.com  github  c1      repo gist")
    try home.transcript("provider show github.com", err: "try: coffer provider list\n", exit: 64)
    try home.transcript(
      "provider list --json",
      out: "[{\"client\":\"c1\",\"name\":\"github.com\",\"scopes\":[\"repo\",\"gist\"],\"server\":\"github\"}]\n")
    try home.transcript("vault get coffer.auth.provider github.com", out: "client secret")
    #expect(try !home.coffer("defaults read coffer.settings").out.contains("client secret"))
    try home.transcript("provider remove github.com", err: "coffer: note: github.com is removed\n")
    try home.transcript("vault list", out: "")
  }

  @Test func `a name that is given anew has the secret of no former client`() throws {
    let home = try Home.withVault()
    let file = try home.file("secret", "client secret")
    try home.transcript("provider add corp --issuer https://a.example --client-id c1 --client-secret-file \(file) --quiet")
    try home.transcript("vault get coffer.auth.provider corp", out: "client secret")
    try home.transcript("provider add corp --issuer https://b.example --client-id c2 --quiet")
    try home.transcript("vault list", out: "")
    try home.transcript(
      "provider add other --issuer https://b.example --client-id c2 --quiet --vault \(home.path)/none.sqlite")
  }

  @Test(arguments: OAuthServer.Kind.present.filter { $0 == .authlib })
  func `another client at a server that has a name is not given the secret of the saved one`(kind: OAuthServer.Kind) throws {
    let server = try OAuthServer(kind)
    let home = try Home.withVault()
    let file = try home.file("secret", OAuthServer.secret)
    try home.transcript(
      "provider add \(Home.host) --issuer \(server.issuer) --client-id service --scope read --client-secret-file \(file) --quiet"
    )
    for (client, hasSecret) in [("program", false), ("service", true)] {
      let words = ["login", Home.host, "--account", "ada", "--client-id", client, "--web", "--no-browser"]
      let login = StartedLogin(command: try home.start(words), isWeb: true)
      try login.answer(server)
      let end = try login.command.end()
      #expect(end.status == 0, "\(client): \(end.err)")
      #expect(try home.coffer("vault show \(Home.host) ada").out.contains("client_secret") == hasSecret, "\(client)")
    }
  }

  @Test(arguments: OAuthServer.Kind.present.filter { $0 == .authlib }, [true, false])
  func `a browser's arguments hold no code, and with --no-browser there is no browser`(kind: OAuthServer.Kind, opens: Bool) throws
  {
    let server = try OAuthServer(kind)
    let home = try Home.withVault()
    try home.know(server)
    let seen = home.path + "/seen"
    home.environment["BROWSER"] = try home.file(
      "browser", "#!/bin/sh\nprintf '%s' \"$*\" > '\(seen).new' && mv '\(seen).new' '\(seen)'\n", mode: 0o755)
    let terminal = try PseudoTerminal()
    let login = try terminal.coffer("login \(Home.host) --device\(opens ? "" : " --no-browser")", in: home)
    // It polls the server once the browser runs.
    try eventually("the server is asked") { try server.control("counts")["token", default: 0] > 0 }
    if opens {
      eventually("the browser runs") { home.exists("seen") }
      #expect(try home.content("seen") == "\(server.issuer)/device")
    } else {
      #expect(!home.exists("seen"))
    }
    kill(login.id, SIGINT)
    #expect(try login.wait() == 130)
  }
}
