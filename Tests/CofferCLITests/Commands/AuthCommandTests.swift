import CofferMemory
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct AuthCommandTests {
  @Test
  func `a token goes in by standard input, comes out as its bytes, and goes with the logout`() throws {
    let home = try Home.withVault()
    try home.transcript("auth status", err: "coffer: nobody is logged in\n  try: coffer auth login HOST", exit: 1)
    try home.transcript(
      "auth login github.com --with-token", in: "gho_1\n", err: "coffer: note: logged in to github.com as default\n")
    try home.transcript("auth token", out: "gho_1")
    try home.transcript("auth token github.com", out: "gho_1")
    try home.transcript("auth status", out: "github.com  default  active  does not expire\n")
    try home.transcript("vault get github.com", out: "gho_1")
    try home.transcript("auth login github.com --with-token --quiet", in: "gho_2\r\n")
    try home.transcript("auth token", out: "gho_2")
    try home.transcript("auth logout", err: "coffer: note: logged out of github.com, account default\n")
    try home.transcript("auth token", err: "nobody is logged in", exit: 1)
    try home.transcript("auth logout github.com", err: "'github.com': nobody is logged in", exit: 1)
    try home.transcript("vault list", out: "")
  }

  @Test
  func `login and logout are shorthands`() throws {
    let home = try Home.withVault()
    try home.transcript("login GitHub.com --account ada --with-token --quiet", in: "t")
    try home.transcript("auth token github.com", out: "t")
    try home.transcript("logout --quiet")
    try home.transcript("auth status", err: "nobody is logged in", exit: 1)
  }

  @Test
  func `several accounts of several hosts: the last login is active, switch changes it, a logout leaves the others`() throws {
    let home = try Home.withVault()
    try home.transcript("auth login github.com --account ada --with-token --quiet", in: "ada-1")
    try home.transcript("auth login github.com --account bob --with-token --quiet", in: "bob-1")
    try home.transcript("auth login gitlab.com --with-token --quiet", in: "lab-1")
    try home.transcript(
      "auth status",
      out: """
        github.com  ada      -       does not expire
        github.com  bob      active  does not expire
        gitlab.com  default  active  does not expire

        """)
    try home.transcript("auth status gitlab.com", out: "gitlab.com  default  active  does not expire\n")
    try home.transcript("auth token", err: "there are logins at 2 hosts: github.com, gitlab.com", exit: 2)
    try home.transcript("auth token github.com", out: "bob-1")
    try home.transcript("auth token github.com --account ada", out: "ada-1")
    try home.transcript("auth token github.com --account eve", err: "'eve' is not logged in", exit: 1)
    try home.transcript("auth switch github.com", err: "note: ada is the active account of github.com now")
    try home.transcript("auth token github.com", out: "ada-1")
    try home.transcript("auth switch gitlab.com", err: "there is no other account", exit: 2)
    try home.transcript("auth login github.com --account cid --with-token --quiet", in: "cid-1")
    try home.transcript("auth switch github.com", err: "there are 2 other accounts", exit: 2)
    try home.transcript("auth switch github.com --account bob --quiet")
    try home.transcript("auth logout github.com --quiet")
    try home.transcript("auth token github.com", err: "no account is active; there are ada, cid", exit: 2)
    try home.transcript(
      "auth logout github.com --account cid",
      err: "logged out of github.com, account cid\ncoffer: note: ada is the active account now")
    try home.transcript("auth token github.com", out: "ada-1")
    try home.transcript("auth logout", err: "there are logins at 2 hosts", exit: 2)
    try home.transcript("auth login github.com --account bob --with-token --quiet", in: "bob-2")
    try home.transcript("auth logout github.com --all --quiet")
    try home.transcript("auth status", out: "gitlab.com  default  active  does not expire\n")
    // Which login is active is nobody's secret, and shown to who asks for it.
    try home.transcript("vault list", out: "gitlab.com  default\n")
    try home.transcript("vault find gitlab", out: "gitlab.com  default\n")
    try home.transcript("vault list --internal", out: "coffer.auth  gitlab.com\ngitlab.com   default\n")
    try home.transcript("vault find gitlab --internal", out: "coffer.auth  gitlab.com\ngitlab.com   default\n")
    try home.transcript("vault list coffer.auth", out: "coffer.auth  gitlab.com\n")
    try home.transcript("vault export --references", out: "default=coffer://gitlab.com/default\n")
    try home.transcript("auth login github.com --account ada --with-token --quiet", in: "ada-3")
    try home.transcript("auth login github.com --account bob --with-token --quiet", in: "bob-3")
    try home.transcript("auth logout --all", err: "logged out of gitlab.com, account default")
    try home.transcript("auth status", err: "nobody is logged in", exit: 1)
    try home.transcript("vault list --internal")
    try home.transcript("auth logout --all", err: "nobody is logged in", exit: 1)
  }

  @Test
  func `of two accounts that Unicode takes for one, each gets its own token`() throws {
    let home = try Home.withVault()
    let (one, other) = ("andr\u{E9}", "andre\u{301}")
    try home.transcript("auth login h.example --account \(one) --with-token --quiet", in: "t-1")
    try home.transcript("auth login h.example --account \(other) --with-token --quiet", in: "t-2")
    try home.transcript("auth token h.example --account \(one)", out: "t-1")
    try home.transcript("auth token h.example --account \(other)", out: "t-2")
    try home.transcript("auth token h.example", out: "t-2")
    try home.transcript("auth logout h.example --account \(other) --quiet")
    try home.transcript("auth token h.example", out: "t-1")
  }

  @Test
  func `status tells a program everything but the token`() throws {
    let home = try Home.withVault()
    try home.transcript("auth login github.com --account ada --with-token --expires 30d --quiet", in: "hunter2")
    let answer = try home.coffer("auth status --json")
    let logins = try #require(JSONSerialization.jsonObject(with: answer.bytes) as? [[String: Any]])
    #expect(logins.count == 1 && logins[0]["host"] as? String == "github.com" && logins[0]["account"] as? String == "ada")
    #expect(logins[0]["active"] as? Bool == true && logins[0]["expired"] as? Bool == false)
    #expect((logins[0]["expires"] as? String)?.hasSuffix("Z") == true && (logins[0]["since"] as? String)?.hasSuffix("Z") == true)
    #expect(!answer.out.contains("hunter2"))
    let error = try home.coffer("auth status gitlab.com --json")
    #expect(error.status == 1 && error.err.contains("\"kind\":\"notFound\""))
  }

  @Test
  func `a token that has expired is not printed, and status says so`() throws {
    let home = try Home.withVault()
    try home.transcript("login github.com --with-token --expires 1s --quiet", in: "t")
    #expect(try eventually { try home.coffer("auth token").status != 0 })
    try home.transcript("auth token", err: "'github.com/default': ", exit: 1)
    #expect(try home.coffer("auth status").out.hasPrefix("github.com  default  active  expired 20"))
    try home.transcript("login github.com --with-token --quiet", in: "u")
    try home.transcript("auth token", out: "u")
  }

  @Test
  func `a token is never an argument, and never empty`() throws {
    let home = try Home.withVault()
    try home.transcript("auth login github.com ghp_secret", err: "a secret is never", exit: 64)
    try home.transcript("auth login github.com --token ghp_secret", err: "there is no --token", exit: 64)
    #expect(try !home.coffer("auth login github.com ghp_secret").err.contains("ghp_secret"))
    try home.transcript("auth login github.com --with-token", in: "\n", err: "the token is empty", exit: 64)
    try home.transcript("auth login github.com", err: "no terminal to ask at", exit: 64)
    try home.transcript(
      "auth login https://github.com/ada --with-token", in: "t", err: "a host is a name without a path", exit: 64)
    try home.transcript("auth login github.com --with-token --expires yesterday", in: "t", err: "--expires", exit: 64)
    try home.transcript(
      "auth login github.com --with-token --passphrase-file -", in: "t", err: "standard input", exit: 64)
    try home.transcript("auth logout --all --account a", err: "exclude each other", exit: 64)
    try home.transcript("vault list", out: "")
  }

  @Test
  func `an item that is no login is neither listed nor replaced`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set github.com default", in: "my password")
    try home.transcript("auth status", err: "nobody is logged in", exit: 1)
    try home.transcript("login github.com --with-token", in: "t", err: "an item of that name which is no login", exit: 77)
    try home.transcript("login github.com --account ada --with-token --quiet", in: "t")
    try home.transcript("logout github.com --all --quiet")
    try home.transcript("vault get github.com default", out: "my password")
  }

  @Test
  func `locked or absent, the vault's own exit statuses`() throws {
    let home = try Home.withVault()
    home.locked()
    for line in ["auth status", "auth token", "auth logout", "auth switch", "login github.com --with-token"] {
      #expect(try home.coffer(line, in: Data("t".utf8)).status == 69)
    }
    #expect(try Home().coffer("auth status").status == 78)
  }

  @Test
  func `without --with-token the token is typed at a hidden prompt`() throws {
    let home = try Home.withVault()
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("auth login github.com", in: home)
    terminal.shows("Token for github.com: ")
    #expect(!terminal.echoes)
    terminal.type("typed\n")
    #expect(try child.wait() == 0)
    #expect(!terminal.shown.contains("typed"))
    try home.transcript("auth token", out: "typed")
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
