import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct VaultPlaceCommandTests {
  @Test
  func `--vault and COFFER_VAULT name the vault of every command, and the option is the stronger`() throws {
    let (home, other) = (try Home.withVault(), try Home.withVault())
    try other.transcript("vault set a", in: "theirs")
    let key = "--key-file \(other.path)/key"
    try home.transcript("vault get a --vault \(other.vault) \(key)", out: "theirs", err: "for the first time")
    try home.transcript("--vault \(other.vault) vault get a \(key)", out: "theirs")
    try home.transcript("--vault=\(other.vault) --quiet get a --domain x \(key)", err: "nothing is stored", exit: 1)
    try home.transcript("vault get a \(key)", with: ["COFFER_VAULT": other.vault], out: "theirs")
    try home.transcript("vault get a --vault \(other.vault) \(key)", with: ["COFFER_VAULT": home.vault], out: "theirs")
    try home.transcript("vault get a", err: "no item with this name", exit: 1)
    // Set but empty, as shells leave it, it counts as unset.
    try home.transcript("vault list", with: ["COFFER_VAULT": ""])
    try home.transcript("vault list --vault ''", err: "the place of the vault is empty", exit: 64)
    #expect(try home.coffer("status --paths --vault \(other.vault)").out.contains("vault     \(other.vault)\n"))
    #expect(try home.coffer("status --json --vault \(other.vault)").out.contains(try other.vaultID()))
    #expect(try home.coffer("doctor --json --vault \(home.path)/data/none").out.contains("there is no vault yet"))
    try home.transcript("tour --vault \(other.vault)", err: "the tour creates its own vault", exit: 64)
  }

  @Test
  func `a vault is made, backed up and restored at a place of its own, which may be relative`() throws {
    let home = try Home()
    let place = home.path + "/elsewhere/v.sqlite"
    home.environment["COFFER_VAULT"] = place
    home.environment["COFFER_KEY_FILE"] = home.path + "/key"
    try home.transcript("init --quiet --new-key-file \(home.path)/key")
    try home.transcript("set token --domain coffer", in: "tok")
    try home.transcript("get token --quiet", out: "tok")
    try home.transcript("backup --quiet \(home.path)/copy")
    try home.transcript("vault set x", in: "1")
    #expect(try home.coffer("restore \(home.path)/copy").status == 0)
    #expect(try home.listed() == ["coffer/token"])
    #expect(home.exists("elsewhere/v.sqlite") && !home.exists("data"))
    let there = try #require(
      try home.program(["sh", "-c", "cd \(home.path)/elsewhere && \(Home.coffer) vault get coffer token --vault v.sqlite"]))
    #expect(there.out == "tok" && there.status == 0, "\(there)")
  }

  @Test
  func `the vault's folder may be a link of this user's, and doctor has nothing against it`() throws {
    let home = try Home.sound()
    try FileManager.default.moveItem(atPath: home.path + "/data", toPath: home.path + "/dots")
    try FileManager.default.createSymbolicLink(atPath: home.path + "/data", withDestinationPath: "dots")
    try home.transcript("vault get a", out: "1", err: "knows at another place; it is only read")
    try home.transcript("vault set a", in: "2", err: "if it was moved here", exit: 74)
    #expect(try home.coffer("vault pin accept --yes").status == 0)
    try home.transcript("vault set a", in: "2")
    #expect(try home.coffer("doctor").out.hasPrefix("ok       places\n"))
    // Others could put another link there.
    chmod(home.path, 0o777)
    #expect(try home.coffer("vault set a", in: Data("3".utf8)).status == 77)
    chmod(home.path, 0o700)
  }

  @Test
  func `a place on a server of another kind is refused, and no more of it than its scheme is repeated`() throws {
    let home = try Home.withVault()
    let place = "mysql://ada:hunter2@db.example.com/team#main"
    for line in ["vault list", "vault set a --generate", "backup \(home.path)/copy", "init", "vault join \(place)"] {
      let words = line.hasPrefix("vault join") ? line : "\(line) --vault \(place)"
      let answer = try home.coffer(words)
      #expect(answer.status == 77 && answer.err.contains("opens no vaults on servers of this kind (mysql://…)"), "\(answer.err)")
      #expect(!answer.err.contains("hunter2") && !answer.err.contains("example"))
    }
    try home.transcript("vault list --vault \(place) --json", err: #""kind":"unsupported""#, exit: 77)
    try home.transcript("vault list", with: ["COFFER_VAULT": "etcd://x"], err: "(etcd://…)", exit: 77)
    // Text that is no URL is a path.
    try home.transcript("vault list --vault ./postgresql://x", err: "there is no vault", exit: 78)
    try home.transcript("vault list --vault \(home.path)/http:", err: "there is no vault", exit: 78)
  }

  @Test(arguments: [
    "vault list", "list", "get a", "set a b --plain", "status", "status --paths", "doctor", "generate", "status --agent",
    "init", "lock",
  ])
  func `a place in COFFER_VAULT that cannot be one is one error for every command`(line: String) throws {
    let home = try Home.withVault()
    for (place, status, what) in [
      ("etcd://x", 77, "opens no vaults on servers of this kind (etcd://…)"), ("mirror:", 64, "a mirror is a file"),
      ("~/v", 64, "did not expand the ~"), ("postgresql://a:b@h/d#n", 64, "a password does not belong in a vault's place"),
    ] as [(String, Int32, String)] {
      try home.transcript(line, with: ["COFFER_VAULT": place], err: what, exit: status)
    }
  }

  @Test
  func `a vault named as a mirror is said to be a vault, and a folder a folder`() throws {
    let home = try Home.withVault()
    try home.transcript("vault list --vault mirror:\(home.vault)", err: "this is a vault, and no mirror", exit: 77)
    try home.transcript("vault list --vault mirror:/tmp", err: "there is a folder instead of a file (/tmp)", exit: 77)
    try home.transcript(
      "vault list --vault mirror:\(home.path)/no", err: "coffer vault mirror FILE --vault URL creates", exit: 78)
  }

  @Test
  func `an agent serves each place that it was unlocked at, by whatever name`() throws {
    let (home, other) = (try Home.withVault(), try Home.withVault())
    defer { _ = try? home.coffer("agent stop") }
    try other.transcript("vault set a", in: "theirs")
    home.environment["COFFER_KEY_FILE"] = nil
    let key = "--key-file \(other.path)/key"
    try home.transcript("unlock --quiet --vault \(other.vault) \(key)")
    let status = try home.coffer("status --agent --json --vault \(other.vault)").out
    #expect(status.contains(other.vault.replacing("/", with: "\\/")) || status.contains(other.vault), "\(status)")
    try home.transcript("vault get a --vault \(other.vault)", out: "theirs")
    let there = try #require(
      try home.program(["sh", "-c", "cd \(other.path)/data && \(Home.coffer) vault get a --vault vault.sqlite"]))
    #expect(there.out == "theirs" && there.status == 0, "\(there)")
    try home.transcript("vault list", err: "nothing to unlock it with", exit: 69)
    try home.transcript("unlock --quiet --key-file \(home.path)/key")
    try home.transcript("vault list")
    try home.transcript("vault get a --vault \(other.vault)", out: "theirs")
    #expect(try !home.coffer("doctor --json").out.contains("another vault"))
    #expect(
      try home.coffer("agent install --print --vault \(other.vault)").out.contains("Environment=COFFER_VAULT=\(other.vault)\n"))
  }
}
