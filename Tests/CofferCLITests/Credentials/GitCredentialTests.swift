import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .wholeRun)
struct GitCredentialTests {
  private static let place = "protocol=https\nhost=example.com\n"

  private func home() throws -> Home { try Home.withVault() }

  @Test
  func `store, get, erase: several users, the one written last without a user`() throws {
    let home = try home()
    try home.transcript("helper git get", in: Self.place)
    try home.transcript("helper git store", in: Self.place + "username=ada\npassword=one\n")
    usleep(5_000)  // No event: the next is written later.
    try home.transcript("helper git store", in: Self.place + "username=bob\npassword=two\n\n")
    try home.transcript("helper git get", in: Self.place + "username=ada\n\n", out: "username=ada\npassword=one\n")
    try home.transcript("helper git get", in: Self.place, out: "username=bob\npassword=two\n")
    try home.transcript("helper git get", in: Self.place + "username=eve\n")
    try home.transcript("vault get https://example.com ada", out: "one")
    try home.transcript("vault set https://by.hand", in: "typed")
    try home.transcript("helper git get", in: "protocol=https\nhost=by.hand\n", out: "username=\npassword=typed\n")
    try home.transcript("vault set bare.example", in: "typed")
    try home.transcript("helper git get", in: "protocol=https\nhost=bare.example\n", out: "password=typed\n")
    try home.transcript("helper git erase", in: Self.place + "username=ada\npassword=other\n")
    try home.transcript("helper git get", in: Self.place + "username=ada\n", out: "username=ada\npassword=one\n")
    try home.transcript("helper git erase", in: Self.place + "password=two\n")
    #expect(try home.listed("vault list https://example.com") == ["https://example.com/ada"])
    try home.transcript("helper git erase", in: Self.place + "username=ada\n")
    try home.transcript("vault list https://example.com")
    try home.transcript("helper git erase", in: "protocol=https\n")
    try home.transcript("helper git erase", in: "username=\n")
    #expect(try home.listed() == ["bare.example", "https://by.hand"])
  }

  @Test(arguments: ["0", "false"])
  func `GIT_TERMINAL_PROMPT=0: a locked vault is an error and never a question, at a terminal too`(value: String) throws {
    let home = try Home()
    _ = try home.file("pass", "correct horse")
    try home.transcript("init --quiet --new-passphrase-file \(home.path)/pass")
    let terminal = try PseudoTerminal()
    home.environment["GIT_TERMINAL_PROMPT"] = value
    let silent = try terminal.coffer("helper git get", in: home)
    terminal.type(Self.place + "\n")
    #expect(try silent.wait() == 69)
    #expect(!terminal.shown.contains("Passphrase of"))
    home.environment["GIT_TERMINAL_PROMPT"] = "1"
    let asking = try terminal.coffer("helper git get", in: home)
    terminal.type(Self.place + "\n")
    terminal.shows("Passphrase of")
    terminal.type("\u{3}")
    #expect(try asking.wait() == 130)
  }

  @Test
  func `ports, paths and the empty user are part of the name`() throws {
    let home = try home()
    let path = Self.place + "path=team/a.git\n"
    try home.transcript("helper git store", in: path + "username=ada\npassword=for-a\n")
    try home.transcript("helper git get", in: path, out: "username=ada\npassword=for-a\n")
    try home.transcript("helper git get", in: Self.place + "path=team/b.git\n")
    try home.transcript("helper git get", in: Self.place)
    try home.transcript("helper git get", in: "protocol=http\nhost=example.com\npath=team/a.git\n")
    try home.transcript("helper git store", in: "protocol=https\nhost=example.com:8443\nusername=\npassword=p\n")
    try home.transcript(
      "helper git get", in: "protocol=https\nhost=example.com:8443\nusername=\n", out: "username=\npassword=p\n")
    // An empty password is one, as git's own tests ask; it is written once.
    for _ in 1...2 { try home.transcript("helper git store", in: "protocol=https\nhost=a.tld\nusername=\npassword=\n") }
    try home.transcript("helper git get", in: "protocol=https\nhost=a.tld\n", out: "username=\npassword=\n")
    try home.transcript("vault get https://a.tld --field revision", out: "1")
    try home.transcript("helper git store", in: "protocol=cert\nhost=\npath=/k.pem\npassword=pem\n")
    try home.transcript("helper git get", in: "protocol=cert\nhost=\npath=/k.pem\n", out: "username=\npassword=pem\n")
  }

