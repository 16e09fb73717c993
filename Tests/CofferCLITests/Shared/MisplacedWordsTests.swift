import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite(.tags(.process), .defaultRun)
struct MisplacedWordsTests {
  @Test
  func `the place of a server is refused where a file belongs, and its password is not repeated`() throws {
    let home = try Home.withVault()
    for command in ["vault mirror", "backup", "restore"] {
      let answer = try home.coffer("\(command) postgresql://ada:hush@host/db#team")
      #expect(answer.status == 64 && answer.err.contains("a file is needed, and postgresql://… is a place on a server"))
      #expect(!answer.err.contains("hush"), "\(answer.err)")
    }
    #expect(!home.exists("postgresql:"))
  }

  @Test(arguments: [
    "vault list --key-file URL", "vault list --passphrase-file URL", "vault list --recovery-file URL",
    "vault list --identity URL", "import URL", "inject -i URL", "inject -o URL", "defaults import app URL",
    "vault list --home URL", "URL", "get URL", "vault get URL", "vault get URL --json", "vault list --vault URL", "help URL",
    "vault slot remove URL", "run --env-file URL -- true", "vault identity URL --new", "generate --words URL",
  ])
  func `no error repeats the password of a URL that stands where it does not belong`(line: String) throws {
    let home = try Home.withVault()
    for url in ["postgresql://ann:hu:s/h@x@db.example/x", "postgresql:ann:hu:sh@x@db.example", "redis://:hu:s/h@x@db.example"] {
      let answer = try home.coffer(line.replacing("URL", with: url))
      #expect(answer.status != 0 && !answer.err.isEmpty, "\(url)")
      #expect(!(answer.out + answer.err).contains("hu:s"), "\(url): \(answer.out) \(answer.err)")
    }
  }

  @Test
  func `variables and doctor do not repeat such a password either`() throws {
    let home = try Home.withVault()
    let url = "postgresql://ann:hush@db.example/x"
    for name in ["COFFER_HOME", "COFFER_VAULT", "COFFER_KEY_FILE", "COFFER_PASSPHRASE_FILE", "COFFER_IDENTITY"] {
      for line in ["vault list", "doctor", "get a"] {
        let answer = try home.coffer(line, with: [name: url])
        #expect(answer.status != 0 && !(answer.out + answer.err).contains("hush"), "\(name): \(answer.out) \(answer.err)")
      }
    }
    try home.transcript("vault list --home \(url)", err: "a folder is needed, and postgresql://… is a place on a", exit: 64)
  }

  @Test(arguments: [
    ("postgresql://ann:pw@h/d", "postgresql://ann:…@h/d"), ("(/a/postgresql:/ann:p/w@h/d)", "(/a/postgresql:/ann:…@h/d)"),
    ("x 'mirror:postgresql://ann:p@w@h' y", "x 'mirror:postgresql:…@h' y"), ("/a:b/p:/ann:pw@h", "/a:b/p:/ann:…@h"),
    ("postgresql://ann@h:5432/d", ""), ("git@h.example:ada/r", ""), ("https://h:8443/x and ada@h", ""),
    ("r:5000/i:t@sha256:0", ""),
    ("a:b", ""), ("@", ""), ("mirror:/home/ada@h/x", ""),
  ])
  func `a password is found in a URL, and in what one has become, and nowhere else`(text: String, hidden: String) {
    #expect(Printable.withoutPasswords(text) == (hidden.isEmpty ? text : hidden))
  }

  @Test(arguments: [
    "backup DIR/", "export DIR/", "init --vault DIR/", "inject -i DIR/x -o DIR/", "vault identity DIR/ --new",
    "vault slot add --new-key-file DIR/", "vault mirror DIR/",
  ])
  func `a path that ends with a slash names a folder, and no file is made of its name`(line: String) throws {
    let home = try Home.withVault()
    let words = line.replacing("DIR/x", with: try home.file("x", "y")).replacing("DIR", with: home.path + "/sub")
    try home.transcript(words, err: "a file is needed, and \(home.path)/sub/ names a folder", exit: 64)
    #expect(!home.exists("sub"))
  }

  @Test(arguments: ["~/v", "mirror:~/v"])
  func `a home that no shell expanded is said to be one`(place: String) throws {
    let cure = "try: \(place.replacing("~", with: "$HOME"))\n"
    let answer = try Home.withVault().coffer("vault list --vault \(place)")
    #expect(answer.status == 64 && answer.err.contains("did not expand the ~"), "\(answer.err)")
    #expect(answer.err.contains(cure), "\(answer.err)")
  }

  @Test
  func `joining takes a vault's name, and says which there are where there is none of it`() throws {
    let (home, _) = try Home.withIdentity()
    _ = try home.coffer("vault use work \(home.path)/nowhere.sqlite")
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
