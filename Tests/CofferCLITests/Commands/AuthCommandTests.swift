import CofferMemory
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite(.tags(.process), .defaultRun)
struct AuthCommandTests {
  @Test
  func `a token goes in by standard input, comes out as its bytes, and goes with the logout`() throws {
    let home = try Home.withVault()
    try home.transcript("status --logins", err: "coffer: nobody is logged in\n  try: coffer login HOST", exit: 1)
    try home.transcript(
      "login github.com --with-token", in: "gho_1\n", err: "coffer: note: logged in to github.com as default\n")
    try home.transcript("token", out: "gho_1")
    try home.transcript("token github.com", out: "gho_1")
    try home.transcript("status --logins", out: "github.com\tdefault\tactive\tdoes not expire\n")
    try home.transcript("vault get github.com", out: "gho_1")
    try home.transcript("login github.com --with-token --quiet", in: "gho_2\r\n")
    try home.transcript("token", out: "gho_2")
    try home.transcript("logout", err: "coffer: note: logged out of github.com, account default\n")
    try home.transcript("token", err: "nobody is logged in", exit: 1)
    try home.transcript("logout github.com", err: "'github.com': nobody is logged in", exit: 1)
    try home.transcript("vault list", out: "")
  }

  @Test
  func `a login is found by its host in any case, and a logout needs no host where there is one`() throws {
    let home = try Home.withVault()
    try home.transcript("login GitHub.com --account ada --with-token --quiet", in: "t")
    try home.transcript("token github.com", out: "t")
    try home.transcript("logout --quiet")
    try home.transcript("status --logins", err: "nobody is logged in", exit: 1)
  }

