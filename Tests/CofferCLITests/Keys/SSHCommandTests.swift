import CofferAgent
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

/// Source: OpenSSH's ssh-keygen and ssh-add.
@Suite(.tags(.process), .defaultRun)
struct SSHCommandTests {
  private func home() throws -> Home {
    let home = try Home.withVault()
    home.environment["HOME"] = home.path
    return home
  }

  private func keygen(_ home: Home, _ words: [String]) throws -> String {
    guard let answer = try home.program(["ssh-keygen"] + words) else { try Test.skip(without: "ssh-keygen") }
    try #require(answer.status == 0, "\(answer.err)")
    return answer.out
  }

  /// The public line of a new key of ssh-keygen's, without its comment.
  @discardableResult
  private func key(_ home: Home, _ name: String, type: String = "ed25519", passphrase: String = "") throws -> String {
    try FileManager.default.createDirectory(atPath: home.path + "/.ssh", withIntermediateDirectories: true)
    _ = try keygen(home, ["-q", "-t", type, "-N", passphrase, "-C", "", "-f", "\(home.path)/.ssh/\(name)"])
    return try home.content(".ssh/\(name).pub").trimmingCharacters(in: .whitespacesAndNewlines)
  }

  private func knownHosts(_ home: Home, _ lines: [String]) throws {
    _ = try home.file(".ssh/known_hosts", lines.map { $0 + "\n" }.joined())
  }

