import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferTerminal

@Suite(.tags(.process), .defaultRun)
struct VaultCommandTests {
  @Test
  func `init makes a vault for its owner alone, once, and a key file that exists is left alone`() throws {
    let home = try Home()
    try home.transcript(
      "init --new-key-file \(home.path)/key", err: "coffer: note: created a vault at \(home.path)/data/vault.sqlite")
    #expect(home.mode("key") == 0o600 && home.mode("data") == 0o700 && home.mode("data/vault.sqlite") == 0o600)
    #expect(try home.content("key").wholeMatch(of: /PVKEY1-[0-9a-f]{72}\n/) != nil)
    try home.transcript("init --new-key-file \(home.path)/key2", err: "there is already a vault", exit: 73)
    #expect(!home.exists("key2"))

    let other = try Home()
    _ = try other.file("key", "precious")
    try other.transcript("init --new-key-file \(other.path)/key", err: "the file already exists", exit: 73)
    #expect(try other.content("key") == "precious" && !other.exists("data/vault.sqlite"))
  }

  @Test
  func `init says what stands in the vault's place, and leaves it`() throws {
    let home = try Home.withVault()
    let other = home.path + "/other.db"
    try home.transcript("backup --quiet \(other)")
    // The program that an SQLite file belongs to.
    var bytes = try Data(contentsOf: URL(fileURLWithPath: other))
    bytes[71] ^= 1
    try bytes.write(to: URL(fileURLWithPath: other))
    symlink(home.vault, home.path + "/link")
    for (place, status, what) in [
      (try home.file("empty"), 73, "the file is empty"), (other, 73, "another program's SQLite database"),
      (try home.file("open", "x", mode: 0o644), 73, "there is already a file"), (home.vault, 73, "there is already a vault"),
      (home.path + "/state", 77, "there is a folder instead of a file"),
      (home.path + "/link", 77, "the file is a symbolic link"),
    ] as [(String, Int32, String)] {
      try home.transcript("init --vault \(place) --new-key-file \(home.path)/k2", err: what, exit: status)
      #expect(!home.exists("k2"))
    }
    let link = try home.coffer("vault list --vault \(home.path)/link")
    #expect(link.status == 77 && link.err.contains("try: give the path of the file it points to"), "\(link.err)")
    try home.transcript("vault list --vault \(home.path)/state", err: "there is a folder instead of a file", exit: 77)
  }

