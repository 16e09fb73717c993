import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.process), .defaultRun)
struct RouterRulesTests {
  @Test(arguments: [
    ("--type bool true", "off", "false"), ("--type int 7", "-8", "-8"), ("--type float 0.5", "-1e3", "-1000.0"),
    ("x", "-5", "-5"), ("--type date 2026-12-31", "2027-01-02T03:04:05+01:00", "2027-01-02T02:04:05Z"),
    ("--type json '[1]'", "'{\"a\":-1}'", "{\"a\":-1}"),
  ])
  func `a new value has the stored one's type, whatever it looks like`(first: String, second: String, answer: String) throws {
    let home = try Home()
    try home.transcript("set key \(first) --plain")
    let type = try home.coffer("defaults read-type coffer key").out
    try home.transcript("set key \(second)")
    try home.transcript("get key", out: answer)
    if !first.contains("json") { try home.transcript("defaults read-type coffer key", out: type) }
  }

  @Test
  func `bytes stay bytes: hexadecimal as an argument, as they are from standard input`() throws {
    let home = try Home()
    try home.transcript("set key 00ff --plain --type data")
    try home.transcript("set key 0A")
    try home.transcript("get key", out: "\n")
    try home.transcript("set key", in: "text", err: "readable in")
    try home.transcript("defaults read coffer key", out: "<74657874>\n")
  }

  @Test
  func `a value that does not fit the stored type changes nothing, and a type flag changes the type`() throws {
    let home = try Home()
    try home.transcript("set key 7 --plain --type int")
    let before = try home.content("config/coffer.plist")
    try home.transcript("set key seven", err: "the value is not an int", exit: 64)
    #expect(try home.content("config/coffer.plist") == before)
    try home.transcript("set key seven --type string")
    try home.transcript("get key", out: "seven")
  }

  @Test
  func `a secret leaves no trace in the plain store, not even a folder`() throws {
    let home = try Home.withVault()
    try home.transcript("set token --domain coffer", in: "tok")
    try home.transcript("get token", out: "tok")
    #expect(try home.listed("list --domain coffer") == ["token"])
    try home.transcript("delete token")
    #expect(!home.exists("config"))
  }

  @Test
  func `preferences need no vault: locked, they are set, told, explained, listed and deleted`() throws {
    let home = try Home.withVault()
    try home.transcript("set token --domain coffer", in: "tok")
    home.locked()
    try home.transcript("set theme dark --plain")
    try home.transcript("set theme light")
    try home.transcript("get theme", out: "light")
    try home.transcript(
      "show theme", out: "theme: domain string (\(home.path)/config/coffer.plist)\n",
      err: "could not check whether the vault holds it too: the vault is locked")
    try home.transcript("list", out: "theme\tdefaults\t\t\t\n", err: "nothing to unlock it with", exit: 69)
    try home.transcript("delete theme")
    try home.transcript("list", err: "nothing to unlock it with", exit: 69)
    let other = try Home.withVault()
    home.environment["COFFER_KEY_FILE"] = other.path + "/key"
    try home.transcript("set theme dark --plain", err: "could not check whether the vault holds it too: wrong key file")
    home.environment["COFFER_KEY_FILE"] = home.path + "/key"
    try home.transcript("set token new --plain", err: "a secret in the vault has this name", exit: 77)
    try home.transcript("set token new", err: "was given as an argument", exit: 64)
  }

  @Test
  func `a new name with a value and without --plain is refused before anybody is asked for a passphrase`() throws {
    let home = try Home()
    _ = try home.file("pass", "correct horse\n")
    try home.transcript("init --quiet --new-passphrase-file \(home.path)/pass")
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("set theme dark", in: home)
    #expect(try child.wait() == 64)
    terminal.shows("is new, and a value on the command line is not secret")
    #expect(!terminal.shown.contains("Passphrase"))
  }

  @Test
  func `the domain of coffer's own settings has no keys of the router`() throws {
    let home = try Home.withVault()
    for line in ["set a b --plain", "get a", "list", "delete a", "show a"] {
      try home.transcript("\(line) --domain coffer.settings", err: "holds the settings of coffer itself", exit: 64)
    }
  }

