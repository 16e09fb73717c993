import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@Suite(.tags(.process), .defaultRun)
struct BadFilesTests {
  private func refuses(
    _ home: Home, _ status: Int32, _ words: String, command: String = "vault get s",
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let before = try Self.contents(home)
    let answer = try home.coffer(command, in: Data("value".utf8))
    #expect(answer.status == status, "\(answer.err)", sourceLocation: location)
    #expect(answer.err.contains(words), "\(answer.err)", sourceLocation: location)
    #expect(answer.err.contains("\n  try: "), "\(answer.err)", sourceLocation: location)
    #expect(answer.out.isEmpty, sourceLocation: location)
    #expect(try Self.contents(home) == before, "nothing was changed", sourceLocation: location)
  }

  /// Every file of the home by path, except the runs' own.
  private static func contents(_ home: Home) throws -> [String: Data] {
    var contents: [String: Data] = [:]
    for file in try FileManager.default.subpathsOfDirectory(atPath: home.path) where !file.hasPrefix(".run") {
      if let content = FileManager.default.contents(atPath: "\(home.path)/\(file)") { contents[file] = content }
    }
    return contents
  }

  private func filled() throws -> Home {
    let home = try Home.withVault()
    try home.transcript("vault set s", in: "value")
    return home
  }

  @Test
  func `not a vault, an empty file, a truncated vault`() throws {
    let home = try filled()
    let vault = home.path + "/data/vault.sqlite"
    let sound = try Data(contentsOf: URL(fileURLWithPath: vault))
    _ = try home.file("data/vault.sqlite", String(repeating: "this is a letter, and no vault. ", count: 200))
    try refuses(home, 65, "is not an SQLite database")
    _ = try home.file("data/vault.sqlite", "")
    try refuses(home, 65, "the file is empty")
    for length in [50, 512, 4096, sound.count / 2, sound.count - 4096] {
      _ = try home.file("data/vault.sqlite", sound.prefix(length))
      let answer = try home.coffer("vault get s")
      #expect(answer.status == 65 || answer.status == 66, "\(length) bytes: \(answer.status) \(answer.err)")
    }
    // SQLite reads a missing end of the last page as zeros, so cut zeros are no loss.
    _ = try home.file("data/vault.sqlite", sound.dropLast())
    try home.transcript("vault get s", out: "value")
  }

  @Test
  func `no vault at all: 78; a newer version: 76; a wrong key: 77; nothing to unlock with: 69`() throws {
    let home = try filled()
    try Home().transcript("vault get s", err: "there is no vault", exit: 78)
    let key = try Home.withVault()
    home.environment["COFFER_KEY_FILE"] = key.path + "/key"
    try refuses(home, 77, "wrong key file")
    home.environment["COFFER_KEY_FILE"] = nil
    try refuses(home, 69, "nothing to unlock it with")
    let vault = home.path + "/data/vault.sqlite"
    var bytes = try Data(contentsOf: URL(fileURLWithPath: vault))
    bytes[63] = 9  // SQLite's user_version, which tells the format.
    try bytes.write(to: URL(fileURLWithPath: vault))
    chmod(vault, 0o600)
    try refuses(home, 76, "format 9")
  }

  @Test
  func `a file that others can read or write, a link, a file with two names`() throws {
    let home = try filled()
    let vault = home.path + "/data/vault.sqlite"
    for mode in [0o620, 0o604, 0o660] as [mode_t] {
      chmod(vault, mode)
      try refuses(home, 77, "chmod 600")
    }
    chmod(vault, 0o600)
    chmod(home.path + "/data", 0o770)
    try refuses(home, 77, "chmod 700", command: "vault set s")
    chmod(home.path + "/data", 0o700)
    try FileManager.default.moveItem(atPath: vault, toPath: home.path + "/data/elsewhere")
    try FileManager.default.createSymbolicLink(atPath: vault, withDestinationPath: home.path + "/data/elsewhere")
    try refuses(home, 77, "symbolic link")
    unlink(vault)
    link(home.path + "/data/elsewhere", vault)
    try refuses(home, 77, "has 2 names")
  }

  @Test
  func `init looks at a named vault's folder before it asks, and does not advise to close it`() throws {
    let home = try Home()
    let folder = home.path + "/open"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    chmod(folder, 0o755)
    let terminal = try PseudoTerminal((400, 24))
    let child = try terminal.coffer("init --vault \(folder)/team.sqlite", in: home)
    terminal.showsAll()
    #expect(try child.wait() == 77)
    let shown = terminal.shown
    #expect(shown.contains("choose a folder that only you can open: mkdir -m 700 ~/vaults"), "\(shown)")
    #expect(!shown.contains("assphrase"))
  }

