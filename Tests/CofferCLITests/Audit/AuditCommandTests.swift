import Coffer
import CofferMemory
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI

@Suite(.tags(.process), .defaultRun)
struct AuditCommandTests {
  private func home() throws -> Home {
    let home = try Home.withVault()
    let items = """
      [{"service":"a.example","account":"ada","value":"hunter2","created":"2020-01-02T00:00:00Z","modified":"2020-01-02T00:00:00Z"},
      {"service":"b.example","account":"bob","value":"hunter2"},
      {"service":"gone","value":"kept to itself","expires":"2021-03-04T00:00:00Z"},
      {"service":"key","value":"-----BEGIN OPENSSH PRIVATE KEY-----\\nabc\\n"},
      {"service":"key2","value":"-----BEGIN OPENSSH PRIVATE KEY-----\\nabc\\n"},
      {"service":"sound","value":"xK9#mQ2$vL7!pR4"}]
      """
    #expect(try home.coffer("import -q --from json \(home.file("items.json", items))").status == 0)
    try home.transcript("vault set soon --expires 5d", in: "fjwoeiqzmxcnvbq")
    return home
  }

  @Test func `a secret that a removed member has seen is told until it changes`() throws {
    let home = try Home.withVault()
    for name in ["a", "b"] { try home.transcript("vault set \(name) --generate --quiet") }
    let key = try home.coffer("vault identity \(home.path)/grace --new").out.trimmingCharacters(in: .newlines)
    try home.transcript("vault audit", err: "nothing was found")
    #expect(try home.coffer("vault slot add --label grace --recipient \(key)").status == 0)
    let removed = try home.coffer("vault slot remove grace --yes")
    #expect(removed.status == 0 && removed.err.contains("coffer vault audit --seen lists"), "\(removed.err)")
    try home.transcript("vault set b --generate --quiet")
    try home.transcript("vault audit", err: "nothing was found")
    let answer = try home.coffer("vault audit --seen")
    #expect(answer.status == 2 && answer.out.hasPrefix("seen\ta\t\tby a member removed 20"), "\(answer.out)")
    #expect(answer.err == "coffer: note: 2 items looked at, 2 of them passwords; 1 seen\n")
  }

  private static let table = """
    weak\ta.example\tada\tabout 6 bits: a common password
    weak\tb.example\tbob\tabout 6 bits: a common password
    reused\ta.example\tada\tthe same as b.example/bob
    reused\tb.example\tbob\tthe same as a.example/ada
    expired\tgone\t\tsince 2021-03-04T00:00:00Z
    expiring\tsoon\t\tat 
    old\ta.example\tada\tsince 2020-01-02T00:00:00Z

    """

  @Test(arguments: [false, true])
  func `what is weak, reused, expired, about to expire or old is told, and the status says that there is something`(
    throughAgent: Bool
  ) throws {
    let home = try home()
    if throughAgent {
      try home.transcript("unlock --quiet")
      home.locked()
    }
    defer { if throughAgent { _ = try? home.coffer("agent stop") } }
    let answer = try home.coffer("vault audit")
    #expect(answer.status == 2)
    #expect(answer.out.replacing(/at 20[0-9T:Z-]+/, with: "at ") == Self.table)
    #expect(
      answer.err
        == "coffer: note: 7 items looked at, 4 of them passwords; 2 weak, 2 reused, 1 expired, 1 expiring, 1 old\n")
    #expect(!(answer.out + answer.err).contains(/hunter2|fjwoe|xK9/))
    try home.transcript("login host.example --with-token --quiet", in: "hunter2")
    try home.transcript("vault audit host.example", err: "1 item looked at, 0 of them passwords; nothing was found")
    try home.transcript("vault audit coffer.auth", err: "0 items looked at")
    try home.transcript("vault audit sound", err: "1 item looked at, 1 of them passwords; nothing was found")
    try home.transcript("vault audit sound -q --json", out: "{\"findings\":[],\"items\":1,\"passwords\":1}\n")
    try home.transcript(
      "vault audit soon -q --expiring 4d --old 1000w", out: "", exit: 0)
    #expect(try home.coffer("vault audit sound --old 0s").out.hasPrefix("old\tsound\t\tsince "))
    let json = try JSONSerialization.jsonObject(with: home.coffer("vault audit a.example --json").bytes) as? [String: Any]
    let findings = try #require(json?["findings"] as? [[String: String]])
    #expect(
      findings.map { $0["kind"] } == ["weak", "old"] && findings[0].keys.sorted() == ["account", "kind", "service", "what"])
  }

  @Test(arguments: ["365", "d", "-1d", "1y", "65536d", ""])
  func `a time is a number and a unit`(time: String) throws {
    let answer = try Home().coffer("vault audit --old '\(time)'")
    #expect(answer.status == 64, "\(answer.err)")
  }
}
