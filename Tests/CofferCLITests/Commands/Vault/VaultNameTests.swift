import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.process), .defaultRun)
struct VaultNameTests {
  @Test
  func `a name stands for a path wherever a vault is named, and a path is never a name`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "mine")
    let other = home.path + "/other.sqlite"
    try home.transcript("vault use work \(other) -q")
    try home.transcript("vault use", out: "work\t\(other)\n")
    try home.transcript("vault use --json", out: #"[{"name":"work","path":"\#(other)"}]"# + "\n")
    try home.transcript("--vault work init --new-key-file \(home.path)/otherkey -q")
    let key = ["COFFER_KEY_FILE": home.path + "/otherkey"]
    try home.transcript("--vault work vault set b", in: "theirs", with: key)
    try home.transcript("vault --vault=work get b", with: key, out: "theirs")
    try home.transcript("vault get b", with: key.merging(["COFFER_VAULT": "work"]) { $1 }, out: "theirs")
    // A path in this folder, which may be open to others.
    let folder = FileManager.default.currentDirectoryPath
    func expectPath(_ place: String) throws {
      let answer = try home.coffer("vault get b --vault \(place)", with: key)
      #expect(answer.out.isEmpty && [77, 78].contains(answer.status) && answer.err.contains("(\(folder)"), "\(answer)")
    }
    try expectPath("./work")
    try home.transcript("vault get a", out: "mine")
    try home.transcript("vault use work --remove")
    try expectPath("work")
    try home.transcript("vault use work --remove", err: "no vault has this name", exit: 1)
  }

  @Test
  func `a mistyped name is no file, and the names that there are are told`() throws {
    let home = try Home.withVault()
    try home.transcript("vault use work \(home.path)/work.sqlite -q")
    try home.transcript("set theme dark --plain")
    for line in [
      "vault list", "vault get a", "vault set a --generate", "vault log", "vault pin show", "backup b",
      "vault rotate --yes",
      "unlock", "lock", "get token", "set token --secret --generate", "run --env A=coffer://a -- true",
      "merge \(home.path)/x", "init --new-key-file \(home.path)/no", "restore \(home.path)/x",
    ] {
      try home.transcript(
        "--vault wrok \(line)",
        err: """
          coffer: 'wrok': there is no vault or file of this name (\(FileManager.default.currentDirectoryPath)/wrok)
            try: did you mean work? the names are work; coffer vault use wrok PATH names a vault

          """, exit: line.hasPrefix("run") ? 125 : 78)
    }
    try home.transcript(
      "vault list", with: ["COFFER_VAULT": "nope"], err: "the names are work; coffer vault use nope", exit: 78)
    try home.transcript("merge wokr", err: "did you mean work?", exit: 78)
    try home.transcript("vault list --vault \(home.path)/nope", err: "there is no vault", exit: 78)
    try home.transcript("get token --vault \(home.path)/nope", err: "there is no vault", exit: 78)
    // Commands without a vault work, and a new vault may be made anywhere.
    try home.transcript("get theme --vault wrok", out: "dark")
    try home.transcript("init --vault \(home.path)/new.sqlite --new-key-file \(home.path)/newkey -q")
    try home.transcript("init --vault work --new-key-file \(home.path)/workkey -q")
  }

  @Test(arguments: ["a/b", ".a", "", "a b", "a\u{202E}b", "a\u{200B}", "a\u{7}b", "a\u{2066}b"])
  func `what looks like a path is no name`(name: String) throws {
    try Home().transcript("vault use '\(name)' /tmp/x", err: "a vault's name has no slash", exit: 64)
  }

  @Test
  func `a name stays with its vault, unless another takes it with --replace, which is told`() throws {
    let home = try Home()
    try home.transcript("vault use work /tmp/one", err: "work is the vault at /tmp/one\n")
    try home.transcript("vault use work /tmp/one", err: "work is the vault at /tmp/one\n")
    try home.transcript(
      "vault use work /tmp/two",
      err: "coffer: 'work': another vault has the name (/tmp/one)\n  try: choose another name; --replace takes it", exit: 73)
    try home.transcript("vault use", out: "work\t/tmp/one\n")
    try home.transcript(
      "vault use --replace work /tmp/two", err: "work is the vault at /tmp/two, instead of the one at /tmp/one\n")
    try home.transcript("vault use", out: "work\t/tmp/two\n")
  }

  @Test
  func `an export and a backup are read where they are, and a backup is not written`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "1")
    try home.transcript("backup \(home.path)/backup -q")
    try home.transcript("export \(home.path)/export --new-key-file \(home.path)/exportkey -q")
    let key = ["COFFER_KEY_FILE": home.path + "/exportkey"]
    try home.transcript("--vault \(home.path)/export vault get a", with: key, out: "1", err: "for the first time")
    try home.transcript("--vault \(home.path)/backup vault get a", out: "1", err: "a copy of vault")
    try home.transcript("vault set a", in: "2")
    try home.transcript("--vault \(home.path)/backup vault get a", out: "1", err: "it is only read")
    try home.transcript("--vault \(home.path)/backup vault set a", in: "3", err: "coffer vault pin accept", exit: 74)
    chmod("\(home.path)", 0o755)
    try home.transcript("--vault \(home.path)/backup vault get a", out: "1", err: "it is only read")
    chmod("\(home.path)", 0o700)
    #expect(try home.coffer("--vault \(home.path)/backup vault pin accept").status == 0)
    try home.transcript("--vault \(home.path)/backup vault set a -q", in: "3")
    try home.transcript("vault get a", out: "2")
    try home.transcript("vault set a -q", in: "4")
  }
}
