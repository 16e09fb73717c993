import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.root, .process), .defaultRun)
struct FullDiskTests {
  @Test
  func `a vault on a full disk is read, by commands and by the agent that holds it`() throws {
    let home = try Home()
    let disk = try home.smallDisk("700k")
    home.environment["COFFER_HOME"] = disk.path
    home.environment["COFFER_KEY_FILE"] = disk.path + "/key"
    try home.transcript("init --quiet --new-key-file \(disk.path)/key")
    try home.transcript("vault set web ada", in: "p4ss")
    disk.fill()
    for _ in 0..<2 {
      try home.transcript("vault get web", out: "p4ss")
      #expect(try home.listed() == ["web/ada"])
      try home.transcript("vault verify", out: "The only record is intact.\n")
      let written = try home.coffer("vault set web bob", in: Data("x".utf8))
      #expect(written.status == 74 && written.err.contains("space"), "\(written.err)")
      let backup = try home.coffer("backup \(home.path)/copy")
      #expect(backup.status == 0, "\(backup.err)")
      unlink(home.path + "/copy")
    }
    // A process that keeps it open takes room that others need, and reports why.
    disk.empty()
    try home.transcript("agent run --detach --quiet")
    defer { _ = try? home.coffer("agent stop") }
    disk.fill()
    try home.transcript("unlock", err: "there is no room for the 32 KiB beside the vault", exit: 74)
    disk.empty()
    try home.transcript("unlock --quiet")
    disk.fill()
    home.locked()
    try home.transcript("vault get web", out: "p4ss")
    #expect(try home.listed() == ["web/ada"])
    #expect(try home.coffer("export --reveal").out.contains("p4ss"))
  }

  @Test(arguments: ["defaults write app k v", "set k v --plain", "defaults export full -", "vault set s n", "backup copy"])
  func `a limit on the size of files is an error with a status, and no death`(line: String) throws {
    let home = try Home.withVault()
    try home.transcript("defaults write full long \(String(repeating: "x", count: 100_000))")
    let words = ["bash", "-c", "cd \(home.path); ulimit -f 8; exec \"$0\" \(line) >out", Home.coffer]
    let answer = try #require(try home.program(words, in: "value"))
    #expect(answer.status == 74 && answer.err.contains("try: "), "\(answer)")
    if !line.hasPrefix("vault") { #expect(answer.err.contains("File too large"), "\(answer)") }
    try home.transcript("vault list --quiet")
  }

  @Test
  func `an export through a link leaves the old content where the disk is full`() throws {
    let home = try Home()
    let disk = try home.smallDisk("64k")
    try home.transcript("defaults write app long \(String(repeating: "x", count: 20_000))")
    _ = try home.file("disk/list", "old")
    try FileManager.default.createSymbolicLink(atPath: home.path + "/link", withDestinationPath: disk.path + "/list")
    disk.fill()
    try home.transcript("defaults export app \(home.path)/link", err: "space", exit: 74)
    #expect(try home.content("disk/list") == "old")
  }
}
