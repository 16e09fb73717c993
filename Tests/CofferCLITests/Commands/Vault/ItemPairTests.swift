import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.process), .defaultRun)
struct ItemPairTests {
  @Test(arguments: ["a b c d", "a/b c/d", "a b --to-service c --to-account d"])
  func `the other name of an item is two more words, a word with a slash, or options`(words: String) throws {
    let home = try Home.withVault()
    try home.transcript("vault set a b", in: "tok")
    try home.transcript("vault copy \(words)")
    try home.transcript("vault get c d", out: "tok")
    try home.transcript("vault delete c d")
    try home.transcript("vault mv \(words)")
    try home.transcript("vault get c d", out: "tok")
    #expect(try home.coffer("vault get a b").status == 1)
  }

  @Test func `copy with one name says how to copy to the clipboard`() throws {
    try Home().transcript("copy a", err: "coffer get NAME -c copies it to the clipboard", exit: 64)
  }

  @Test
  func `a word that is a service with a slash in it becomes another service, and a reference is a name`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set https://a.example/x ada", in: "tok")
    try home.transcript("vault mv https://a.example/x https://b.example/x")
    try home.transcript("vault get https://b.example/x ada", out: "tok")
    try home.transcript("vault mv https://b.example/x/ada web/mail/bob")
    try home.transcript("vault get web/mail bob", out: "tok")
    try home.transcript("vault cp coffer://web%2Fmail/bob coffer://c/d")
    try home.transcript("vault get c d", out: "tok")
    try home.transcript("vault mv c e")
    try home.transcript("vault get e d", out: "tok")
  }

  @Test(arguments: [
    ("a b c", "give both names as SERVICE/ACCOUNT"), ("a b c d --to-service e", "not both"), ("a", "give the new name"),
  ])
  func `half a name, or two, is refused`(words: String, error: String) throws {
    let home = try Home.withVault()
    try home.transcript("vault set a b", in: "tok")
    try home.transcript("vault rename \(words)", err: error, exit: 64)
    try home.transcript("vault get a b", out: "tok")
  }

  /// Two homes, and the options that put an item of the first into the second's vault.
  private static func homes() throws -> (here: Home, there: Home, to: String) {
    let (here, there) = (try Home.withVault(), try Home.withVault())
    return (here, there, "--to-vault \(there.vault) --other-key-file \(there.path)/key -q")
  }

  @Test
  func `an item is copied to another vault with all that it has, and moved there`() throws {
    let (here, there, to) = try Self.homes()
    try here.transcript(
      "set web/ann --label L --attribute k=v --type text/plain --expires 2999-01-01 --no-history -q", in: "tok")
    try here.transcript("set web/ann --field pin", in: "1")
    try here.transcript("copy web/ann \(to)")
    let shown = try [here, there].map { home in
      try home.coffer("show web/ann --json").out.replacing(/"id":"[^"]*"/, with: "")
    }
    #expect(shown[0] == shown[1] && shown[0].contains(#""history":0"#))
    try here.transcript("copy web/ann \(to)", err: "choose another name, or use --replace", exit: 73)
    try here.transcript("rename web/ann old/eve \(to)")
    #expect(try here.listed().isEmpty && there.listed() == ["old/eve L", "web/ann L"])
    try there.transcript("get old/eve", out: "tok")
    try there.transcript("get old/eve --field pin", out: "1")
    try here.transcript("undelete web/ann")
    try here.transcript("set web/ann", in: "new", err: "does not expire")
    try here.transcript("rename web/ann \(to) --replace")
    try there.transcript("get web/ann", out: "new")
    try there.transcript("vault verify", out: "All 5 records are intact.\n")
  }

  @Test
  func `a folder goes to another vault as a whole or not at all, after a question at a terminal`() throws {
    let (here, there, to) = try Self.homes()
    for name in ["work/a", "work/aws/root", "workshop/y"] { try here.transcript("set \(name)", in: name) }
    try there.transcript("set work/aws/root", in: "theirs")
    try here.transcript("rename work/ \(to)", err: "or use --replace", exit: 73)
    #expect(try here.listed().count == 3 && there.listed() == ["work/aws/root"])
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("rename work/ \(to) --replace", in: here)
    terminal.shows("Move 2 items below work/ to the vault \(there.vault)?")
    terminal.type("n\n")
    terminal.showsAll()
    #expect(try child.wait() == 77)
    try here.transcript("rename work/ \(to) --replace")
    try here.transcript("copy workshop/ team/ \(to)")
    #expect(try here.listed() == ["workshop/y"] && there.listed() == ["team/y", "work/a", "work/aws/root"])
    try there.transcript("get work/aws/root", out: "work/aws/root")
  }

  @Test
  func `what is no item, no other vault or does not open is refused, and both vaults stay as they were`() throws {
    let (here, there, to) = try Self.homes()
    try here.transcript("set a", in: "tok")
    try here.transcript("set theme dark --plain")
    try here.transcript("login git.example --account ada --with-token -q", in: "token")
    let lists = try [here, there].map { try $0.listed() }
    for (words, error, status) in [
      ("a --to-vault \(here.vault)", "the vault that the item is in", 64), ("theme \(to)", "is a preference", 64),
      ("git.example/ada \(to)", "logins and session values stay in their vault", 77),
      ("a git.example/ada --replace", "a login is not replaced", 77),
      ("a b --other-key-file k", "needs --to-vault", 64), ("a --to-vault nothing", "no vault or file of this name", 78),
      ("a --to-vault \(there.vault) --other-key-file \(here.path)/key", "wrong key file", 77),
      ("a --to-vault mirror:\(there.vault) --other-key-file \(there.path)/key", "a mirror can only be read", 74),
    ] {
      let answer = try here.coffer("rename \(words)")
      #expect(answer.status == Int32(status) && answer.err.contains(error), "\(words): \(answer)")
    }
    here.locked()
    try here.transcript(
      "copy a --to-vault \(there.vault) --key-file \(here.path)/key", err: "one of --other-passphrase-file", exit: 69)
    here.environment["COFFER_KEY_FILE"] = here.path + "/key"
    #expect(try [here, there].map { try $0.listed() } == lists)
  }

  @Test(arguments: ["copy a b --replace", "copy a b --replace TO", "rename a b --replace TO"])
  func `a replaced item leaves no field beside the new value`(line: String) throws {
    let (here, there, to) = try Self.homes()
    try here.transcript("set a", in: "new")
    try here.transcript("set a --field pin", in: "new pin")
    let target = line.hasSuffix("TO") ? there : here
    for words in ["b", "b --field pin", "b --field seed"] { try target.transcript("set \(words)", in: "old") }
    try here.transcript(line.replacing("TO", with: to))
    try target.transcript("get b --field pin", out: "new pin")
    try target.transcript("get b --field seed", err: "seed", exit: 1)
    try target.transcript("undelete b --field seed")
    try target.transcript("get b --field seed", out: "old")
    #expect(try target.coffer("vault verify").status == 0)
  }

  @Test(arguments: ["pin", "new"])
  func `an item whose field is written while it moves stays`(field: String) throws {
    let (here, there) = (try Home.withVault(), try Home.withPassphrase("correct horse").home)
    here.locked()
    let key = "--key-file \(here.path)/key"
    try here.transcript("set a \(key)", in: "tok")
    try here.transcript("set a --field pin \(key)", in: "1")
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("rename a --to-vault \(there.vault) \(key)", in: here)
    terminal.shows("assphrase")
    try here.transcript("set a --field \(field) \(key)", in: "2")
    terminal.type("correct horse\n")
    terminal.showsAll()
    #expect(try child.wait() != 0)
    try here.transcript("get a \(key)", out: "tok")
    try here.transcript("get a --field \(field) \(key)", out: "2")
  }

  @Test func `an item does not replace a login of another vault`() throws {
    let (here, there, to) = try Self.homes()
    try here.transcript("set git.example/ada", in: "tok")
    try there.transcript("login git.example --account ada --with-token -q", in: "token")
    try here.transcript("rename git.example/ada \(to) --replace", err: "such as a login, is not replaced", exit: 77)
    try there.transcript("token", out: "token")
    try here.transcript("get git.example/ada", out: "tok")
  }

  @Test
  func `COFFER_EXPECT_VAULT does not concern the vault of --to-vault`() throws {
    let (here, there, to) = try Self.homes()
    try here.transcript("set a", in: "tok")
    try here.transcript("copy a \(to)", with: ["COFFER_EXPECT_VAULT": try here.vaultID()])
    try there.transcript("get a", out: "tok")
  }

  @Test
  func `a vault that the agent holds is written by it, and by its name`() throws {
    let (here, there, _) = try Self.homes()
    try here.transcript("set a --history 3", in: "tok")
    try here.transcript("vault use -q team \(there.vault)")
    try here.transcript("--vault team unlock -q --key-file \(there.path)/key")
    defer { _ = try? here.coffer("agent stop") }
    try here.transcript("rename a --to-vault team -q")
    try there.transcript("get a", out: "tok")
    #expect(try here.listed().isEmpty && there.coffer("show a --json").out.contains(#""history":3"#))
  }
}
