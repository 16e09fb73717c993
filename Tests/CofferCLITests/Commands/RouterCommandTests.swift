import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct RouterCommandTests {
  @Test
  func `a value on the command line is a preference, and a new one says --plain; without a value it is a secret`() throws {
    let home = try Home.withVault()
    try home.transcript(
      "set theme dark", err: "is new, and a value on the command line is not secret\n  try: --plain to store", exit: 64)
    try home.transcript("set theme dark --plain")
    try home.transcript("set theme light")
    try home.transcript("set github.com/ada", in: "tok\n")
    try home.transcript("get theme", out: "light")
    for line in ["get github.com/ada", "get github.com ada", "get github.com", "get coffer://github.com/ada"] {
      try home.transcript(line, out: "tok")
    }
    #expect(try home.listed("list") == ["github.com/ada", "theme"])
    try home.transcript("list --plain --json", out: #"[{"key":"theme","store":"defaults"}]"# + "\n")
    try home.transcript("delete github.com/ada")
    try home.transcript("get github.com/ada", err: "no item with this name", exit: 1)
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("delete theme", in: home)
    terminal.shows("Delete the preference theme? It cannot be restored. [y/N] ")
    terminal.type("n\n")
    terminal.showsAll()
    #expect(try child.wait() == 64)
    try home.transcript("delete theme")
    try home.transcript("delete theme", err: "coffer: 'theme': no item", exit: 1)
  }

  @Test
  func `with --domain a name is exactly a key of that domain, in either store`() throws {
    let home = try Home.withVault()
    try home.transcript("set token --domain app", in: "tok")
    try home.transcript("set size 3 --plain --type int --domain app")
    try home.transcript("get token --domain app", out: "tok")
    try home.transcript("get token", with: ["COFFER_DOMAIN": "app"], out: "tok")
    try home.transcript(
      "get token --domain app --json", out: #"{"domain":"app","key":"token","store":"vault","type":"","value":"tok"}"# + "\n")
    try home.transcript("vault get app token", out: "tok")
    #expect(try home.listed("list --domain app") == ["size", "token"])
    try home.transcript("get token", err: "no item with this name", exit: 1)
    try home.transcript("get app/token --domain app", err: "nothing is stored in domain 'app'", exit: 1)
    try home.transcript("get app token --domain app", err: "a key of a domain is one word", exit: 64)
    try home.transcript("delete token --domain app")
    try home.transcript("get token --domain app", err: "nothing is stored in domain 'app'", exit: 1)
  }

  @Test
  func `a secret's new value is never an argument, even where the command does not say that it is a secret`() throws {
    let home = try Home.withVault()
    try home.transcript("set token", in: "tok")
    try home.transcript("set token --domain coffer", in: "key")
    for line in ["set token hunter2", "set token hunter2 --domain coffer", "set token hunter2 --secret"] {
      let answer = try home.coffer(line)
      #expect(answer.status == 64 && answer.err.contains("a secret is never one") && !answer.err.contains("hunter2"))
    }
    try home.transcript("vault get token", out: "tok")
  }

  @Test
  func `a key in the property list touches no vault`() throws {
    let home = try Home.withVault()
    try home.transcript("set theme dark --plain")
    home.locked()
    try home.transcript("get theme", out: "dark")
    try home.transcript("set theme light")
    try home.transcript("set theme light --plain")
    #expect(try home.listed("list --plain") == ["theme"])
    try home.transcript("show theme --quiet", out: try home.coffer("show theme --quiet").out)
    try home.transcript("get other", err: "there is nothing to unlock it with", exit: 69)
    let listed = try home.coffer("list")
    #expect(listed.status == 69 && listed.out.hasPrefix("theme\tdefaults\t"), "\(listed)")
    try home.transcript("delete theme")
  }

  @Test
  func `--plain for a secret is refused: sensitivity only rises`() throws {
    let home = try Home.withVault()
    try home.transcript("set token", in: "tok")
    try home.transcript("set token x --plain", err: "a secret in the vault has this name", exit: 77)
    #expect(!home.exists("config/coffer.plist"))
  }

  @Test
  func `--secret moves a preference into the vault and leaves nothing behind`() throws {
    let home = try Home.withVault()
    try home.transcript("set token hunter2 --plain")
    try home.transcript("set number 42 --plain --type int")
    #expect(try home.content("config/coffer.plist").contains("hunter2"))
    try home.transcript("set token --secret --quiet")
    try home.transcript("get token", out: "hunter2")
    #expect(try home.listed("list --domain coffer") == ["number", "token"])
    for file in try FileManager.default.subpathsOfDirectory(atPath: home.path + "/config") {
      let bytes = FileManager.default.contents(atPath: "\(home.path)/config/\(file)") ?? Data()
      #expect(bytes.range(of: Data("hunter2".utf8)) == nil, "\(file)")
    }
    try home.transcript("set number --secret --stdin --quiet", in: "43")
    try home.transcript("get number", out: "43")
    try home.transcript("list --plain")
    try home.transcript("rename number count")
    try home.transcript("get count --domain coffer", out: "43")
  }

  @Test
  func `a name that is a key of the domain and an item is ambiguous, and exact forms are not`() throws {
    let home = try Home.withVault()
    try home.transcript("set token --domain coffer", in: "key")
    try home.transcript("vault set token ada", in: "item")
    for line in ["get token", "show token", "delete token", "get token --json"] {
      let answer = try home.coffer(line)
      #expect(answer.status == 2 && answer.err.contains("2 items match: coffer/token, token/ada"), "\(answer)")
    }
    try home.transcript("get token --domain coffer", out: "key")
    try home.transcript("get token/ada", out: "item")
    try home.transcript("get --service token --account ada", out: "item")
    try home.transcript("get --service token", err: "no item with this name", exit: 1)
  }

  @Test
  func `a key in both stores is reported, and show says how to settle it`() throws {
    let home = try Home.withVault()
    try home.transcript("set token --domain coffer", in: "tok")
    try home.transcript("defaults write coffer token x")
    let listed = try home.coffer("list --domain coffer")
    #expect(listed.status == 65 && listed.err.contains("both in the property list and in the vault"))
    for line in ["set token --secret", "set token y", "set token", "delete token"] {
      try home.transcript(line, in: "y", err: "both in the property list and in the vault", exit: 65)
    }
    let shown = try home.coffer("show token")
    #expect(shown.status == 65)
    #expect(shown.err.contains("'coffer defaults delete coffer token' keeps the secret"))
    #expect(shown.out.contains("coffer/token: a secret") && !shown.out.contains("tok\n"))
    try home.transcript("delete --service coffer --account token")
    try home.transcript("get token", out: "x")
  }

  @Test
  func `a key of one store does not get a name that the other store has`() throws {
    let home = try Home.withVault()
    try home.transcript("set token --domain app", in: "tok")
    try home.transcript("set theme light --domain app --plain")
    for verb in ["rename", "copy"] {
      try home.transcript("\(verb) token theme --domain app --replace", err: "a preference has this name", exit: 73)
      try home.transcript("\(verb) theme token --domain app --replace", err: "a secret in the vault has this name", exit: 77)
    }
    #expect(try home.listed("list --domain app") == ["theme", "token"])
  }

  @Test
  func `a secret for a name that an item and a preference have is stored in neither`() throws {
    let home = try Home.withVault()
    try home.transcript("set --service apikey", in: "item")
    try home.transcript("defaults write coffer apikey old")
    try home.transcript("set apikey", in: "hush", err: "--plain for the preference, coffer set --service apikey", exit: 2)
    try home.transcript("get --service apikey", out: "item")
    #expect(try home.coffer("show apikey").err.contains("an item of the vault has this name too"))
    try home.transcript("set apikey --plain", in: "new")
    try home.transcript("get apikey", out: "new")
  }

  @Test
  func `without any vault, preferences work and a secret has nowhere to go`() throws {
    let home = try Home()
    try home.transcript("set theme dark --plain")
    try home.transcript("get other", err: "there is no vault either: coffer init creates one", exit: 1)
    try home.transcript("vault get other", err: "there is no vault", exit: 78)
    try home.transcript("set token", in: "x", err: "there is no vault", exit: 78)
    try home.transcript("set other x", err: "is new, and a value on the command line is not secret", exit: 64)
    #expect(try home.listed("list") == ["theme"])
  }
}
