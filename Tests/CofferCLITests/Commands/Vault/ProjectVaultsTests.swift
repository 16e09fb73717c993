import Coffer
import CofferTestSupport
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct ProjectVaultsTests {
  /// A home whose key file opens its own vault and those named team and prod, and a folder inside a project that names both.
  private func project(_ text: String = "# of the team\n\nteam \n\tprod\r\n") throws -> (home: Home, folder: String) {
    let home = try Home(), files = FileManager.default
    let secret = try NewKeyFile.write(to: home.path + "/key")
    home.environment["COFFER_KEY_FILE"] = home.path + "/key"
    var places = Places(home: FilePath(home.path))
    for name in ["", "team", "prod"] {
      if !name.isEmpty {
        try files.createDirectory(atPath: "\(home.path)/\(name)", withIntermediateDirectories: true)
        chmod("\(home.path)/\(name)", 0o700)
        places.vault = VaultPlace("\(home.path)/\(name)/vault.sqlite")
        try home.transcript("vault use \(name) \(home.path)/\(name)/vault.sqlite -q")
      }
      var credentials = Credentials()
      credentials.keyFile = try secret.duplicate()
      _ = try UnlockedVault.create(at: places.vault, with: credentials, label: name, options: places.vaultOptions)
    }
    try home.transcript("set my/own", in: "own")
    try home.transcript("--vault team set db/main", in: "of team")
    try home.transcript("--vault prod set db/main", in: "of prod")
    try home.transcript("--vault prod set db/prod", in: "only prod")
    try files.createDirectory(atPath: home.path + "/project/deep", withIntermediateDirectories: true)
    _ = try home.file("project/coffer.vaults", text)
    return (home, home.path + "/project/deep")
  }

  @Test func `get, run and inject take an item from the first vault that has it, the user's own last`() throws {
    let (home, folder) = try project()
    let members = try home.coffer("vault members --yes", at: folder)
    #expect(members.out == "team\tteam\tkey file\nprod\tprod\tkey file\n", "\(members.err)")
    let read = try home.coffer("vault members --json", at: folder).out
    #expect(read.wholeMatch(of: /\[\{"id":"\w{32}","label":"team","opens":"key file","vault":"team"\},\{.*"prod"\}\]\n/) != nil)
    for (name, value) in [("db/main", "of team"), ("db", "of team"), ("coffer://db/prod", "only prod"), ("my/own", "own")] {
      try home.transcript("get \(name)", at: folder, out: value)
    }
    try home.transcript(
      "run -e A=coffer://db/main -e B=coffer://db/prod -e C=coffer://my/own -- sh -c 'echo $A, $B, $C'", at: folder,
      out: "of team, only prod, own\n")
    try home.transcript("inject", in: "{{ coffer://db/prod }}", at: folder, out: "only prod")
    for line in ["get db/none", "get coffer://db/none"] {
      try home.transcript(line, at: folder, err: "no item with this name in team, prod or your own vault", exit: 1)
    }
    // The cures of an error are about the vault that has the item.
    try home.transcript("get db/prod --revision 9", at: folder, err: "coffer --vault prod history", exit: 1)
    try home.transcript("--vault team set coffer/key", in: "of a program")
    try home.transcript("get key", at: folder, out: "of a program")
    let own = try home.coffer("vault pin show").out.firstMatch(of: /id +(\w{32})/)
    let expected = ["COFFER_EXPECT_VAULT": String(try #require(own?.1))]
    try home.transcript("get db/main", at: folder, with: expected, err: "is expected", exit: 66)
    // A vault that the user names is the only one, and nothing is written elsewhere than without the file.
    try home.transcript("get db/main --vault prod", at: folder, out: "of prod")
    try home.transcript("get db/main", at: folder, with: ["COFFER_VAULT": "prod"], out: "of prod")
    try home.transcript("set db/main", in: "mine", at: folder)
    try home.transcript("get db/main", at: home.path, out: "mine")
    try home.transcript("get db/main", at: folder, out: "of team")
  }

  @Test func `a new or changed file is followed only after the user has agreed, once`() throws {
    let (home, folder) = try project()
    let refused = "you have not agreed to the vaults that this project reads: "
    try home.transcript("get db/main", at: folder, err: refused + "team, prod (\(home.path)/project/coffer.vaults)", exit: 77)
    try home.transcript("run -e A=coffer://my/own -- true", at: folder, err: refused, exit: 125)
    try home.transcript("get db/main --yes", at: folder, err: refused, exit: 77)
    let terminal = try PseudoTerminal()
    let child = try terminal.coffer("get db/main", in: home, at: folder)
    terminal.shows("In this folder coffer would read team, prod before your own vault")
    terminal.type("y\n")
    terminal.shows("of team")
    #expect(try child.wait() == 0)
    _ = try home.file("project/coffer.vaults", "team\nprod # by us\n")
    try home.transcript("get db/main", at: folder, err: "line 2: this is not the name of a vault", exit: 64)
    _ = try home.file("project/coffer.vaults", "# another comment\nteam\nprod\n")
    try home.transcript("get db/main", at: folder, out: "of team")
    _ = try home.file("project/coffer.vaults", "prod\nteam\n")
    try home.transcript("get db/main", at: folder, err: refused + "prod, team", exit: 77)
    let second = try PseudoTerminal()
    let denied = try second.coffer("get db/main", in: home, at: folder)
    second.shows("[y/N]")
    second.type("\n")
    #expect(try denied.wait() == 77)
    try home.transcript("get my/own", at: home.path, out: "own")
    // The nearest file counts, and consent can be withdrawn.
    _ = try home.file("project/deep/coffer.vaults", "prod\n")
    _ = try home.coffer("vault members --yes", at: folder)
    try home.transcript("get db/main", at: folder, out: "of prod")
    try home.transcript("defaults delete coffer.settings 'project.\(folder)/coffer.vaults'")
    try home.transcript("get db/main", at: folder, err: refused + "prod", exit: 77)
  }

  @Test func `at a terminal a person chooses once among a vault's items, and no part of a name is taken`() throws {
    let (home, folder) = try project()
    _ = try home.coffer("vault members --yes", at: folder)
    home.environment["TERM"] = "dumb"
    let terminal = try PseudoTerminal()
    try home.transcript("--vault prod set api/one", in: "first")
    try home.transcript("--vault prod set api/two", in: "second")
    let child = try terminal.coffer("get api", in: home, at: folder)
    terminal.shows("two")
    terminal.type("2\n")
    terminal.shows("second")
    #expect(try child.wait() == 0)
    let other = try PseudoTerminal()
    let guessing = try other.coffer("get own", in: home, at: folder)
    other.showsAll()
    #expect(try guessing.wait() == 1 && other.shown.contains("in team, prod or your own vault"), "\(other.shown)")
  }

  @Test func `a vault that cannot be read ends the search, and no later one answers for it`() throws {
    let (home, folder) = try project()
    _ = try home.coffer("vault members --yes", at: folder)
    try FileManager.default.moveItem(atPath: home.path + "/team", toPath: home.path + "/away")
    for line in ["get db/prod", "run -e A=coffer://my/own -- true"] {
      try home.transcript(line, at: folder, err: "there is no vault, but", exit: line.hasPrefix("run") ? 125 : 78)
    }
    try FileManager.default.moveItem(atPath: home.path + "/away", toPath: home.path + "/team")
    try FileManager.default.moveItem(atPath: home.path + "/data", toPath: home.path + "/away")
    try home.transcript("get db/prod", at: folder, out: "only prod")
    try home.transcript("get my/own", at: folder, err: "there is no vault, but", exit: 78)
    // Nobody expects a vault here.
    home.environment["COFFER_HOME"] = nil
    let other = try Home()
    for (name, place) in [("team", "team"), ("prod", "prod")] {
      try other.transcript("vault use \(name) \(home.path)/\(place)/vault.sqlite -q")
    }
    other.environment["COFFER_KEY_FILE"] = home.path + "/key"
    _ = try other.coffer("vault members --yes", at: folder)
    try other.transcript("get my/own", at: folder, err: "no item with this name in team, prod or your own vault", exit: 1)
  }

  private static let wrong: [(String, String, Int32)] = [
    ("team\n/tmp/vault.sqlite\n", "line 2: this is not the name of a vault", 64),
    ("postgresql://evil.example/x\n", "line 1: this is not the name", 64), ("team prod\n", "line 1: this is not the name", 64),
    ("mirror:x\n", "line 1: this is not the name", 64), ("team\nteam\n", "line 2: the vault 'team' is already named", 64),
    ("# none\n", "names no vault", 64),
    ("team\nunknown\n", "'unknown': this project reads a vault that has no name on this machine", 78),
    ((0...16).map { "v\($0)\n" }.joined(), "line 17: a project names at most 16 vaults", 64),
  ]

  @Test(arguments: wrong)
  func `a file with anything but named vaults is refused, even with --yes`(text: String, message: String, status: Int32) throws {
    let (home, folder) = try project(text)
    try home.transcript("vault members --yes", at: folder, err: message, exit: status)
    try home.transcript("get db/main --vault prod", at: folder, out: "of prod")
  }

  @Test func `a large file or a pipe is not read, and an option for one vault needs --vault`() throws {
    let (home, folder) = try project()
    for option in ["--passphrase-file x", "--key-file \(home.path)/key", "--min-generation 1"] {
      try home.transcript("get db/main \(option)", at: folder, err: "an option of the command is for one vault", exit: 64)
    }
    try home.transcript("get db/main --key-file \(home.path)/key --vault team", at: folder, out: "of team")
    _ = try home.file("project/coffer.vaults", String(repeating: "#", count: 16_385))
    try home.transcript("get db/main", at: folder, err: "the file is over 16384 bytes", exit: 64)
    unlink(home.path + "/project/coffer.vaults")
    symlink("nowhere", home.path + "/project/coffer.vaults")
    try home.transcript("get my/own", at: folder, err: "coffer.vaults is not a regular file", exit: 64)
    unlink(home.path + "/project/coffer.vaults")
    mkfifo(home.path + "/project/coffer.vaults", 0o600)
    try home.transcript("get db/main", at: folder, err: "coffer.vaults is not a regular file", exit: 64)
  }
}
