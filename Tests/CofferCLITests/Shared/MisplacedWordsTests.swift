import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct MisplacedWordsTests {
  @Test
  func `the place of a server is refused where a file belongs, and its password is not repeated`() throws {
    let home = try Home.withVault()
    for command in ["mirror", "backup", "restore"] {
      let answer = try home.coffer("vault \(command) postgresql://ada:hush@host/db#team")
      #expect(answer.status == 64 && answer.err.contains("a file belongs there, and postgresql://… is a place on a server"))
      #expect(!answer.err.contains("hush"), "\(answer.err)")
    }
    #expect(!home.exists("postgresql:"))
  }

  @Test
  func `joining takes a vault's name, and says which there are where there is none of it`() throws {
    let (home, _) = try Home.withIdentity()
    _ = try home.coffer("vault name add work \(home.path)/nowhere.sqlite")
    try home.transcript("vault join wrok", err: "the names are work", exit: 78)
    try home.transcript("vault join work", err: "nowhere.sqlite", exit: 78)
  }

  @Test(arguments: ["--vault", "--home", "--key-file"])
  func `the word behind an option is not the command that run starts`(option: String) {
    #expect(
      RunCommand.separated(["run", option, "place", "printenv", "A"], from: 1) == ["run", option, "place", "--", "printenv", "A"])
    #expect(
      RunCommand.separated(["run", option, "place", "--", "printenv"], from: 1) == ["run", option, "place", "--", "printenv"])
  }

  @Test(arguments: ["--vault x vault put web", "--vault x --quiet vault slots", "--home x frobnicate", "--json frobnicate"])
  func `a word that is no command is what is refused, and not the options before it`(line: String) throws {
    let answer = try Home().coffer(line)
    #expect(answer.status == 64 && !answer.err.contains("unknown option"), "\(answer.err)")
    #expect(["put", "slots", "frobnicate", "no such command"].contains { answer.err.contains($0) }, "\(answer.err)")
  }

  @Test
  func `doctor opens the vault with what an option names, and not with what the environment does`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "1")
    try FileManager.default.copyItem(atPath: home.path + "/key", toPath: home.path + "/right")
    chmod(home.path + "/right", 0o600)
    let other = try Home.withVault()
    home.environment["COFFER_KEY_FILE"] = other.path + "/key"
    #expect(try home.coffer("doctor").out.contains("problem  content: wrong key file"))
    #expect(try home.coffer("doctor --key-file \(home.path)/right").out.contains("ok       content\n"))
    home.environment["COFFER_KEY_FILE"] = nil
    #expect(try home.coffer("doctor --key-file \(other.path)/key").out.contains("problem  content: wrong key file"))
  }
}
