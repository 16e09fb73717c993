import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferFormats

@Suite(.tags(.process), .defaultRun)
struct AgentLogTests {
  private struct Entry: Decodable, Equatable { let event: String, user: UInt32, process: UInt32, program: String }

  private func log(_ home: Home, newest count: Int) throws -> [Entry] {
    let answer = try home.coffer("vault log --json --limit \(count) --key-file \(home.path)/key")
    return try JSONDecoder().decode([Entry].self, from: answer.bytes)
  }

  private func process(_ home: Home, _ words: [String], _ input: String, program: String = Home.coffer) throws -> UInt32 {
    let file = try home.file("input", input)
    let child = try Child(
      words, environment: home.environment,
      opening: [0: (file, O_RDONLY), 1: ("/dev/null", O_WRONLY), 2: ("/dev/null", O_WRONLY)], program: program)
    #expect(try child.wait() == 0, "\(words)")
    return UInt32(child.id)
  }

  @Test
  func `the log names the client that asked, by user, process and program, and never the agent`() throws {
    let home = try Home.withVault()
    try home.withHelpers()
    try home.transcript("unlock --quiet")
    defer { _ = try? home.coffer("agent stop") }
    home.locked()
    let status = try JSONSerialization.jsonObject(with: home.coffer("status --agent --json").bytes) as? [String: Any]
    let agent = try #require(status?["process"] as? UInt32)
    let user = geteuid()

    let setter = try process(home, ["vault", "set", "github", "ada"], "1")
    let events = try log(home, newest: 2)
    #expect(events.map(\.event) == ["unlocked", "itemSet"])
    #expect(events[0] == Entry(event: "unlocked", user: user, process: agent, program: "coffer"))
    #expect(events[1] == Entry(event: "itemSet", user: user, process: setter, program: "coffer"))

    let renamer = try process(home, ["vault", "rename", "github", "--to-account", "bob"], "")
    #expect(try log(home, newest: 2).map(\.process) == [renamer, renamer])
    let router = try process(home, ["set", "token", "--domain", "coffer"], "2")
    #expect(try log(home, newest: 1) == [Entry(event: "itemSet", user: user, process: router, program: "coffer")])
    let remover = try process(home, ["vault", "delete", "github"], "")
    #expect(try log(home, newest: 1) == [Entry(event: "itemDeleted", user: user, process: remover, program: "coffer")])

    // The kernel keeps fifteen bytes of a process's name: the log has all of it.
    let helper = try process(
      home, ["store"], "protocol=https\nhost=example.com\nusername=ada\npassword=x\n",
      program: home.path + "/bin/git-credential-coffer")
    #expect(
      try log(home, newest: 1) == [Entry(event: "itemSet", user: user, process: helper, program: "git-credential-coffer")])
    let people = try home.coffer("vault log --limit 1 --key-file \(home.path)/key").out
    #expect(people.contains("git-credential-coffer\tuser \(user)\tprocess \(helper)"), "\(people)")
  }
}