  @Test
  func `several accounts of several hosts: the last login is active, or the chosen one; a logout leaves the others`() throws {
    let home = try Home.withVault()
    try home.transcript("login github.com --account ada --with-token --quiet", in: "ada-1")
    try home.transcript("login github.com --account bob --with-token --quiet", in: "bob-1")
    try home.transcript("login gitlab.com --with-token --quiet", in: "lab-1")
    try home.transcript(
      "status --logins",
      out: """
        github.com\tada\t-\tdoes not expire
        github.com\tbob\tactive\tdoes not expire
        gitlab.com\tdefault\tactive\tdoes not expire

        """)
    try home.transcript("status --logins gitlab.com", err: "there is an argument too many", exit: 64)
    try home.transcript("token", err: "there are logins at 2 hosts: github.com, gitlab.com", exit: 2)
    try home.transcript("token github.com", out: "bob-1")
    try home.transcript("token github.com --account ada", out: "ada-1")
    try home.transcript("token github.com --account eve", err: "'eve' is not logged in", exit: 1)
    try home.transcript("login github.com --account ada", err: "note: ada is the active account of github.com now")
    try home.transcript("token github.com", out: "ada-1")
    try home.transcript("login gitlab.com", err: "there is no token, and no terminal to ask at", exit: 64)
    try home.transcript("login github.com --account cid --with-token --quiet", in: "cid-1")
    try home.transcript("login github.com", err: "there is no token, and no terminal to ask at", exit: 64)
    try home.transcript("login github.com --account bob --quiet")
    try home.transcript("logout github.com --quiet")
    try home.transcript("token github.com", err: "no account is active; there are ada, cid", exit: 2)
    try home.transcript(
      "logout github.com --account cid",
      err: "logged out of github.com, account cid\ncoffer: note: ada is the active account now")
    try home.transcript("token github.com", out: "ada-1")
    try home.transcript("logout", err: "there are logins at 2 hosts", exit: 2)
    try home.transcript("login github.com --account bob --with-token --quiet", in: "bob-2")
    try home.transcript("logout github.com --all --quiet")
    try home.transcript("status --logins", out: "gitlab.com\tdefault\tactive\tdoes not expire\n")
    #expect(try home.listed() == ["gitlab.com/default"])
    #expect(try home.listed("vault find gitlab") == ["gitlab.com/default"])
    #expect(try home.listed("vault list --internal") == ["coffer.auth/gitlab.com", "gitlab.com/default"])
    #expect(try home.listed("vault find gitlab --internal") == ["coffer.auth/gitlab.com", "gitlab.com/default"])
    #expect(try home.listed("vault list coffer.auth") == ["coffer.auth/gitlab.com"])
    try home.transcript("export \(home.path)/out --new-key-file \(home.path)/k2", err: "exported 1 item to")
    #expect(
      try home.listed("vault list --internal --vault \(home.path)/out --key-file \(home.path)/k2") == [
        "coffer.auth/gitlab.com", "gitlab.com/default",
      ])
    let revealed = try home.coffer("export --reveal").out
    #expect(revealed.contains(#""service":"gitlab.com""#) && !revealed.contains(#""service":"coffer.auth""#), "\(revealed)")
    #expect(try home.coffer("vault log").out.contains("\tgitlab.com/default\t"))
    #expect(try !home.coffer("vault log").out.contains("coffer.auth/gitlab.com"))
    #expect(try home.coffer("vault log --internal").out.contains("coffer.auth/gitlab.com"))
    #expect(try home.coffer("vault log --limit 3").out.split(separator: "\n").count == 3)
    try home.transcript("export --references", out: "default=coffer://gitlab.com/default\n")
    try home.transcript("login github.com --account ada --with-token --quiet", in: "ada-3")
    try home.transcript("login github.com --account bob --with-token --quiet", in: "bob-3")
    try home.transcript("logout --all", err: "logged out of gitlab.com, account default")
    try home.transcript("status --logins", err: "nobody is logged in", exit: 1)
    try home.transcript("vault list --internal")
    try home.transcript("logout --all", err: "nobody is logged in", exit: 1)
  }

  @Test
  func `of two accounts that Unicode takes for one, each gets its own token`() throws {
    let home = try Home.withVault()
    let (one, other) = ("andr\u{E9}", "andre\u{301}")
    try home.transcript("login h.example --account \(one) --with-token --quiet", in: "t-1")
    try home.transcript("login h.example --account \(other) --with-token --quiet", in: "t-2")
    try home.transcript("token h.example --account \(one)", out: "t-1")
    try home.transcript("token h.example --account \(other)", out: "t-2")
    try home.transcript("token h.example", out: "t-2")
    try home.transcript("logout h.example --account \(other) --quiet")
    try home.transcript("token h.example", out: "t-1")
  }

  @Test
  func `status tells a program everything but the token`() throws {
    let home = try Home.withVault()
    try home.transcript("login github.com --account ada --with-token --expires 30d --quiet", in: "hunter2")
    let answer = try home.coffer("status --logins --json")
    let logins = try #require(JSONSerialization.jsonObject(with: answer.bytes) as? [[String: Any]])
    #expect(logins.count == 1 && logins[0]["host"] as? String == "github.com" && logins[0]["account"] as? String == "ada")
    #expect(logins[0]["active"] as? Bool == true && logins[0]["expired"] as? Bool == false)
    #expect((logins[0]["expires"] as? String)?.hasSuffix("Z") == true && (logins[0]["since"] as? String)?.hasSuffix("Z") == true)
    #expect(!answer.out.contains("hunter2"))
    try home.transcript("logout --quiet")
    let error = try home.coffer("status --logins --json")
    #expect(error.status == 1 && error.err.contains("\"kind\":\"notFound\""))
  }

  @Test
  func `a token that has expired is not printed, and status says so`() throws {
    let home = try Home.withVault()
    try home.transcript("login github.com --with-token --expires 1s --quiet", in: "t")
    #expect(try eventually { try home.coffer("token").status != 0 })
    try home.transcript("token", err: "'github.com/default': ", exit: 1)
    #expect(try home.coffer("status --logins").out.hasPrefix("github.com\tdefault\tactive\texpired 20"))
    try home.transcript("login github.com --with-token --quiet", in: "u")
    try home.transcript("token", out: "u")
  }

  @Test
  func `a token is never an argument, and never empty`() throws {
    let home = try Home.withVault()
    try home.transcript("login github.com ghp_secret", err: "a secret is never", exit: 64)
    try home.transcript("login github.com --token ghp_secret", err: "there is no --token", exit: 64)
    #expect(try !home.coffer("login github.com ghp_secret").err.contains("ghp_secret"))
    try home.transcript("login github.com --with-token", in: "\n", err: "the token is empty", exit: 64)
    for token in ["two\nlines", "a\rb", "a\0b"] {
      try home.transcript("login github.com --with-token", in: token, err: "control character", exit: 64)
    }
    try home.transcript("login github.com", err: "no terminal to ask at", exit: 64)
    for host in ["coffer.auth", "coffer.auth.provider"] {
      try home.transcript("login \(host) --account a --with-token", in: "t", err: "is Coffer's own", exit: 64)
    }
    for (host, cure) in [
      ("https://github.com/ada", "coffer login github.com"), ("https://u:p4ss@H.example/x", "coffer login h.example"),
      ("u@h.example:8443", "coffer login h.example:8443"), ("https://u:p4/ss@h.example", "the host alone"),
      ("github.com#x", "coffer login github.com"), (#"x\y"#, "the host alone"),
    ] {
      let answer = try home.coffer("login '\(host)' --with-token", in: Data("t".utf8))
      #expect(answer.status == 64 && answer.err == "coffer: a host has no path or user\n  try: \(cure)\n", "\(answer.err)")
    }
    try home.transcript("login h.example:443 --with-token -q", in: "t")
    try home.transcript("token h.example", out: "t")
    try home.transcript("logout h.example -q")
    try home.transcript("login github.com --with-token --expires yesterday", in: "t", err: "--expires", exit: 64)
    try home.transcript(
      "login github.com --with-token --passphrase-file -", in: "t", err: "standard input", exit: 64)
    try home.transcript("logout --all --account a", err: "give --all or --account, not both", exit: 64)
    try home.transcript("vault list", out: "")
  }

  @Test func `git is set up with the whole path of its helper, which is installed if it is missing`() throws {
    guard access("/usr/bin/git", X_OK) == 0 else { try Test.skip(without: "git") }
    let home = try Home()
    home.environment["HOME"] = home.path
    _ = try home.file(".gitconfig", "[credential]\n\thelper = cache\n")
    for (options, prefix) in [("", ".local"), ("", ".local"), (" --prefix \(home.path)/p", "p")] {
      #expect(try home.coffer("install --git" + options).status == 0)
      let helper = "\(prefix)/bin/git-credential-coffer"
      let setting = "[credential]\n\thelper = cache\n\thelper = \(home.path)/\(helper)\n"
      #expect(try home.exists(helper) && home.content(".gitconfig") == setting)
    }
  }

  @Test
  func `an item that is no login is neither listed nor replaced`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set github.com default", in: "my password")
    try home.transcript("status --logins", err: "nobody is logged in", exit: 1)
    try home.transcript("login github.com --with-token", in: "t", err: "the vault's item of this name is not a login", exit: 77)
    try home.transcript("login github.com --account ada --with-token --quiet", in: "t")
    try home.transcript("logout github.com --all --quiet")
    try home.transcript("vault get github.com default", out: "my password")
  }

  /// Names that Coffer's code trusts, current ones and those of earlier versions.
  static let believed = [
    "coffer.auth", "coffer.auth.client", "coffer.oauth.token-endpoint", "coffer.oauth.revocation-endpoint", "coffer.oauth.client",
    "coffer.oauth.scope", "coffer.oauth.secret-in-body", "coffer.oauth.authority", "coffer.ends-with-session", "coffer.named",
    "oauth.token-endpoint", "oauth.revocation-endpoint", "oauth.client", "oauth.scope", "oauth.secret-in-body", "secret-service",
  ]

  @Test(.tags(.process), .wholeRun, arguments: believed)
  func `what Coffer believes of an item is said by no option, no form and no import`(attribute: String) throws {
    let home = try Home.withVault()
    try home.transcript("vault set x --attribute \(attribute)=token", in: "v", err: "are reserved", exit: 64)
    try home.transcript("vault set x --attribute mine=1 --quiet", in: "v")
    try home.transcript("vault edit x --attribute \(attribute)=token", err: "are reserved", exit: 64)
    try home.transcript("vault edit x --remove-attribute \(attribute)", err: "are reserved", exit: 64)
    let json = try home.file(
      "items.json", #"{"coffer":1,"items":[{"service":"y","attributes":{"\#(attribute)":"forged","mine":"1"},"value":"v"}]}"#)
    #expect(try home.coffer("import \(json) --yes").err.contains("left out"), "\(attribute)")
    let imported = try home.coffer("vault show y --json").out
    #expect(imported.isEmpty || imported.contains("mine") && !imported.contains(attribute), "\(imported)")
    #expect(try home.coffer("status --logins").status == 1)
  }

  @Test func `an import makes no login, and neither replaces nor adds to one`() throws {
    let home = try Home.withVault()
    try home.transcript("login git.example --account ada --with-token -q", in: "mine")
    for field in ["refresh_token", "client_secret", "note"] {
      try home.transcript("vault set git.example ada --field \(field) -q", in: "own")
    }
    let login = #"{"service":"git.example","account":"ada","attributes":{"coffer.auth":"token"},"value":"forged"}"#
    let field = #"{"service":"git.example","account":"ada","field":"refresh_token","value":"forged"}"#
    let others =
      #"{"service":"coffer.auth","account":"git.example","value":"eve"},{"service":"coffer.auth.provider","account":"corp","value":"s"}"#
    func imported(_ items: String, _ choice: String = "replace") throws -> Home.Answer {
      try home.coffer("import \(home.file("items.json", "[\(items)]")) --on-duplicate \(choice) --yes")
    }
    let left = try imported("\(login),\(field),\(others)")
    #expect(
      left.status == 0 && left.err.contains("left out: git.example/ada (logins") && left.err.contains("left out: coffer.auth/"))
    try home.transcript("token", out: "mine")
    try home.transcript("vault get git.example ada --field refresh_token", out: "own")
    try home.transcript("vault list coffer.auth.provider")
    let refused = try imported(field)
    #expect(refused.status == 77 && refused.err.contains("such as a login"), "\(refused.err)")
    try home.transcript("vault get git.example ada --field refresh_token", out: "own")
    let plain = #"{"service":"git.example","account":"ada","value":"plain"},"# + field
    for choice in ["replace", "newer", "replace --dry-run"] {
      let answer = try imported(#"{"modified":"2999-01-01T00:00:00Z","# + plain.dropFirst(), choice)
      #expect(answer.status == 77 && answer.err.contains("'git.example/ada': an item that Coffer manages"), "\(answer.err)")
    }
    #expect(try imported(plain, "both").status == 0)
    try home.transcript("vault get git.example 'ada (2)'", out: "plain")
    try home.transcript("token", out: "mine")
    try home.transcript("vault get git.example ada --field refresh_token", out: "own")
    let other = try Home.withVault()
    try other.transcript("login git.example --account eve --with-token -q", in: "forged")
    try other.transcript("vault set app -q", in: "v")
    let vault = try home.coffer(
      "import --from coffer \(other.path)/data/vault.sqlite --other-key-file \(other.path)/key --yes")
    #expect(vault.status == 0 && vault.err.contains("left out: git.example/eve (logins"), "\(vault.err)")
    try home.transcript("vault get app", out: "v")
    #expect(try !home.coffer("status --logins").out.contains("eve"))
  }

  @Test func `a login whose token another program replaces loses what renewed it`() throws {
    let home = try Home.withVault()
    for (host, program) in [("a.example", "cargo"), ("b.example", "keyring set b.example ada")] {
      try home.transcript("login \(host) --account ada --with-token -q", in: "old")
      for field in ["refresh_token", "client_secret"] {
        try home.transcript("vault set \(host) ada --field \(field) -q", in: "own")
      }
      let line = #"{"v":1,"kind":"login","token":"new","registry":{"index-url":"x"},"args":["a.example","ada"]}"#
      #expect(try home.coffer("helper \(program)", in: Data((program == "cargo" ? line + "\n" : "new").utf8)).status == 0)
      try home.transcript("token \(host)", out: "new")
      for field in ["refresh_token", "client_secret"] {
        #expect(try home.coffer("vault get \(host) ada --field \(field)").status == 1, "\(host)")
      }
    }
  }

  @Test
  func `locked or absent, the vault's own exit statuses`() throws {
    let home = try Home.withVault()
    home.locked()
    for line in ["status --logins", "token", "logout", "login github.com --account ada", "login github.com --with-token"] {
      #expect(try home.coffer(line, in: Data("t".utf8)).status == 69)
    }
    #expect(try Home().coffer("status --logins").status == 78)
  }

  @Test
  func `without --with-token the token is typed at a hidden prompt`() throws {
    let home = try Home.withVault()
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("login github.com", in: home)
    terminal.shows("Token for github.com: ")
    #expect(!terminal.echoes)
    terminal.type("typed\n")
    #expect(try child.wait() == 0)
    #expect(!terminal.shown.contains("typed"))
    try home.transcript("token", out: "typed")
  }

  @Test
  func `neither a host nor an account can be read outside of the vault`() throws {
    let home = try Home.withVault()
    try home.transcript("login example.test --account adalovelace --with-token --quiet", in: "t0ken-value")
    for text in ["example.test", "adalovelace", "t0ken-value"] {
      #expect(
        try home.shell("grep -srlaF \(text) \(home.path)/data \(home.path)/config \(home.path)/state \(home.path)/run; true")
          .isEmpty)
    }
  }
}
