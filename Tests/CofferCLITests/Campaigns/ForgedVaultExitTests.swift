import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.process), .wholeRun)
struct ForgedVaultExitTests {
  private static let vault = "data/vault.sqlite"

  private func prepared() throws -> Home {
    let home = try Home.withVault()
    try home.transcript("vault set svc a", in: "one")
    try home.transcript("vault set svc b", in: "two")
    return home
  }

  private func attack(_ home: Home, _ sql: String) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "python3", "-c", "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.executescript(sys.argv[2]); c.close()",
      "\(home.path)/\(Self.vault)", sql,
    ]
    try process.run()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0)
  }

  private static var hasPython: Bool {
    ["/usr/bin/python3", "/usr/local/bin/python3"].contains(where: FileManager.default.isExecutableFile(atPath:))
  }

  @Test(
    .enabled(if: hasPython, "the attacks are made with Python's sqlite3"),
    arguments: [
      ("DELETE FROM rec WHERE idx=(SELECT min(idx) FROM rec)", 66),
      ("UPDATE rec SET value=(SELECT max(value) FROM rec)", 66),
      ("UPDATE rec SET rid=zeroblob(16)", 66),
      ("DELETE FROM digest", 66),
      ("CREATE TRIGGER extra AFTER INSERT ON rec BEGIN DELETE FROM log; END", 66),
      ("CREATE VIEW extra AS SELECT * FROM rec", 66),
      ("DELETE FROM log WHERE seq=2", 66),
      ("UPDATE header_copy SET bytes=zeroblob(300)", 65),
      ("DELETE FROM state", 65),
      ("DELETE FROM header; DELETE FROM header_copy", 65),
      ("DROP TABLE digest", 65),
      ("PRAGMA application_id=1", 65),
      ("PRAGMA user_version=2", 76),
    ]) func `a forged vault is refused with its own status`(sql: String, status: Int32) throws
  {
    let home = try prepared()
    try attack(home, sql)
    let answer = try home.coffer("vault verify")
    #expect(answer.status == status, "\(sql)\n\(answer.err)")
    #expect(!answer.err.isEmpty)
  }

  @Test func `a vault rolled back replaced gone or of another key`() throws {
    let home = try prepared()
    let path = "\(home.path)/\(Self.vault)"
    let older = try Data(contentsOf: URL(fileURLWithPath: path))
    try home.transcript("vault set svc a", in: "newer")
    let newest = try Data(contentsOf: URL(fileURLWithPath: path))
    func put(_ bytes: Data) throws {
      try bytes.write(to: URL(fileURLWithPath: path))
      chmod(path, 0o600)
    }
    try put(older)
    #expect(try home.coffer("vault get svc a").status == 66, "rolled back")
    let other = try prepared()
    try put(Data(contentsOf: URL(fileURLWithPath: "\(other.path)/\(Self.vault)")))
    #expect(try home.coffer("vault get svc a").status == 66, "replaced")
    try put(newest)
    #expect(try home.coffer("vault get svc a", with: ["COFFER_KEY_FILE": other.path + "/key"]).status == 77, "another key")
    try home.transcript("vault get svc a", out: "newer")
    unlink(path)
    #expect(try home.coffer("vault get svc a").status == 78, "gone")
  }
}