  @Test
  func `expiry and refresh tokens: an expired password is not given, its refresh token is`() throws {
    let home = try home()
    let later = UInt64(Date().timeIntervalSince1970) + 3600
    try home.transcript("helper git store", in: Self.place + "username=a\npassword=p\npassword_expiry_utc=\(later)\n")
    try home.transcript("helper git get", in: Self.place, out: "username=a\npassword=p\npassword_expiry_utc=\(later)\n")
    try home.transcript("helper git store", in: Self.place + "username=b\npassword=p\npassword_expiry_utc=1000\n")
    try home.transcript("helper git get", in: Self.place + "username=b\n")
    let soon = UInt64(Date().timeIntervalSince1970) + 2
    try home.transcript(
      "helper git store",
      in: Self.place + "username=c\npassword=p\npassword_expiry_utc=\(soon)\noauth_refresh_token=fresh\n")
    try home.transcript("helper git store", in: Self.place + "username=d\npassword=p\npassword_expiry_utc=\(soon)\n")
    #expect(try eventually { try home.coffer("helper git get", in: Data((Self.place + "username=d\n").utf8)).out.isEmpty })
    try home.transcript("helper git get", in: Self.place + "username=d\n")
    try home.transcript("helper git get", in: Self.place + "username=c\n", out: "username=c\noauth_refresh_token=fresh\n")
    try home.transcript(
      "helper git store", in: Self.place + "username=c\npassword=q\npassword_expiry_utc=\(later)\noauth_refresh_token=next\n")
    try home.transcript(
      "helper git get", in: Self.place + "username=c\n",
      out: "username=c\npassword=q\npassword_expiry_utc=\(later)\noauth_refresh_token=next\n")
    try home.transcript("helper git erase", in: Self.place + "username=c\npassword=p\n")
    try home.transcript(
      "vault show https://example.com c --json", out: try home.coffer("vault show https://example.com c --json").out)
    try home.transcript("helper git erase", in: Self.place + "username=c\npassword=q\n")
    try home.transcript("vault show https://example.com c", err: "no item with this name", exit: 1)
  }

  @Test
  func `authtype, ephemeral and state, for a git that understands them`() throws {
    let home = try home()
    try home.transcript("helper git capability", out: "version 0\ncapability authtype\ncapability state\n")
    let speaks = "capability[]=authtype\ncapability[]=state\n"
    let bearer = speaks + Self.place + "authtype=Bearer\ncredential=tok\n"
    try home.transcript("helper git store", in: bearer + "ephemeral=1\n")
    try home.transcript("helper git get", in: speaks + Self.place)
    try home.transcript("helper git store", in: bearer)
    try home.transcript(
      "helper git get", in: speaks + Self.place + "wwwauth[]=Bearer\n",
      out: speaks + "authtype=Bearer\ncredential=tok\nephemeral=0\nstate[]=coffer:revision=1\n")
    try home.transcript("helper git get", in: Self.place)
    try home.transcript("helper git get", in: speaks + "capability[]=\n" + Self.place)
    // An equal value is not written again: the revision stays.
    try home.transcript("helper git store", in: bearer + "state[]=coffer:revision=1\n")
    try home.transcript("vault get https://example.com --field revision", out: "1")
    try home.transcript("helper git erase", in: bearer + "state[]=coffer:revision=9\nstate[]=other:x\n")
    try home.transcript("helper git erase", in: speaks + Self.place + "authtype=Bearer\ncredential=else\n")
    try home.transcript("vault get https://example.com --field revision", out: "1")
    try home.transcript("helper git erase", in: bearer + "state[]=coffer:revision=1\n")
    try home.transcript("vault list")
  }

