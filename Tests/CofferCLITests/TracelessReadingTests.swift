import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.process), .defaultRun)
struct TracelessReadingTests {
  static let commands = [
    "defaults read", "defaults read app", "defaults read app theme", "defaults read-type app theme", "defaults domains",
    "defaults find dark", "defaults export app -", "show theme --domain app", "defaults read --json", "get theme --domain app",
    "list --domain app", "show theme --domain app --json", "status", "get other --domain app", "defaults read nobody",
  ]

  private static func listing(_ folder: String) throws -> [String: Data] {
    var found: [String: Data] = [:]
    for file in try FileManager.default.subpathsOfDirectory(atPath: folder) {
      let path = "\(folder)/\(file)"
      let facts = try FileManager.default.attributesOfItem(atPath: path)
      // The modification time reveals a name made and removed again.
      found["\(file) \(facts[.modificationDate] ?? "")"] = FileManager.default.contents(atPath: path) ?? Data()
    }
    return found
  }

  @Test(arguments: commands)
  func `reading a list that another program wrote makes no journal`(command: String) throws {
    let home = try Home()
    _ = try home.file("config/app.plist", "<plist version=\"1.0\"><dict><key>theme</key><string>dark</string></dict></plist>")
    let before = try Self.listing(home.path + "/config")
    let answer = try home.coffer(command)
    #expect([0, 1].contains(answer.status), "\(answer.err)")
    #expect(try Self.listing(home.path + "/config") == before)
    #expect(!home.exists("data") && !home.exists("state") && !home.exists("run"))
  }

  @Test(arguments: commands)
  func `where there is nothing, reading makes no folder`(command: String) throws {
    let home = try Home()
    _ = try home.coffer(command)
    #expect(try FileManager.default.contentsOfDirectory(atPath: home.path).filter { $0 != ".run" }.isEmpty)
  }

  @Test(arguments: [
    "set k v --plain", "set k --domain app", "get k", "defaults write app k v", "defaults read app", "defaults delete app",
    "list", "vault list", "vault set k", "init --new-key-file key",
  ])
  func `another user's home is refused by both stores alike, and nothing is made there`(line: String) throws {
    guard geteuid() == 0 else { try Test.skip("only root can be in another user's home") }
    let home = try Home()
    let other = home.path + "/other"
    try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
    #expect(chown(other, 65534, 65534) == 0)
    for (name, value) in [("HOME", other), ("XDG_CONFIG_HOME", other + "/.config")] {
      home.environment["COFFER_HOME"] = nil
      home.environment[name] = value
      let answer = try home.coffer(line, in: Data("value".utf8))
      #expect(answer.status == 77 && answer.err.contains("belongs to user 65534, not to user 0"), "\(answer)")
      #expect(answer.err.contains("run it without sudo"))
      home.environment["HOME"] = home.path
    }
    #expect(try FileManager.default.subpathsOfDirectory(atPath: other).isEmpty)
  }

  @Test
  func `a list beside its journal is read, and neither is touched`() throws {
    let home = try Home()
    try home.transcript("defaults write app theme dark")
    let before = try Self.listing(home.path + "/config")
    try home.transcript("defaults read app theme", out: "dark\n")
    #expect(try Self.listing(home.path + "/config") == before)
  }

  @Test
  func `a folder that may not be written is read; a write says so and changes nothing`() throws {
    let home = try Home()
    _ = try home.file(
      "config/app.plist", "<plist version=\"1.0\"><dict><key>theme</key><string>dark</string></dict></plist>", mode: 0o444)
    let other: uid_t = geteuid() == 0 ? 65534 : geteuid()
    chmod(home.path, 0o755)
    chown(home.path + "/config/app.plist", other, other)
    chown(home.path + "/config", other, other)
    chmod(home.path + "/config", 0o555)
    defer { chmod(home.path + "/config", 0o755) }
    let read = try home.run(as: other, ["defaults", "read", "app", "theme"])
    guard read.status != 126, read.status != 127 else { try Test.skip("another user cannot run the program here") }
    #expect(read.status == 0 && read.text == "dark\n", "\(read)")
    for words in [
      ["write", "app", "theme", "light"], ["delete", "app", "theme"], ["delete", "app"], ["rename", "app", "theme", "t"],
    ] {
      let answer = try home.run(as: other, ["defaults"] + words)
      #expect(answer.status == 74 && answer.text.contains("cannot be written") && answer.text.contains("\n  try: "), "\(answer)")
    }
    #expect(try home.run(as: other, ["defaults", "read", "app", "theme"]).text == "dark\n")
    #expect(try FileManager.default.contentsOfDirectory(atPath: home.path + "/config") == ["app.plist"])
  }

  @Test
  func `a damaged list is named with the copy that could take its place, and does not hide the other domains`() throws {
    let home = try Home()
    try home.transcript("defaults write good theme dark")
    try home.transcript("defaults write bad theme dark")
    _ = try home.file("config/bad.plist", "<plist version=\"1.0\"><dict><key>theme</key><string>da")
    let before = try Self.listing(home.path + "/config")
    try home.transcript("defaults read bad theme", err: "or replace it with \(home.path)/config/.bad.plist.last-good", exit: 65)
    try home.transcript("defaults write bad theme light", err: "the file is not a property list", exit: 65)
    try home.transcript("defaults import bad -", in: "<plist><dict/></plist>", err: "is not a property list", exit: 65)
    try home.transcript("set theme x --domain bad --plain", err: "is not a property list", exit: 65)
    let all = try home.coffer("defaults read --json")
    #expect(all.status == 65 && all.out == "{\"good\":{\"theme\":\"dark\"}}\n")
    let found = try home.coffer("defaults find dark")
    #expect(found.status == 65 && found.out.contains("in domain 'good'"))
    #expect(try Self.listing(home.path + "/config") == before)
    #expect(!all.err.contains("CFPropertyList"), "\(all.err)")
  }
}
