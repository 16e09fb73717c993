import CofferTestSupport
import Foundation
import Testing

@Suite(.serialized, .tags(.campaign, .process), .wholeRun)
struct ManyProcessesTests {
  private static let writers = 8
  private static let writes = Campaign.isLong ? 50 : 8

  @Test
  func `vault set by eight writers at once: all items are readable after`() throws {
    let home = try Home.withVault()
    try run(
      "printf 'value %s %s' $W $i | coffer vault set \"service $W\" \"item $i\"",
      home)
    let list = try home.coffer("vault list --json")
    let items = try #require(JSONSerialization.jsonObject(with: list.bytes) as? [[String: Any]])
    #expect(items.count == Self.writers * Self.writes)
    for writer in 1...Self.writers {
      try home.transcript("vault get 'service \(writer)' 'item \(Self.writes)'", out: "value \(writer) \(Self.writes)")
    }
    #expect(try home.coffer("vault verify").status == 0)
  }

  @Test
  func `defaults write by eight writers at once: all values are readable after`() throws {
    let home = try Home()
    try run("coffer defaults write com.example.app key-$W-$i -int $i", home)
    let read = try home.coffer("defaults read com.example.app --json")
    let domain = try #require(JSONSerialization.jsonObject(with: read.bytes) as? [String: Int])
    #expect(domain.count == Self.writers * Self.writes)
    #expect(domain.allSatisfy { $0.key.hasSuffix("-\($0.value)") })
  }

  /// Runs `write` in parallel shells, one per writer, with the writer's number in `$W` and the write's in `$i`.
  private func run(_ write: String, _ home: Home) throws {
    // If others hold the lock for seconds, the status is 75: nothing was changed, try again.
    let script = "for i in $(seq \(Self.writes)); do until \(write); do [ $? = 75 ] || exit 1; done; done"
    let folder = URL(fileURLWithPath: Home.coffer).deletingLastPathComponent().path
    let shells = try (1...Self.writers).map { writer in
      let shell = Process()
      shell.executableURL = URL(fileURLWithPath: "/bin/bash")
      shell.arguments = ["-c", script]
      shell.environment = home.environment.merging(["W": "\(writer)", "PATH": "\(folder):/usr/bin:/bin"]) { $1 }
      shell.standardInput = FileHandle.nullDevice
      try shell.run()
      return shell
    }
    for shell in shells {
      shell.waitUntilExit()
      #expect(shell.terminationStatus == 0)
    }
  }
}
