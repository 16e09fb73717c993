import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite(.tags(.process), .wholeRun)
struct CredentialFaceTests {
  private func object(_ answer: Home.Answer) throws -> [String: Any] {
    try #require(JSONSerialization.jsonObject(with: answer.bytes) as? [String: Any], "\(answer.err)")
  }

  private func withExpired() throws -> Home {
    let home = try Home.withVault()
    try home.transcript("vault set aws old --attribute aws_access_key_id=A --expires 1s", in: "k")
    try home.transcript("vault set cargo-registry:old --expires 1s", in: "t")
    try home.transcript("login h.example --account ada --with-token --expires 1s -q", in: "t")
    #expect(try eventually { try home.coffer("token h.example").status != 0 })
    return home
  }

  @Test
  func `aws gets version 1 with the key's id, the session's token, and the earlier of two expiries`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set aws default --attribute aws_access_key_id=AKIA1", in: "se\"cret/+")
    try home.transcript(
      "helper aws", out: #"{"AccessKeyId":"AKIA1","Version":1,"SecretAccessKey":"se\"cret/+"}"# + "\n")
    try home.transcript("vault set aws work --expires 2h", in: "k")
    try home.transcript("vault set aws work --field aws_access_key_id", in: "AKIA2")
    try home.transcript("vault set aws work --field aws_session_token --expires 1h", in: "tok")
    let work = try object(home.coffer("helper aws work"))
    #expect(work["AccessKeyId"] as? String == "AKIA2" && work["SessionToken"] as? String == "tok" && work["Version"] as? Int == 1)
    let expiration = try Date(#require(work["Expiration"] as? String), strategy: .iso8601)
    #expect((3500...3600).contains(expiration.timeIntervalSinceNow))
    try home.transcript("helper aws nobody", err: "no key for this profile", exit: 1)
    try home.transcript("vault set aws bare", in: "k")
    try home.transcript("helper aws bare", err: "the item has no aws_access_key_id", exit: 1)
    try home.transcript("vault set aws lines --attribute aws_access_key_id=A", in: "two\nlines")
    try home.transcript("helper aws lines", err: "not one line of text", exit: 77)
    home.locked()
    try home.transcript("helper aws", err: "nothing to unlock it with", exit: 69)
  }

  @Test
  func `what aws imports is what aws is given`() throws {
    let home = try Home.withVault()
    let file = try home.file(
      "credentials", "[work]\naws_access_key_id = AKIA3\naws_secret_access_key = s\naws_session_token = t\n")
    #expect(try home.coffer("import --from aws \(file) --yes -q").status == 0)
    try home.transcript(
      "helper aws work", out: #"{"AccessKeyId":"AKIA3","Version":1,"SecretAccessKey":"s","SessionToken":"t"}"# + "\n")
  }

  @Test
  func `kubectl gets an ExecCredential of the version that it asks for, of a name or of its server`() throws {
    let home = try Home.withVault()
    try home.transcript("login k8s.example --account ada --with-token --expires 1h -q", in: "tok")
    let named = try object(home.coffer("helper kubectl k8s.example ada"))
    let status = try #require(named["status"] as? [String: String])
    #expect(named["apiVersion"] as? String == "client.authentication.k8s.io/v1" && named["kind"] as? String == "ExecCredential")
    let expiration = try Date(#require(status["expirationTimestamp"]), strategy: .iso8601)
    #expect(status["token"] == "tok" && (3500...3600).contains(expiration.timeIntervalSinceNow))
    let request = { (version: String, spec: String) in
      [
        "KUBERNETES_EXEC_INFO":
          #"{"apiVersion":"client.authentication.k8s.io/\#(version)","kind":"ExecCredential","spec":\#(spec)}"#
      ]
    }
    let server = #"{"interactive":false,"cluster":{"server":"https://K8S.example:443/"}}"#
    let asked = try object(home.coffer("helper kubectl", with: request("v1beta1", server)))
    #expect(asked["apiVersion"] as? String == "client.authentication.k8s.io/v1beta1")
    #expect((asked["status"] as? [String: String])?["token"] == "tok")
    try home.transcript("vault set plain", in: "p")
    try home.transcript(
      "helper kubectl plain",
      out: #"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"p"}}"# + "\n")
    try home.transcript("helper kubectl x", with: request("v9", "{}"), err: "kubectl asks for", exit: 77)
    try home.transcript("helper kubectl", with: request("v1", "{}"), err: "neither an item nor a server is named", exit: 64)
    try home.transcript("helper kubectl", err: "neither an item nor a server is named", exit: 64)
    try home.transcript("helper kubectl", with: ["KUBERNETES_EXEC_INFO": "{"], err: "is not an ExecCredential", exit: 65)
    try home.transcript("helper kubectl nowhere.example", err: "nobody is logged in", exit: 1)
  }

  @Test
  func `where kubectl lends no terminal none is asked at`() throws {
    let home = try Home()
    _ = try home.file("pass", "correct horse")
    try home.transcript("init --quiet --new-passphrase-file \(home.path)/pass")
    home.environment["KUBERNETES_EXEC_INFO"] =
      #"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":false}}"#
    let terminal = try PseudoTerminal()
    #expect(try terminal.coffer("helper kubectl h.example", in: home).wait() == 69)
    #expect(!terminal.shown.contains("Passphrase of"))
  }

  @Test
  func `what has expired is told as such, and not given`() throws {
    let home = try withExpired()
    try home.transcript("helper aws old", err: "has expired", exit: 1)
    for line in [
      "kubectl h.example", "kubectl https://h.example", "keyring get h.example ada", "keyring get https://h.example/s",
    ] {
      try home.transcript("helper \(line)", err: "has expired", exit: 1)
    }
    let asked = try home.program([Home.coffer, "helper", "askpass", "Password for 'https://h.example': "])
    #expect(asked?.status == 1 && asked?.err.contains("has expired") == true)
    try home.transcript("run --netrc h.example -- touch \(home.path)/started", err: "has expired", exit: 125)
    #expect(!home.exists("started"))
    let cargo = try home.coffer(
      "helper cargo", in: Data(#"{"v":1,"kind":"get","operation":"read","registry":{"index-url":"old"}}"#.utf8))
    #expect(
      cargo.status == 0
        && cargo.out.contains(#"{"Err":{"caused-by":[],"kind":"other","message":"'cargo-registry:old': the item has expired"#))
    // A live git login for the host is as good.
    try home.transcript("vault set https://h.example ada", in: "live")
    try home.transcript("helper keyring get https://h.example", out: "live\n")
  }

  @Test
  func `cargo is greeted, gets, logs in and out, and hears errors of its own kind`() throws {
    let home = try Home.withVault()
    let cargo = { (lines: [String]) in
      let answer = try home.coffer("helper cargo --cargo-plugin", in: Data(lines.map { $0 + "\n" }.joined().utf8))
      #expect(answer.status == 0 && answer.err.isEmpty, "\(answer.err)")
      var answers = answer.out.split(separator: "\n").map(String.init)
      #expect(answers.removeFirst() == #"{"v":[1]}"#)
      return answers
    }
    let registry = #""registry":{"index-url":"sparse+https://r.example/index/","name":"r","headers":["WWW-Authenticate: x"]}"#
    let got = #"{"Ok":{"kind":"get","cache":"session","operation_independent":true,"token":"#
    #expect(
      try cargo([
        #"{"v":1,\#(registry),"kind":"get","operation":"read","args":[]}"#,
        #"{"v":1,\#(registry),"kind":"logout","args":[]}"#,
        #"{"v":1,\#(registry),"kind":"login","token":"tok\"1","login-url":"https://r.example/me","args":[]}"#,
        #"{"v":1,\#(registry),"kind":"get","operation":"publish","name":"a","vers":"1.0.0","cksum":"x"}"#,
        #"{"v":1,\#(registry),"kind":"unheard-of"}"#, #"{"v":1,\#(registry),"kind":"logout"}"#,
        #"{"v":1,\#(registry),"kind":"get"}"#,
      ]) == [
        #"{"Err":{"kind":"not-found"}}"#, #"{"Err":{"kind":"not-found"}}"#, #"{"Ok":{"kind":"login"}}"#, got + #""tok\"1"}}"#,
        #"{"Err":{"kind":"operation-not-supported"}}"#, #"{"Ok":{"kind":"logout"}}"#, #"{"Err":{"kind":"not-found"}}"#,
      ])
    try home.transcript("login r.example --account ada --with-token -q", in: "shared")
    let words = #""args":["r.example","ada"]"#
    #expect(try cargo([#"{"v":1,\#(registry),"kind":"get",\#(words)}"#]) == [got + #""shared"}}"#])
    // One token, one place: a login through cargo is the login.
    #expect(try cargo([#"{"v":1,\#(registry),"kind":"login","token":"new",\#(words)}"#]) == [#"{"Ok":{"kind":"login"}}"#])
    try home.transcript("token r.example", out: "new")
    try home.transcript("vault set cargo-registry:b --expires 1h", in: "t")
    let expiring = try cargo([#"{"v":1,"registry":{"index-url":"b"},"kind":"get"}"#])[0]
    #expect(expiring.contains(#""cache":"expires","expiration":"#))
    // An expiry that exceeds cargo's range.
    try home.transcript(
      "helper git store",
      in:
        "protocol=https\nhost=far.example\nusername=a\npassword=far\npassword_expiry_utc=9999999999999999999\noauth_refresh_token=r\n\n"
    )
    #expect(try cargo([#"{"v":1,\#(registry),"kind":"get","args":["https://far.example"]}"#]) == [got + #""far"}}"#])
    for (line, text) in [
      (#"{"v":2,"kind":"get"}"#, "cargo uses protocol version 2"), ("hunter2", "line 1: "), (#"{"v":1,"kind":"#, "line 1: "),
      (#"{"v":1,\#(registry),"kind":"login"}"#, "no terminal to ask at"),
      (#"{"v":1,\#(registry),"kind":"login","token":"a\nb"}"#, "control character"),
      (#"{"v":1,\#(registry),"kind":"login","token":"t","args":["coffer.auth","r.example"]}"#, "is Coffer's own"),
    ] {
      let answer = try cargo([line])[0]
      #expect(answer.hasPrefix(#"{"Err":{"caused-by":[],"kind":"other","message":""#) && answer.contains(text), "\(answer)")
      #expect(!answer.contains("hunter2"))
    }
    let huge = try home.coffer("helper cargo", in: Data(repeating: 65, count: 1 << 20))
    #expect(huge.status == 64)
    home.locked()
    #expect(try cargo([#"{"v":1,\#(registry),"kind":"get"}"#])[0].contains("nothing to unlock it with"))
  }

  @Test
  func `keyring gets in four forms, sets in the place of what it would give, and deletes`() throws {
    let home = try Home.withVault()
    try home.withHelpers()
    let keyring = { (words: [String], input: String) in try #require(try home.program(["keyring"] + words, in: input)) }
    let url = "https://pypi.example/simple/"
    #expect(try keyring(["get", url, "ada"], "").status == 1)
    #expect(try keyring(["set", "pypi.example:8080", "ada"], "pass word\n").status == 0)
    try home.transcript("vault get pypi.example:8080 ada", out: "pass word")
    #expect(try keyring(["get", "pypi.example:8080", "ada"], "").out == "pass word\n")
    try home.transcript("login pypi.example --account ada --with-token -q", in: "one")
    #expect(try keyring(["get", url, "ada"], "").out == "one\n")
    #expect(try keyring(["get", "https://ada@pypi.example/simple"], "").out == "one\n")
    #expect(try keyring(["get", url, "--mode", "creds"], "").out == "ada\none\n")
    #expect(try keyring(["--mode=creds", "--output=json", "get", url], "").out == #"{"username":"ada","password":"one"}"# + "\n")
    #expect(try keyring(["--output=json", "get", url, "ada"], "").out == #"{"password":"one"}"# + "\n")
    #expect(try keyring(["set", url, "ada"], "two\r\n").status == 0)
    try home.transcript("token pypi.example", out: "two")
    // Without a scheme there is no host token, and an HTTP URL gets none of HTTPS.
    for other in ["pypi.example:443", "http://pypi.example/simple/"] {
      #expect(try keyring(["get", other, "ada"], "").status == 1)
    }
    #expect(try keyring(["set", url], "x").status == 64 && keyring(["set", url, "ada"], "").status == 64)
    #expect(try keyring(["set", "s", "ada"], "a\nb").status == 0 && keyring(["get", "s", "ada"], "").status == 77)
    #expect(try keyring(["set", "coffer.auth", "pypi.example"], "x").status == 64)
    #expect(try keyring(["set", "https://u:SEKRIT@x.example/p@q", "u"], "x").status == 1)
    #expect(try keyring(["set", "https://u:SEKRIT@x.example/p", "u"], "x").status == 0)
    try home.transcript("vault get https://x.example/p u", out: "x")
    #expect(try keyring(["del", url, "ada"], "").status == 0 && keyring(["del", url, "ada"], "").status == 1)
    try home.transcript("token pypi.example", err: "nobody is logged in", exit: 1)
  }

  @Test
  func `of several accounts the active login is meant, then what was written last; a path goes before its host`() throws {
    let home = try Home.withVault()
    let token = { (words: String) in try home.coffer("helper keyring get \(words) --mode creds").out }
    try home.transcript("vault set https://h.example git-user", in: "git")
    #expect(try token("https://h.example/a") == "git-user\ngit\n")
    try home.transcript("login h.example --account a --with-token -q", in: "ta")
    try home.transcript("login h.example --account b --with-token -q", in: "tb")
    #expect(try token("https://h.example/a") == "b\ntb\n")
    try home.transcript("login h.example --account a -q")
    #expect(try token("https://h.example/a") == "a\nta\n" && token("h.example") == "a\nta\n")
    #expect(try token("https://h.example git-user") == "git-user\ngit\n")
    try home.transcript("vault set https://h.example/a deploy", in: "path")
    #expect(try token("https://h.example/a/") == "deploy\npath\n" && token("https://h.example/b") == "a\nta\n")
    try home.transcript("vault set other.example ada", in: "x")
    #expect(try token("https://other.example") == "ada\nx\n" && token("other.example") == "ada\nx\n")
    #expect(try token("http://other.example").isEmpty)
  }

  @Test
  func `a netrc in memory has a line for each host, and its path in NETRC`() throws {
    let home = try Home.withVault()
    try home.transcript("login a.example --account ada --with-token -q", in: "ta")
    try home.transcript("vault set https://b.example:8443 bob", in: "tb")
    let lines = "machine a.example login ada password ta\nmachine b.example login bob password tb\n"
    try home.transcript(
      "run --netrc a.example --netrc bob@b.example:8443 -- /bin/sh -c 'echo $NETRC; cat $NETRC'", out: "/proc/self/fd/3\n" + lines
    )
    try home.transcript("run --netrc https://a.example cat /proc/self/fd/3", out: "machine a.example login ada password ta\n")
    try home.transcript(
      "run --fd 5=coffer://a.example --file F=coffer://a.example --netrc a.example -- /bin/sh -c 'echo $F $NETRC'",
      out: "/proc/self/fd/6 /proc/self/fd/7\n")
    try home.transcript(
      "run --mask --netrc a.example -- /bin/sh -c 'echo ta-ta; cat $NETRC'",
      out: "ta-ta\nmachine a.example login ada password ta\n", err: "shorter than 4 bytes")
    try home.transcript("login a.example --account ada --with-token -q", in: "long-token")
    try home.transcript(
      "run --mask --netrc a.example -- /bin/sh -c 'cat $NETRC'", out: "machine a.example login ada password <masked>\n")
    try home.transcript("run --netrc a.example --netrc https://a.example:444 -- true", err: "given twice", exit: 125)
    try home.transcript("run --netrc a.example -e NETRC=coffer://a.example -- true", err: "'NETRC' is given twice", exit: 125)
    try home.transcript("run --netrc c.example -- true", err: "nobody is logged in", exit: 125)
    try home.transcript("run --netrc / -- true", err: "is not a host", exit: 125)
    for value in ["a b", "a\"b", "a\\b", "a\nb"] {
      try home.transcript("vault set https://q.example u --exact -q", in: value)
      try home.transcript("run --netrc q.example -- true", err: "programs read differently", exit: 125)
    }
    try home.transcript("vault set https://empty.example", in: "x")
    try home.transcript("run --netrc empty.example -- true", err: "is empty or has a blank", exit: 125)
  }

  @Test(arguments: [
    ("Enter passphrase for key '/home/a b/id': ", AskedQuestion.passphrase(ofKey: "/home/a b/id")),
    ("Enter passphrase for /home/ada/id: ", .passphrase(ofKey: "/home/ada/id")),
    ("Enter passphrase for /home/ada/id (will confirm each use): ", .passphrase(ofKey: "/home/ada/id")),
    ("Bad passphrase, try again for /home/ada/id: ", .again),
    ("ada@h.example's password: ", .password(user: "ada", host: "h.example")),
    ("(ada@h.example) Password: ", .password(user: "ada", host: "h.example")),
    ("Username for 'https://h': ", .username(url: "https://h")),
    ("Password for 'https://ada@h': ", .urlPassword(url: "https://ada@h")),
    ("Password for 'https://a@b@h': ", .urlPassword(url: "https://a@b@h")),
    ("Password for 'https://bank.example%2fx@evil': ", .urlPassword(url: "https://bank.example%2fx@evil")),
    ("Password for 'cert:///home/ada/key.pem': ", .urlPassword(url: "cert:///home/ada/key.pem")),
  ])
  func `a question of ssh or git is understood`(text: String, question: AskedQuestion) {
    #expect(AskedQuestion(text) == question)
  }

  @Test(arguments: [
    "", "Password: ", "Enter passphrase: ", "(ada@evil) Enter passphrase for /home/ada/id: ", "(ada@h) Verification code: ",
    "Are you sure you want to continue connecting (yes/no/[fingerprint])? ", "x\nEnter passphrase for key '/id': ",
    "Enter passphrase for key '/id\n': ", "@h's password: ", "ada@'s password: ", "Enter PIN for authenticator: ",
    // git before the fix of CVE-2024-50349 decodes the user.
    "Password for 'https://bank.example/x@evil': ", "Password for 'https://bank.example?x@evil': ",
    "Username for 'https://bank.example#x@evil': ", "Password for 'https://bank.example/\u{301}x@evil': ",
    "Password for 'https://bank.example/x@\u{301}evil': ", "Password for 'https://bank%2eexample': ", "Password for 'h': ",
  ])
  func `any other question is not`(text: String) { #expect(AskedQuestion(text) == nil) }

  @Test func `the host of a URL is the one behind its last at sign`() {
    for url in ["https://a@b@h", "https://bank.example%2fx@h/", "https://bank.example@\u{301}@h"] {
      #expect(Origin(url)?.host == "h", "\(url)")
    }
    // Browsers read the backslash as a slash.
    #expect(Origin("https://bank.example\\@h") == nil)
  }

  @Test(arguments: [
    ("OpenSSH_8.4p1 Debian-5", true), ("OpenSSH_7.9p1", true), ("OpenSSH_8.5p1", false), ("OpenSSH_9.2p1", false),
    ("OpenSSH_10.0p2", false), ("OpenSSH_2.*,OpenSSH_3.0*,OpenSSH_6.6.1*", false), ("OpenSSH_", false), ("", false),
  ])
  func `an ssh that hands on a server's questions is told by its version`(text: String, isTooOld: Bool) {
    #expect(Array("\0x\0\(text)\0OpenSSH_7.0*\0".utf8).withUnsafeBytes { AskingSSH.isTooOld($0) } == isTooOld)
  }

  @Test func `an ssh from before 8.5 is answered nothing`() throws {
    let home = try Home.withVault()
    try home.withHelpers()
    try home.transcript("vault set ssh://h.example ada", in: "pass")
    for (version, status) in [("OpenSSH_8.4p1", Int32(77)), ("OpenSSH_8.5p1", 0)] {
      let shell = try Data(contentsOf: URL(fileURLWithPath: "/bin/sh").resolvingSymlinksInPath())
      let ssh = try home.file("ssh", shell + Data("\0\(version)\0".utf8), mode: 0o755)
      let answer = try #require(try home.program([ssh, "-c", "coffer-askpass \"ada@h.example's password: \"; exit $?"]))
      #expect(answer.status == status && (status == 0) == (answer.out == "pass\n"), "\(answer)")
      if status != 0 { #expect(answer.err.contains("older than 8.5") && answer.err.contains("OpenSSH 8.5 or newer")) }
    }
  }

  @Test func `what an import made of a netrc is in one again, and a login without a name has git's`() throws {
    let home = try Home.withVault()
    let file = try home.file("netrc", "machine a.example login ada password ta\n")
    #expect(try home.coffer("import --from netrc \(file) --yes -q").status == 0)
    for host in ["a.example", "ada@a.example", "https://a.example/x"] {
      try home.transcript("run --netrc \(host) cat /proc/self/fd/3", out: "machine a.example login ada password ta\n")
    }
    try home.transcript("run --netrc bob@a.example -- true", err: "'bob' is not logged in", exit: 125)
    try home.transcript("login b.example --with-token -q", in: "tb")
    try home.transcript("run --netrc b.example cat /proc/self/fd/3", out: "machine b.example login oauth2 password tb\n")
    try home.transcript("helper keyring get https://b.example --mode creds", out: "oauth2\ntb\n")
    try home.transcript("helper keyring get https://oauth2@b.example", out: "tb\n")
    let user = try #require(try home.program([Home.coffer, "helper", "askpass", "Username for 'https://b.example': "]))
    #expect(user.out == "oauth2\n")
    let password = try #require(
      try home.program([Home.coffer, "helper", "askpass", "Password for 'https://oauth2@b.example': "]))
    #expect(password.out == "tb\n")
  }

  @Test
  func `a relative path to a key finds the item of the absolute one, else that of its own`() throws {
    let home = try Home.withVault()
    let ask = {
      let words = ["env", "-C", home.path, Home.coffer, "helper", "askpass", "Enter passphrase for idk: "]
      return try #require(try home.program(words))
    }
    #expect(try ask().err.contains("coffer set ssh-key:\(home.path)/idk"))
    try home.transcript("vault set ssh-key:idk", in: "own")
    #expect(try ask().out == "own\n")
    try home.transcript("vault set ssh-key:\(home.path)/idk", in: "absolute")
    #expect(try ask().out == "absolute\n")
  }

  @Test
  func `a question for a person is refused, a notice needs no answer, and a locked vault asks by no program that is ours`() throws
  {
    let home = try Home.withVault()
    try home.withHelpers()
    let ask = { (question: String, variables: [String: String]) in
      try #require(try home.program(["coffer-askpass", question], with: variables))
    }
    try home.transcript("vault set ssh://h.example ada", in: "pass")
    #expect(try ask("ada@H.example's password: ", [:]).out == "pass\n")
    #expect(try ask("bob@h.example's password: ", [:]).status == 1)
    #expect(try ask("--help", [:]).status == 77)
    let trust = try ask("Are you sure you want to continue connecting (yes/no/[fingerprint])? ", [:])
    #expect(trust.status == 77 && trust.out.isEmpty && trust.err.contains("for a person"))
    #expect(try ask("ada@h.example's password: ", ["SSH_ASKPASS_PROMPT": "confirm"]).status == 77)
    let notice = try ask("Confirm user presence for key", ["SSH_ASKPASS_PROMPT": "none"])
    #expect(notice.status == 0 && notice.out.isEmpty)
    home.locked()
    let locked = try ask(
      "ada@h.example's password: ", ["SSH_ASKPASS": home.path + "/bin/coffer-askpass", "SSH_ASKPASS_REQUIRE": "force"])
    #expect(locked.status == 69 && locked.out.isEmpty, "\(locked.err)")
  }
}