  @Test(arguments: [
    ("git@GitHub.com", ["github.com"]), ("github.com", ["github.com"]),
    ("dev.example.com>git@github.com", ["dev.example.com", "github.com"]),
    ("sign:git", []), ("age", []), ("ca", []), ("other", []), ("a@", [""]), ("", [""]),
  ])
  func `the hosts of a rule`(rule: String, hosts: [String]) { #expect(KnownHosts.hosts(of: rule) == hosts) }

  @Test
  func `a host without a known key is refused, with the ways to get one`() throws {
    let home = try home()
    try knownHosts(home, ["@revoked github.com \(key(home, "host"))"])
    for host in ["github.com", "other.example"] {
      try home.transcript(
        "ssh new a --for git@\(host)", err: "known_hosts has no key of \(host)\n  try: connect once (ssh \(host)), or check",
        exit: 65)
    }
  }

  @Test
  func `more than forty host keys are refused`() throws {
    let home = try home()
    let line = try key(home, "host")
    let words = line.split(separator: " ")
    let blob = try #require(Data(base64Encoded: String(words[1])))
    try knownHosts(
      home,
      (0..<41).map { number in
        var blob = blob
        blob[blob.count - 1] = UInt8(number)
        return "github.com ssh-ed25519 \(blob.base64EncodedString())"
      })
    try home.transcript("ssh new a --for github.com", err: "the hosts have 41 keys, and one key knows at most 40", exit: 64)
  }

  @Test(arguments: [
    ("ssh new", 64), ("ssh new a --ask sometimes", 64), ("ssh add /nowhere", 1), ("ssh edit a", 64), ("ssh allow --time 1h", 64),
    ("ssh allow a --time 13h", 64), ("ssh new coffer.auth", 64), ("vault log --uses --no-agent", 64),
    ("ssh edit a --ask never", 1), ("ssh new a --for ''", 64), ("ssh new a --for a@", 64), ("ssh new a --for sign:", 64),
    ("ssh new a --for sign:git,sign:file", 64), ("ssh new a --for 'sign:safe\nother'", 64), ("ssh add /nowhere --for ''", 64),
    ("ssh edit a --for '' --for sign:git", 64), ("ssh new a --for git", 65), ("ssh add /nowhere.pub", 64),
    ("helper age new a --ask forwarded", 64), ("ssh ls", 64),
  ])
  func `a wrong command line changes nothing`(line: String, status: Int32) throws {
    let home = try home()
    #expect(try home.coffer(line).status == status, "\(line)")
    #expect(try home.listed().isEmpty)
  }

  @Test
  func `without a secret the vault stays locked`() throws {
    let home = try home()
    home.locked()
    for line in ["ssh new a", "ssh list", "ssh allow", "ssh allow a", "vault log --uses", "get a --reveal"] {
      #expect(try home.coffer(line).status == 69, "\(line)")
    }
    try home.transcript("get a --reveal", err: "try: the same at a terminal, or with --passphrase-file", exit: 69)
  }

  @Test
  func `a new key is listed with its uses, and is not read without its own secret`() throws {
    let home = try home()
    let host = try key(home, "host"), authority = try key(home, "ca")
    try knownHosts(
      home, ["github.com,192.0.2.1 \(host)", "@cert-authority *.github.com,github.com \(authority)", "other \(host)"])
    _ = try keygen(home, ["-q", "-H", "-f", "\(home.path)/.ssh/known_hosts"])
    let made = try home.coffer("ssh new github --for git@github.com --for sign:git")
    #expect(made.status == 0 && made.out.hasPrefix("ssh-ed25519 AAAA") && made.out.hasSuffix(" github\n"), "\(made.err)")
    #expect(made.err == "for git@github.com (2 host keys of known_hosts), sign:git\n")
    let file = try home.file("key.pub", made.out)
    let fingerprint = try keygen(home, ["-l", "-f", file]).split(separator: " ")[1]
    let listed = try home.coffer("ssh list --json")
    let rows = try #require(JSONSerialization.jsonObject(with: listed.bytes) as? [[String: Any]])
    #expect(rows.count == 1 && rows[0]["fingerprint"] as? String == String(fingerprint), "\(listed.out)")
    #expect(rows[0]["hosts"] as? [String] == ["github.com \(host)", "@cert-authority github.com \(authority)"])
    let line = made.out.dropLast()
    try home.transcript("ssh list", out: "github\t\(line)\tgit@github.com sign:git\tforwarded\n")
    for words in ["get github", "get github --no-agent", "get github --json"] {
      try home.transcript(words, err: "coffer get github --reveal", exit: 77)
    }
    let value = try home.coffer("get github --reveal")
    #expect(value.status == 0 && value.out.hasPrefix("-----BEGIN OPENSSH PRIVATE KEY-----\n"), "\(value.err)")
    let secret = try home.file("secret", value.out)
    #expect(try keygen(home, ["-y", "-f", secret]).split(separator: " ").prefix(2) == line.split(separator: " ").prefix(2))
    try home.transcript("ssh new github", err: "already", exit: 73)
  }

  @Test
  func `the rules of a key change with a secret of the vault`() throws {
    let home = try home()
    #expect(try home.coffer("ssh new a").err == "for any login and signature\n")
    try home.transcript("ssh edit a --for sign:git --ask always", err: "for sign:git; asks: always\n")
    #expect(try home.coffer("ssh list").out.hasSuffix("\tsign:git\talways\n"))
    try home.transcript("ssh edit a --for ''", err: "for any login and signature; asks: always\n")
    #expect(try home.coffer("ssh list").out.hasSuffix("\tany\talways\n"))
    #expect(try home.coffer("helper age new c").status == 0)
    #expect(try home.coffer("ssh list").out.hasSuffix("\tage\tnever\n"))
    for rule in ["--for sign:git", "--hosts", "--ask forwarded"] {
      try home.transcript("ssh edit c \(rule)", err: "this identity decrypts files", exit: 64)
    }
    try home.transcript("vault set b", in: "1")
    try home.transcript("ssh edit b --ask never", err: "this item is no key", exit: 77)
    home.locked()
    #expect(try home.coffer("ssh edit a --ask never").status == 69)
  }

  @Test
  func `edit --hosts takes a server's new key from known_hosts`() throws {
    let home = try home()
    for name in ["former", "new"] {
      let host = try key(home, name)
      try knownHosts(home, ["near \(host)"])
      #expect(try home.coffer(name == "new" ? "ssh edit a --hosts" : "ssh new a --for near").status == 0)
      let rows = try JSONSerialization.jsonObject(with: home.coffer("ssh list --json").bytes) as? [[String: Any]]
      #expect(rows?.first?["hosts"] as? [String] == ["near \(host)"])
    }
    try home.transcript("ssh edit a --hosts", err: "nothing was changed")
  }

  @Test
  func `a change over a key names the command that makes it`() throws {
    let home = try home()
    #expect(try home.coffer("ssh new a").status == 0)
    let cure = "\n  try: the same command with --no-agent"
    try home.transcript("vault set a", in: "1", err: cure, exit: 77)
    try home.transcript("edit a --label x", err: cure, exit: 77)
    #expect(try home.coffer("delete a").status == 0)
    try home.transcript("undelete a", err: cure, exit: 77)
    #expect(try home.coffer("undelete a --no-agent").status == 0)
  }

  @Test
  func `status reports reads without rows in a log that somebody changed, and the log of uses says which rows are gone`() throws {
    let home = try home()
    #expect(try home.coffer("ssh new a").status == 0)
    try home.transcript("vault set b", in: "1")
    try home.transcript("get b", out: "1")
    #expect(try !home.coffer("status").out.contains("uses"))
    #expect(try home.coffer("lock").status == 0)
    let folder = home.path + "/state/uses/"
    let rows = try #require(FileManager.default.subpathsOfDirectory(atPath: folder).first { $0.hasSuffix("/0000000001") })
    _ = try home.file("state/uses/\(rows)", "rows of somebody else")
    #expect(try home.coffer("unlock").status == 0)
    try home.transcript("get b", out: "1")
    #expect(try home.coffer("status").out.contains("\nuses     1 reads have no row in the log of uses: "))
    let status = try JSONSerialization.jsonObject(with: home.coffer("status --json").bytes) as? [String: Any]
    #expect(status?["uses"] as? String != nil)
    #expect(try home.coffer("lock").status == 0)
    try FileManager.default.removeItem(atPath: folder + rows.prefix { $0 != "/" })
    #expect(try home.coffer("unlock").status == 0)
    for words in ["", " --json"] { #expect(try home.coffer("vault log --uses" + words).err.contains(" are gone")) }
    #expect(try home.coffer("vault log --uses --limit 1").err.isEmpty)
  }

  @Test(arguments: ["ed25519", "ecdsa", "rsa"])
  func `ssh-add reads a file with a passphrase, and its certificate comes along`(type: String) throws {
    let home = try home()
    let line = try key(home, "id", type: type, passphrase: "hunter2-hunter2")
    try key(home, "ca")
    let path = "\(home.path)/.ssh/"
    _ = try keygen(home, ["-q", "-s", path + "ca", "-I", "ada", "-n", "ada", "-V", "+1d", path + "id.pub"])
    guard try home.program(["ssh-add", "-h", "x"]) != nil else { try Test.skip(without: "ssh-add") }
    let asked = try home.file("askpass", "#!/bin/sh\necho hunter2-hunter2\n", mode: 0o700)
    let variables = ["SSH_ASKPASS": asked, "SSH_ASKPASS_REQUIRE": "force"]
    let added = try home.coffer("ssh add \(path)id --name work", with: variables)
    #expect(added.status == 0 && added.out.hasPrefix(line), "\(added.err)")
    let certificate = try home.coffer("get work --field certificate")
    #expect(
      try certificate.out.split(separator: " ").prefix(2) == home.content(".ssh/id-cert.pub").split(separator: " ").prefix(2))
    let shown = try home.coffer("show work --field certificate --json").out
    #expect(shown.contains("\"expires\":\"20"), "\(shown)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: home.path + "/run").allSatisfy { !$0.hasPrefix("coffer-edit") })
  }

  @Test
  func `a file that ssh-add does not read is reported, and nothing is stored`() throws {
    let home = try home()
    guard try home.program(["ssh-add", "-h", "x"]) != nil else { try Test.skip(without: "ssh-add") }
    let file = try home.file("id", "not a key\n")
    try home.transcript("ssh add \(file)", err: "no key was read", exit: 65)
    #expect(try home.listed().isEmpty)
  }

  @Test
  func `the end of a certificate is that of ssh-keygen`() throws {
    let home = try home()
    try key(home, "ca")
    for (type, end, expected) in [
      ("ed25519", "20300101000000Z", 1_893_456_000.0), ("rsa", "forever", nil), ("ecdsa", "20300101000000Z", 1_893_456_000),
    ] {
      try key(home, type, type: type)
      let path = "\(home.path)/.ssh/"
      _ = try keygen(home, ["-q", "-s", path + "ca", "-I", "ada", "-V", "20200101000000Z:\(end)", path + "\(type).pub"])
      let text = try home.content(".ssh/\(type)-cert.pub")
      let blob = try #require(Data(base64Encoded: String(text.split(separator: " ")[1])))
      let (line, expires) = try PublicHalf.certificate(Array(blob), comment: "")
      #expect(
        expires?.timeIntervalSince1970 == expected && text.hasPrefix(line), "\(type)")
      for count in [0, 1, 40, blob.count / 4] {
        #expect(throws: (any Error).self) { try PublicHalf.certificate(Array(blob.prefix(count)), comment: "") }
      }
    }
  }

  @Test
  func `nobody asks, and nothing was used`() throws {
    let home = try home()
    #expect(try home.coffer("unlock").status == 0)
    try home.transcript("ssh allow", err: "there is no open question")
    try home.transcript("vault log --uses")
    try home.transcript("vault log --uses --json", out: "[]\n")
  }
}
