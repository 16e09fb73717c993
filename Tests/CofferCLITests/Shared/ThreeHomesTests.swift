import CofferTestSupport
import Foundation
import Testing

@Suite(.tags(.process), .wholeRun)
struct ThreeHomesTests {
  /// A step of the page: a typed line, or without a person a statement for the server.
  private static func steps() throws -> [(who: String?, line: String)] {
    let page = try String(
      contentsOf: CommandLineArticle.root.appending(path: "Sources/Coffer/Coffer.docc/SharedVault.md"), encoding: .utf8)
    let section = try #require(page.components(separatedBy: "\n## ").first { $0.hasPrefix("From nothing") })
    var (steps, isSQL) = ([(who: String?, line: String)](), Bool?.none)
    for line in section.components(separatedBy: "\n") {
      if line.hasPrefix("```") {
        isSQL = isSQL == nil ? line == "```sql" : nil
      } else if let isSQL {
        let parts = line.firstMatch(of: /^([a-z]+)\$ (.+)$/)
        steps.append(isSQL ? (nil, line) : try (String(#require(parts).1), String(#require(parts).2)))
      }
    }
    return steps
  }

  @Test
  func `three homes come from nothing to a shared vault by what the page says, and one of them is removed`() throws {
    let server = try DatabaseServer.make()
    var homes: [String: Home] = [:]
    var (recipient, invitation, last) = ("", "", "")
    let steps = try Self.steps()
    #expect(steps.count == 27 && steps.last?.line == "REVOKE writers FROM grace;")
    for (who, text) in steps.dropLast() {
      guard let who else {
        let isAdas = text.contains("SCHEMA")
        try server.sql(text, as: isAdas ? "ada" : "coffer", in: isAdas ? "team" : "postgres")
        continue
      }
      let home = try homes[who] ?? Home()
      homes[who] = home
      // Its host, without the network that TLS is for.
      var line = text.replacing("db.example.com", with: "\(server.folder.replacing("/", with: "%2F")):\(server.port)")
        .replacing("?sslmode=verify-full", with: "").replacing("PVPUB1-…", with: recipient).replacing(
          "PVINV1-…", with: invitation)
      for suffix in ["key", "identity"] { line = line.replacing("\(who).\(suffix)", with: "\(home.path)/\(who).\(suffix)") }
      if line.contains("/etc/coffer") {
        line = line.replacing("/etc/coffer", with: home.path)
        try invitation.write(toFile: home.path + "/team.invitation", atomically: false, encoding: .utf8)
      }
      if let variable = line.wholeMatch(of: /export ([A-Z_]+)='?(.+?)'?/) {
        home.environment[String(variable.1)] = String(variable.2)
        continue
      }
      let answer = try home.coffer(String(try #require(line.wholeMatch(of: /coffer (.+)/)).1))
      try #require(answer.status == 0, "\(who)$ \(line)\n\(answer.err)")
      last = answer.out
      if let found = answer.out.firstMatch(of: /PVPUB1-[0-9a-z]+/) { recipient = String(found.0) }
      if let found = answer.out.firstMatch(of: /PVINV1-[0-9a-f]+/) { invitation = String(found.0) }
    }
    let (ada, grace, machine) = try (#require(homes["ada"]), #require(homes["grace"]), #require(homes["server"]))
    let password = try ada.coffer("--vault team vault get web deploy").out
    #expect(!password.isEmpty && last == password + "\n", "the server's program has the password")

    let slots = try ada.coffer("--vault team vault slot list --json").out
    let slot = try #require(
      slots.matches(of: /\{[^{}]*"id":"([0-9a-f]{32})"[^{}]*\}/).first { $0.0.contains("\"grace\"") }.map { String($0.1) })
    try ada.changesKey("--vault team vault slot remove \(slot) --yes")
    try ada.transcript("--vault team vault set web deploy --quiet", in: "after")
    let removed = try grace.coffer("--vault team vault get web deploy")
    #expect(removed.status != 0 && removed.out.isEmpty, "\(removed)")
    let new = try ada.coffer("--vault team vault invite").out
    #expect(new.hasPrefix("PVINV1-") && !new.contains(invitation))
    try new.write(toFile: machine.path + "/team.invitation", atomically: false, encoding: .utf8)
    try machine.transcript("run --env TOKEN=coffer://web/deploy -- printenv TOKEN", out: "after\n")
    try machine.transcript("vault set a", in: "1", err: "this role may not write to the vault", exit: 74)
    try server.sql(#require(steps.last).line)
    #expect(try server.sql("SELECT has_table_privilege('grace', 'coffer_main.rec', 'SELECT')", in: "team") == "f")
  }

  @Test
  func `who is not let in opens nothing: neither with another identity nor with an invitation to another vault`() throws {
    let home = try Home.withSharedVault()
    let (stranger, recipient) = try Home.withIdentity()
    let refused = try stranger.coffer("vault join \(home.place) --identity \(stranger.path)/me")
    #expect(refused.status == 77, "\(refused.err)")
    _ = try home.coffer("vault slot add --recipient \(recipient)")
    let unproven = try stranger.coffer("vault join \(home.place) --identity \(stranger.path)/me")
    #expect(unproven.status == 66, "\(unproven.err)")
    let other = try Home.withSharedVault()
    let wrong = try other.coffer("vault pin show --json").out.firstMatch(of: /PVINV1-[0-9a-f]+/)
    let given = try #require(wrong).0
    let replaced = try stranger.coffer("vault join \(home.place) \(given) --identity \(stranger.path)/me")
    #expect(replaced.status == 66, "\(replaced.err)")
  }
}
