import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct RouterCommandTests {
  @Test
  func `a new key says which store, and from then on the store is found`() throws {
    let home = try Home.withVault()
    try home.transcript(
      "set theme dark", err: "nothing says whether it is a secret\n  try: --secret for the vault, --plain", exit: 64)
    try home.transcript("set theme dark --plain")
    try home.transcript("set token --secret", in: "tok\n")
    try home.transcript("get theme", out: "dark")
    try home.transcript("get token", out: "tok")
    try home.transcript(
      "get token --json", out: #"{"domain":"coffer","key":"token","store":"vault","type":"","value":"tok"}"# + "\n")
    try home.transcript("set token", in: "new")
    try home.transcript("get token", out: "new")
    try home.transcript("vault get coffer token", out: "new")
    try home.transcript("list", out: "theme  defaults\ntoken  vault\n")
    try home.transcript("list --plain --json", out: #"[{"key":"theme","store":"defaults"}]"# + "\n")
    try home.transcript("delete token")
    try home.transcript("get token", err: "nothing is stored in domain 'coffer'", exit: 1)
    try home.transcript("delete token", err: "coffer: 'token': nothing is stored", exit: 1)
  }

  @Test
  func `a secret's new value is never an argument, even where the command does not say that it is a secret`() throws {
    let home = try Home.withVault()
    try home.transcript("set token --secret", in: "tok")
    let answer = try home.coffer("set token hunter2")
    #expect(answer.status == 64 && answer.err.contains("a secret is never one") && !answer.err.contains("hunter2"))
    try home.transcript("get token", out: "tok")
  }

  @Test
  func `a key in the property list touches no vault`() throws {
    let home = try Home.withVault()
    try home.transcript("set theme dark --plain")
    home.locked()
    try home.transcript("get theme", out: "dark")
    try home.transcript("set theme light")
    try home.transcript("set theme light --plain")
    try home.transcript("list --plain", out: "theme  defaults\n")
    try home.transcript("explain theme --quiet", out: try home.coffer("explain theme --quiet").out)
    try home.transcript("get other", err: "there is nothing to unlock it with", exit: 69)
    try home.transcript("list", out: "theme  defaults\n", err: "there is nothing to unlock it with", exit: 69)
    try home.transcript("delete theme")
  }

  @Test
  func `--plain for a secret is refused: sensitivity only rises`() throws {
    let home = try Home.withVault()
    try home.transcript("set token --secret", in: "tok")
    try home.transcript("set token x --plain", err: "the key is a secret in the vault and stays one", exit: 77)
    #expect(!home.exists("config/coffer.plist"))
  }

  @Test
  func `--secret moves a preference into the vault and leaves nothing behind`() throws {
    let home = try Home.withVault()
    try home.transcript("set token hunter2 --plain")
    try home.transcript("set number 42 --plain --int")
    #expect(try home.content("config/coffer.plist").contains("hunter2"))
    try home.transcript("set token --secret --quiet")
    try home.transcript("get token", out: "hunter2")
    try home.transcript("list", out: "number  defaults\ntoken   vault\n")
    for file in try FileManager.default.subpathsOfDirectory(atPath: home.path + "/config") {
      let bytes = FileManager.default.contents(atPath: "\(home.path)/config/\(file)") ?? Data()
      #expect(bytes.range(of: Data("hunter2".utf8)) == nil, "\(file)")
    }
    try home.transcript("set number --secret --stdin --quiet", in: "43")
    try home.transcript("get number", out: "43")
    try home.transcript("list --plain")
  }

  @Test
  func `a key in both stores is reported, and explain says how to settle it`() throws {
    let home = try Home.withVault()
    try home.transcript("set token --secret", in: "tok")
    try home.transcript("defaults write coffer token x")
    try home.transcript(
      "list", out: "token  defaults\ntoken  vault\n", err: "both in the property list and in the vault", exit: 65)
    try home.transcript("set token --secret", err: "both in the property list and in the vault", exit: 65)
    let explained = try home.coffer("explain token")
    #expect(explained.status == 65)
    #expect(explained.err.contains("'coffer defaults delete coffer token' keeps the secret"))
    try home.transcript("defaults delete coffer token")
    try home.transcript("get token", out: "tok")
    let settled = try home.coffer("explain token")
    #expect(settled.status == 0 && settled.out.contains("account 'token': a secret") && !settled.out.contains("tok\n"))
  }

  @Test
  func `without any vault, preferences work and a secret has nowhere to go`() throws {
    let home = try Home()
    try home.transcript("set theme dark --plain")
    try home.transcript("get other", err: "nothing is stored", exit: 1)
    try home.transcript("set token --secret", in: "x", err: "there is no vault", exit: 78)
    try home.transcript("set other x", err: "nothing says whether it is a secret", exit: 64)
    try home.transcript("list", out: "theme  defaults\n")
  }

  @Test
  func `who asks for a key that is the service of an item is sent to the vault`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set github.com ada", in: "1")
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("get github.com", in: home)
    terminal.shows("try: the vault has items of a service of that name: coffer vault get github.com")
    #expect(try child.wait() == 1)
    try home.transcript("get github.com", err: "coffer set github.com stores it", exit: 1)
  }
}
