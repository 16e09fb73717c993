import CofferTestSupport
import CofferMemory
import Foundation
import Testing

/// A program's next version is killed while it moves the previous one's values.
@Suite(.tags(.campaign, .kill, .process), .wholeRun)
struct MigrationKillTests {
  /// Steps of the transaction that moves a preference into the vault, and of the scrubbing.
  static let steps = [
    "recordCopied", "prepared", "beforeVaultCommit", "afterVaultCommit", "decided", "committed", "commitDurable", "beforeForget",
    "afterForget", "listWritten", "listReplaced", "journalEmptied",
  ]

  @Test(arguments: steps) func `a killed migration leaves the old or the new and the next open finishes it`(step: String) throws {
    let home = try Home()
    #expect(try home.run("prepare", home.path, home.keyFile).status == 0)
    #expect(try home.run("migrate", home.path, home.keyFile, step).status == SIGKILL, "dies at \(step)")
    try Self.expectOldOrNew(home, "killed at \(step)")
    try Self.expectFinished(home)
  }

  @Test func `killed in the vault's sync beside a process that settles and dies too nothing is torn`() throws {
    try Tracing.need()
    var kills = 0
    for number in 1...4 {
      let home = try Home()
      #expect(try home.run("prepare", home.path, home.keyFile).status == 0)
      let other = try Peer(home, ["serve", home.path, home.keyFile])
      let tracing = [
        "-f", "-o", "/dev/null", "-P", home.path + "/vault.sqlite-wal", "-e", "trace=fdatasync", "-e",
        "inject=fdatasync:signal=SIGKILL:when=\(number)",
      ]
      let ended = try Home.run("/usr/bin/strace", tracing + [Home.toolPath, "migrate", home.path, home.keyFile])
      if ended.status == SIGKILL { kills += 1 }
      #expect(other.ask("write x") == "ok")
      other.kill()
      try Self.expectOldOrNew(home, "killed at sync \(number)")
      try Self.expectFinished(home)
    }
    #expect(kills > 0)
  }

  @Test func `killed at any system call nothing is lost and nothing is twice`() throws {
    try Tracing.need()
    let long = Campaign.isLong
    var outcomes: [String: Int] = [:]
    for call in Home.calls {
      for number in stride(from: 1, to: 2000, by: long ? 1 : 13) {
        let home = try Home()
        #expect(try home.run("prepare", home.path, home.keyFile).status == 0)
        let status = try home.traced(killedAt: number, of: call, "migrate", home.path, home.keyFile)
        let state = try Self.expectOldOrNew(home, "killed at \(call) \(number)")
        outcomes[status == 0 ? "ran to its end" : "killed, \(state) of 3 moved", default: 0] += 1
        try Self.expectFinished(home)
        if status == 0 { break }
      }
    }
    print("kills at system calls of a migration: \(outcomes.sorted { $0.key < $1.key })")
    #expect(outcomes["ran to its end"] == Home.calls.count)
    #expect((outcomes["killed, 0 of 3 moved"] ?? 0) > 0 && (outcomes["killed, 3 of 3 moved"] ?? 0) > 0)
  }

  /// Each of the three values is at its old or its new place, never at both or neither.
  ///
  /// - Returns: how many are at the new one.
  @discardableResult
  private static func expectOldOrNew(_ home: Home, _ when: String, _ location: SourceLocation = #_sourceLocation) throws -> Int {
    let output = try home.run("contents", home.path, home.keyFile).output
    let lines = Set(output.split(separator: "\n").map(String.init))
    var moved = 0
    for (old, new, value) in [
      ("plain theme", "plain look", "dark"), ("plain size", "vault size", "a-secret-size"),
      ("vault token", "vault api_token", "t"),
    ] {
      let isOld = lines.contains("\(old) = \(value)"), isNew = lines.contains("\(new) = \(value)")
      #expect(isOld != isNew, "\(when): \(old) or \(new): \(output)", sourceLocation: location)
      if isNew { moved += 1 }
    }
    return moved
  }

  private static func expectFinished(_ home: Home, _ location: SourceLocation = #_sourceLocation) throws {
    let again = try home.run("migrate", home.path, home.keyFile)
    #expect(again.status == 0 && !again.output.contains("pending"), "\(again.output)", sourceLocation: location)
    #expect(try expectOldOrNew(home, "finished", location) == 3, sourceLocation: location)
    #expect(try home.run("migrate", home.path, home.keyFile).output == "", sourceLocation: location)
    for name in try FileManager.default.contentsOfDirectory(atPath: home.path) where name.contains("plist") {
      let bytes = try Data(contentsOf: URL(filePath: home.path + "/" + name))
      #expect(bytes.range(of: Data("-secret-".utf8)) == nil, "\(name)", sourceLocation: location)
    }
  }
}