  @Test
  func `a value goes in from input and comes out as exactly its bytes`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set github ada", in: "hunter2\n")
    try home.transcript("vault get github ada", out: "hunter2")
    try home.transcript("vault set github ada --exact", in: "hunter2\n")
    try home.transcript("vault get github ada", out: "hunter2\n")
    let binary = Data((0...255).map(UInt8.init) + [10])
    #expect(try home.coffer("vault set raw --exact", in: binary).status == 0)
    #expect(try home.coffer("vault get raw").bytes == binary)
    #expect(try home.coffer("vault get raw --json").out.contains("\"value\":{\"base64\":\"\(binary.base64EncodedString())\"}}"))
    try home.transcript("vault set f --file \(try home.file("value", "from a file\n"))")
    try home.transcript("vault get f", out: "from a file\n")
    let key = "-----BEGIN KEY-----\nAAAA\n-----END KEY-----\n"
    try home.transcript("vault set key", in: key)
    try home.transcript("vault get key", out: key)
    let descriptor = try home.coffer("vault set d --fd 7", descriptors: [7: try home.file("seven", "from seven")])
    #expect(descriptor.status == 0)
    try home.transcript("vault get d", out: "from seven")
    try home.transcript("vault set empty", err: "the value is empty", exit: 64)
    try home.transcript("vault set empty --exact")
    try home.transcript("vault get empty")
    try home.transcript("vault set x --fd 99", err: "descriptor 99 is not open", exit: 64)
  }

  @Test
  func `a terminal gets no character of a value that would command it, and no binary value`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set text", in: "a\u{1B}]0;title\u{7}\tb\u{202E}c\n\u{9B}2Jd")
    #expect(try home.coffer("vault set raw", in: Data([0x61, 0xFF])).status == 0)
    try home.transcript("set note --plain --type data", in: "e\u{1B}[31mf")
    func shown(_ words: String) throws -> (String, Int32) {
      let terminal = try PseudoTerminal()
      let child = try terminal.coffer(words, in: home)
      terminal.showsAll()
      return (terminal.shown, try child.wait())
    }
    #expect(try shown("vault get text") == ("a\\u{1b}]0;title\\u{7}\tb\\u{202e}c\r\n\\u{9b}2Jd\r\n", 0))
    #expect(try shown("get note") == ("e\\u{1b}[31mf\r\n", 0))
    let (text, status) = try shown("vault get raw")
    #expect(status == 64 && text.contains("The value is not text") && !text.contains("a\u{FFFD}"), "\(text)")
    try home.transcript("vault get text", out: "a\u{1B}]0;title\u{7}\tb\u{202E}c\n\u{9B}2Jd")
  }

  @Test
  func `a name that cannot be is refused before anything is asked for`() throws {
    let home = try Home()
    for command in ["get", "show", "delete"] {
      #expect(try home.coffer("vault \(command) ''").status == 64, "\(command)")
    }
  }

  @Test
  func `a write can be made to depend on the item's revision`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set token", in: "one")
    #expect(try home.coffer("vault show token --json").out.contains("\"revision\":1"))
    try home.transcript("vault set token --if-revision 1 --type text/plain", in: "two")
    #expect(try home.coffer("vault set token --if-revision 1", in: Data("three".utf8)).status == 75)
    try home.transcript("vault get token", out: "two")
    try home.transcript("vault get token --field type", out: "text/plain")
    #expect(try home.coffer("vault set token --if-revision 2 --create", in: Data("four".utf8)).status == 64)
  }

  @Test
  func `a value larger than the limit is refused, however much more there is`() throws {
    let home = try Home.withVault()
    for size in [1 << 20, 2 << 20] {
      let value = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) })
      #expect(try home.coffer("vault set big --exact", in: value).status == 0)
      #expect(try home.coffer("vault get big").bytes == value)
    }
    let answer = try home.coffer("vault set big --file /dev/zero")
    #expect(answer.status == 64 && answer.err.contains("larger than 2097152 bytes"))
  }

  @Test
  func `metadata is kept, shown and searched; the value only where it was asked for`() throws {
    let home = try Home.withVault()
    try home.transcript(
      "vault set github ada --label 'My GitHub' --attribute env=prod --attribute team=a=b --expires 30d", in: "hunter2")
    let shown = try home.coffer("vault show github")
    #expect(
      shown.out.contains("label     My GitHub\n") && shown.out.contains("team      a=b\n") && !shown.out.contains("hunter2"))
    #expect(try home.coffer("vault show github --reveal").out.hasSuffix("value     hunter2\n"))
    try home.transcript("vault get github --field env", out: "prod")
    try home.transcript("vault get github --field label --json", out: "{\"label\":\"My GitHub\"}\n")
    try home.transcript("vault get github --field nope", err: "no field of that name", exit: 1)
    #expect(try home.listed() == ["github/ada My GitHub"])
    #expect(try home.listed("vault find ADA") == ["github/ada My GitHub"])
    #expect(try home.listed("vault find env=prod hub") == ["github/ada My GitHub"])
    try home.transcript("vault find env=pro", err: "no item matches", exit: 1)
    let json = try home.coffer("vault list --json")
    let items = try #require(JSONSerialization.jsonObject(with: json.bytes) as? [[String: Any]])
    #expect(items.count == 1 && items[0]["service"] as? String == "github" && items[0]["bytes"] as? Int == 7)
    #expect(items[0]["value"] == nil && (items[0]["expires"] as? String)?.hasSuffix("Z") == true)
    try home.transcript("vault set github ada", in: "hunter3", err: "the new value does not expire")
    try home.transcript("vault set github ada --attribute env=test --attribute new=1 -q", in: "hunter4")
    for (name, value) in [("env", "test"), ("team", "a=b"), ("new", "1")] {
      try home.transcript("vault get github --attribute \(name)", out: value)
    }
    try home.transcript("vault get github --field label", out: "My GitHub")
  }

  @Test
  func `ACCOUNT may be left out where one item matches`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set github ada", in: "1")
    try home.transcript("vault get github", out: "1")
    try home.transcript("vault set github bob", in: "2")
    try home.transcript("vault set github", in: "3", err: "'github' is a new item beside 'github/ada'")
    try home.transcript("vault get github", err: "3 items match: '', ada, bob", exit: 2)
    try home.transcript("vault get github ''", out: "3")
    try home.transcript("vault delete github", err: "3 items match", exit: 2)
    try home.transcript("vault delete github bob")
    try home.transcript(
      "vault get github bob", err: "coffer: 'github/bob': no item with this name\n  try: coffer list", exit: 1)
  }

  @Test
  func `--create refuses to replace, and asks for no value first`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a --create", in: "1")
    try home.transcript("vault set a --create", in: "2", err: "the item already exists", exit: 73)
    try home.transcript("vault get a", out: "1")
  }

  @Test
  func `--generate makes a value that was never typed`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a --generate --length 20", err: "coffer: note: generated: 120.0 bits of entropy\n")
    try home.transcript("vault set b --generate -q")
    #expect(try home.coffer("vault get a").out.wholeMatch(of: /[A-Za-z0-9_-]{20}/) != nil)
    #expect(try home.coffer("vault get b").out.wholeMatch(of: /[A-Za-z0-9_-]{32}/) != nil)
  }

  @Test
  func `an expired item is there and not handed out`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a --expires 1s", in: "1")
    #expect(try eventually { try home.coffer("vault get a").status != 0 })
    try home.transcript("vault get a", err: "coffer edit a --expires never keeps this one", exit: 1)
    #expect(try home.coffer("vault show a").status == 0)
  }

  @Test
  func `status, verify and status --details need what they say`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "1")
    #expect(try home.coffer("vault verify").out == "The only record is intact.\n")
    #expect(try home.coffer("status --details").out.contains("items       1\n"))
    home.locked()
    #expect(try home.coffer("status").out.contains("opens with: key file"))
    let json = try JSONSerialization.jsonObject(with: home.coffer("status --json").bytes) as? [String: Any]
    #expect(((json?["vault"] as? [String: Any])?["slots"] as? [String]) == ["key file"])
    #expect(try home.coffer("status --details").status == 69)
  }

  @Test
  func `status --details and restore count the items that are listed`() throws {
    let home = try Home.withVault()
    try home.transcript("login git.example --with-token -q", in: "tok")
    #expect(try home.coffer("status --details").out.contains("items       1\n"))
    try home.transcript("backup -q \(home.path)/backup")
    #expect(try home.coffer("restore \(home.path)/backup").out.hasPrefix("restored 1 item of"))
  }

  @Test
  func `status --details says that a vault is read only for who asks, and then compares the pin and leaves it`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "1")
    #expect(try home.coffer("status --details").out.contains("pin         up to date\n"))
    let other: uid_t = geteuid() == 0 ? 65534 : geteuid()
    let files = try FileManager.default.subpathsOfDirectory(atPath: home.path).map { "\(home.path)/\($0)" } + [home.path]
    for file in files { chown(file, other, other) }
    let folder = home.path + "/data"
    let vault = try FileManager.default.contentsOfDirectory(atPath: folder).map { "\(folder)/\($0)" }
    for file in vault { chmod(file, 0o400) }
    chmod(folder, 0o500)
    defer { chmod(folder, 0o700) }
    let status = try home.run(as: other, ["status", "--details"])
    guard status.status != 126, status.status != 127 else { try Test.skip("another user cannot run the program here") }
    #expect(status.status == 0, "\(status)")
    #expect(
      status.text.contains("pin         compared, not updated: the vault is read-only here\n"), "\(status.text)")
    #expect(status.text.contains("items       1\n"))
    let json = try home.run(as: other, ["status", "--details", "--json"])
    #expect(json.text.contains(#""pin":"unchanged""#), "\(json.text)")
    let write = try home.run(as: other, ["vault", "delete", "a"])
    #expect(write.status == 74, "\(write)")
  }

  @Test(arguments: [
    "vault get a", "vault list", "vault set a", "vault show a", "vault delete a", "vault verify", "status --details",
    "vault find x",
  ])
  func `without a vault every command that needs one exits with 78`(command: String) throws {
    let home = try Home()
    let answer = try home.coffer(command, in: Data("x".utf8))
    #expect(answer.status == 78 && answer.err.contains("\n  try: "))
  }

  @Test
  func `a reader that goes away ends the command quietly with 141, a full disk loudly with 74`() throws {
    let home = try Home.withVault()
    try home.transcript("vault set a", in: "hunter2")
    let closed = try home.shell("{ '\(Home.coffer)' vault get a; echo $? >\(home.path)/status; } | true")
    #expect(closed.isEmpty)
    #expect(try home.content("status") == "141\n")
    let full = try home.shell("'\(Home.coffer)' vault get a >/dev/full; echo $?")
    #expect(full.contains("No space left on device") && full.hasSuffix("74\n"))
  }
}

extension Home {
  func shell(_ script: String) throws -> String {
    let process = Process()
    let pipe = Foundation.Pipe()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", script]
    process.environment = environment
    process.standardOutput = pipe
    process.standardError = pipe
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: output, as: UTF8.self)
  }
}