  @Test(.tags(.root), arguments: ["/", "/usr", "/etc", "/usr/bin", "/var/lib"])
  func `nobody is told to close a folder of the system to others`(folder: String) throws {
    let home = try Home.withVault()
    let vault = FilePath(folder).appending("none.vault").string
    try refuses(home, 78, "there is no vault", command: "vault verify --vault \(vault)")
    try refuses(home, 77, "instead of a folder", command: "vault verify --vault \(home.path)/key/none.vault")
    guard geteuid() == 0 else { return }
    try refuses(
      home, 77, "choose a path in a folder of your own", command: "init --vault \(vault) --new-key-file \(home.path)/key")
    #expect(!FileManager.default.fileExists(atPath: vault))
  }

  @Test(.tags(.root))
  func `another user's vault is refused`() throws {
    guard geteuid() == 0 else { try Test.skip("only root can give a file to another user") }
    let home = try filled()
    chown(home.path + "/data/vault.sqlite", 65534, 65534)
    try refuses(home, 77, "belongs to user 65534")
  }

  /// root meets no permission faults, so as root the program runs as another user who owns the home.
  @Test
  func `an unreadable vault and an unreadable property list are refused to their own user`() throws {
    let home = try filled()
    _ = try home.file("config/d.plist", "<plist version=\"1.0\"><dict/></plist>")
    let other: uid_t = geteuid() == 0 ? 65534 : geteuid()
    for file in try FileManager.default.subpathsOfDirectory(atPath: home.path) { chown("\(home.path)/\(file)", other, other) }
    chown(home.path, other, other)
    guard try home.run(as: other, ["vault", "get", "s"]).status == 0 else {
      try Test.skip("another user cannot run the program here")
    }
    chmod(home.path + "/data/vault.sqlite", 0)
    let vault = try home.run(as: other, ["vault", "get", "s"])
    #expect(vault.status == 77 && vault.text.contains("  try: "), "\(vault)")
    chmod(home.path + "/config/d.plist", 0)
    let list = try home.run(as: other, ["defaults", "read", "d", "k"])
    #expect(list.status == 77 && list.text.contains("d.plist"), "\(list)")
    let write = try home.run(as: other, ["defaults", "write", "d", "k", "v"])
    #expect(write.status == 77, "\(write)")
  }

  @Test
  func `a planted journal is refused, and the file it names survives`() throws {
    let home = try filled()
    let bystander = try home.file("bystander", "precious")
    let magic = Data([0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7])
    var journal = magic + Data(repeating: 0, count: 504)
    let name = Data(bystander.utf8)
    let sum = name.reduce(UInt32(0)) { $0 &+ UInt32($1) }
    for number in [UInt32(1)] { withUnsafeBytes(of: number.bigEndian) { journal.append(contentsOf: $0) } }
    journal.append(name)
    for number in [UInt32(name.count), sum] { withUnsafeBytes(of: number.bigEndian) { journal.append(contentsOf: $0) } }
    journal.append(magic)
    _ = try home.file("data/vault.sqlite-journal", journal)
    try refuses(home, 66, "journal")
    #expect(try home.content("bystander") == "precious")
  }

  @Test
  func `a property list that does not parse is reported and kept`() throws {
    let home = try Home()
    _ = try home.file("config/com.example.app.plist", "<plist version=\"1.0\"><dict><key>theme</key><string>da")
    try refuses(home, 65, "com.example.app.plist", command: "defaults read com.example.app theme")
    try refuses(home, 65, "com.example.app.plist", command: "defaults write com.example.app theme light")
  }

  @Test(.tags(.root))
  func `a full disk is said, and what was there stays`() throws {
    let home = try Home()
    let disk = try home.smallDisk("256k")
    home.environment["COFFER_HOME"] = disk.path
    try home.transcript("init --quiet --new-key-file \(home.path)/key")
    home.environment["COFFER_KEY_FILE"] = home.path + "/key"
    try home.transcript("vault set s", in: "value")
    let big = Data(repeating: 65, count: 400_000)
    let answer = try home.coffer("vault set big", in: big)
    #expect(answer.status == 74 && answer.err.contains("space"), "\(answer.err)")
    try home.transcript("vault get s", out: "value")
    #expect(try home.coffer("vault verify").status == 0)
    try home.transcript("vault get big", err: "big", exit: 1)
  }
}