  @Test
  func `what the protocol does not know is ignored; what could forge a line is refused`() throws {
    let home = try home()
    try home.transcript("helper git reboot", in: "x")
    try home.transcript("helper git store", in: Self.place + "color=blue\nodd[]=\nusername=a\npassword=p=q\n")
    try home.transcript(
      "helper git get", in: Self.place + "quit=1\nwwwauth[]=Basic realm=\"é\"\n", out: "username=a\npassword=p=q\n")
    for line in ["username=a\rb", "password=a\0b", "host=x\r", "nonsense"] {
      let answer = try home.coffer("helper git store", in: Data((Self.place + line + "\n").utf8))
      #expect(answer.status == 65 && answer.out.isEmpty, "\(answer.err)")
    }
    for value in ["two\nlines", "cr\r", "nul\0"] {
      #expect(try home.coffer("vault set https://example.com z --exact", in: Data(value.utf8)).status == 0)
      let answer = try home.coffer("helper git get", in: Data((Self.place + "username=z\n").utf8))
      #expect(answer.status == 77 && answer.out.isEmpty, "\(answer.err)")
    }
    let huge = try home.coffer("helper git get", in: Data(repeating: 65, count: 1 << 20))
    #expect(huge.status == 64)
    home.locked()
    try home.transcript("helper git get", in: Self.place, err: "nothing to unlock it with", exit: 69)
    try Home().transcript("helper git get", in: Self.place, err: "there is no vault", exit: 78)
  }

  static let server = """
    import base64, http.server, os, sys
    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            want = "Basic " + base64.b64encode(open(sys.argv[2]).read().strip().encode()).decode()
            if self.headers.get("Authorization") != want:
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="test"')
                self.end_headers()
                return
            super().do_GET()
        def log_message(self, *words): pass
    os.chdir(sys.argv[1])
    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    open(sys.argv[3] + ".new", "w").write(str(server.server_port))
    os.rename(sys.argv[3] + ".new", sys.argv[3])
    server.serve_forever()
    """

  @Test
  func `the real git stores after success, asks us from then on, and erases after failure`() throws {
    let home = try home()
    try home.withHelpers()
    home.environment["GIT_CONFIG_NOSYSTEM"] = "1"
    guard try home.program(["git", "--version"]) != nil, access("/usr/bin/python3", X_OK) == 0 else {
      try Test.skip(without: "git or python3")
    }
    for words in [
      ["init", "-q", "--bare", "\(home.path)/repo.git"], ["--git-dir=\(home.path)/repo.git", "update-server-info"],
    ] {
      let made = try #require(try home.program(["git"] + words))
      try #require(made.status == 0, "\(made.err)")
    }
    let password = try home.file("password", "ada:first")
    let script = try home.file("server.py", Self.server)
    let null = (path: "/dev/null", flags: O_RDWR)
    let server = try Child(
      [script, home.path, password, home.path + "/port"], environment: home.environment, opening: [0: null, 1: null, 2: null],
      program: "/usr/bin/python3")
    defer {
      kill(server.id, SIGKILL)
      waitpid(server.id, nil, 0)
    }
    #expect(eventually { home.exists("port") })
    let origin = "http://127.0.0.1:\(try home.content("port"))"
    let asking = try home.file(
      "ask", "#!/bin/sh\ncase $1 in Username*) echo ada;; *) cut -d: -f2 \(password);; esac\n", mode: 0o700)
    let list = { (ask: String) in
      try #require(
        try home.program(
          ["git", "-c", "credential.helper=coffer", "ls-remote", origin + "/repo.git"],
          with: ["GIT_ASKPASS": ask, "GIT_TERMINAL_PROMPT": "0"]))
    }
    #expect(try list("/bin/false").status != 0)
    let first = try list(asking)
    #expect(first.status == 0, "\(first.err)")
    try home.transcript("vault get \(origin) ada", out: "first")
    let second = try list("/bin/false")
    #expect(second.status == 0, "\(second.err)")
    try home.transcript("vault get \(origin) --field revision", out: "1")
    _ = try home.file("password", "ada:second")
    #expect(try list("/bin/false").status != 0)
    try home.transcript("vault get \(origin) ada", err: "no item with this name", exit: 1)
    #expect(try list(asking).status == 0)
    try home.transcript("vault get \(origin) ada", out: "second")
  }
}