  @Test
  func `--secret leaves no old value of the key behind, in whichever file of the property list`() throws {
    let home = try Home.withVault()
    let long = String(repeating: "wombat-", count: 20_000)
    try home.transcript("set token --plain", in: long)
    for word in ["quokka-one", "platypus-two-and-longer", "emu-3"] { try home.transcript("set token \(word)") }
    try home.transcript("set other stays --plain")
    let all = try Self.bytes(home)
    #expect(["quokka", "platypus", "emu-3"].contains { all.range(of: Data($0.utf8)) != nil }, "there is something to scrub")
    try home.transcript("set token --secret", err: "old backups of")
    for word in ["wombat-", "quokka", "platypus", "emu-3"] {
      #expect(try Self.bytes(home).range(of: Data(word.utf8)) == nil, "\(word)")
    }
    try home.transcript("get token", out: "emu-3")
    try home.transcript("get other", out: "stays")
  }

  @Test
  func `--secret scrubs a nested value in a binary property list as well`() throws {
    let home = try Home.withVault()
    let list = ["token": ["inner": ["numbat-deep"]], "other": 1] as [String: Any]
    let data = try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
    _ = try home.file("config/coffer.plist", data)
    try home.transcript("set token --secret --quiet")
    try home.transcript("get token", out: #"{"inner":["numbat-deep"]}"#)
    #expect(try Self.bytes(home).range(of: Data("numbat".utf8)) == nil)
    try home.transcript("defaults read coffer --json", out: "{\"other\":1}\n")
  }

  @Test
  func `--secret without a vault, or with a locked one, moves nothing`() throws {
    let home = try Home()
    try home.transcript("set token tok --plain")
    let before = try Self.bytes(home)
    try home.transcript("set token --secret", err: "there is no vault", exit: 78)
    #expect(try Self.bytes(home) == before)
    let locked = try Home.withVault()
    try locked.transcript("set token tok --plain")
    locked.locked()
    try locked.transcript("set token --secret", err: "nothing to unlock it with", exit: 69)
    try locked.transcript("get token", out: "tok")
  }

  @Test
  func `a key in both stores: looking at both is 65, in JSON too; settling it either way ends that`() throws {
    let home = try Home.withVault()
    try home.transcript("set token --domain coffer", in: "tok")
    try home.transcript("defaults write coffer token plain")
    let place = home.path
    let explained = try home.coffer("show token --json")
    #expect(
      explained.out == #"{"domain":"coffer","key":"token","sources":[{"layer":"domain","place":"\#(place)/config/coffer.plist","#
        + #""type":"string"},{"layer":"vault","place":"\#(place)/data/vault.sqlite","type":"secret"}]}"# + "\n")
    #expect(explained.status == 65 && explained.err.contains(#""kind":"damaged""#))
    let listed = try home.coffer("list --domain coffer --json")
    #expect(listed.out == #"[{"key":"token","store":"defaults"},{"key":"token","store":"vault"}]"# + "\n" && listed.status == 65)
    try home.transcript("vault delete coffer token")
    try home.transcript("list --domain coffer", out: "token\tdefaults\t\t\t\n")
    try home.transcript("get token", out: "plain")
  }

  @Test
  func `delete takes a key from the store it is in, and from no other`() throws {
    let home = try Home.withVault()
    try home.transcript("set theme dark --plain")
    try home.transcript("set token --domain coffer", in: "tok")
    try home.transcript("delete theme")
    try home.transcript("list --domain coffer", out: "token\tvault\t\t\t\n")
    try home.transcript("delete theme", err: "no item with this name", exit: 1)
    try home.transcript("delete theme --domain coffer", err: "nothing is stored in domain 'coffer'", exit: 1)
    home.locked()
    try home.transcript("delete token", err: "nothing to unlock it with", exit: 69)
  }

  @Test
  func `a domain of one command is not another's, by option or by variable`() throws {
    let home = try Home.withVault()
    try home.transcript("set theme dark --plain --domain one")
    try home.transcript("set token --domain one", in: "tok")
    try home.transcript("list --domain coffer")
    try home.transcript("list", with: ["COFFER_DOMAIN": "one"], out: "theme\tdefaults\t\t\t\ntoken\tvault\t\t\t\n")
    try home.transcript("list --domain two", with: ["COFFER_DOMAIN": "one"])
    try home.transcript("get theme --domain ../one", err: "the domain name contains a slash", exit: 64)
  }

  /// Every byte under the home, except the runs' own and the key.
  private static func bytes(_ home: Home) throws -> Data {
    try FileManager.default.subpathsOfDirectory(atPath: home.path).sorted().filter { !$0.hasPrefix(".run") && $0 != "key" }
      .reduce(into: Data()) { $0 += FileManager.default.contents(atPath: "\(home.path)/\($1)") ?? Data() }
  }
}
