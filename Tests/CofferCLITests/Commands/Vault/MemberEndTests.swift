import CofferTestSupport
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferVault

@Suite(.tags(.process), .defaultRun)
struct MemberEndTests {
  private func labels(_ home: Home) throws -> [String] {
    let answer = try home.coffer("vault slot list --json")
    let slots = try #require(JSONSerialization.jsonObject(with: answer.bytes) as? [[String: Any]], "\(answer.err)")
    return slots.map { $0["label"] as? String ?? "" }.sorted()
  }

  /// An owner's vault with the member `ada`, whose last day is in 90 days, and `bob`.
  private static func team() throws -> Home {
    let home = try Home.withVault()
    for (name, until) in [("ada", " --until 90d"), ("bob", "")] {
      let made = try home.coffer("vault identity \(home.path)/\(name) --new")
      try home.changesKey("vault slot add --recipient \(made.out.trimmingCharacters(in: .newlines)) --label \(name)\(until)")
    }
    return home
  }

  @Test
  func `a member whose last day is over is removed by the next rotation, and by no other command`() throws {
    let home = try Self.team()
    let day = (Date() + 90 * 86_400).formatted(.iso8601.year().month().day())
    #expect(try labels(home) == ["", "ada until \(day)", "bob"])
    let list = try home.coffer("vault slot list --json").out
    #expect(list.contains(#""ends" : ""#) || list.contains(#""ends":""#), "\(list)")
    try home.transcript("vault rotate --ended --yes", err: "there is no member to remove; nothing was changed")

    #expect(try !home.coffer("doctor").out.contains("a member's last day"))
    let soon = (Date() + 10 * 86_400).formatted(.iso8601.year().month().day())
    try home.transcript("vault slot label ada 'ada until \(soon)'")
    #expect(try home.coffer("doctor").out.contains("a member's last day comes soon: recipient 'ada until \(soon)'"))
    try home.transcript("vault slot label ada 'ada until 2026-02-28'")
    try home.transcript("vault set a", in: "hush")
    try home.transcript("vault get a --identity \(home.path)/ada", out: "hush")
    let warned = try home.coffer("vault set b --generate --no-agent --identity \(home.path)/ada")
    let ended = "the last day of recipient 'ada until 2026-02-28' is over"
    #expect(warned.status == 0 && warned.err.contains(ended), "\(warned.err)")
    let doctor = try home.coffer("doctor")
    let told = "a member's last day is over, and the slot still opens the vault: recipient 'ada until 2026-02-28'"
    #expect(doctor.out.contains(told))
    let rotated = try home.coffer("vault rotate --ended --yes")
    #expect(rotated.status == 0 && rotated.err.contains("sealed to 2 slots"), "\(rotated.err)")
    #expect(rotated.err.contains("coffer vault audit --seen lists those"))
    #expect(try labels(home) == ["", "bob"])
    #expect(try home.coffer("vault list --identity \(home.path)/ada").status == 77)
    try home.transcript("vault get a --identity \(home.path)/bob", out: "hush")
  }

  @Test
  func `the status that an agent knows names members whose last day is over`() throws {
    let home = try Self.team()
    try home.transcript("vault slot label bob 'bob until 2026-02-28'")
    try home.transcript("unlock --quiet")
    defer { _ = try? home.coffer("agent stop") }
    let told = "the last day is over: bob until 2026-02-28; coffer vault rotate removes them"
    #expect(try home.coffer("status").out.contains(told))
    #expect(try home.coffer("status --json").out.contains("bob until 2026-02-28"))
  }

  @Test
  func `no other slot ends, neither does one that opened the vault, and a day must exist`() throws {
    let home = try Self.team()
    try home.transcript(
      "vault slot add --new-key-file \(home.path)/two --label 'old until 2026-02-28'", err: "opened by key file")
    try home.transcript("vault slot label bob 'bob until 2026-02-30'")
    try home.transcript("vault slot label ada 'ada until 2026-02-28'")
    let own = try home.coffer("vault rotate --yes --identity \(home.path)/ada")
    #expect(own.status == 0 && own.err.contains("opened the vault and stays"), "\(own.err)")
    #expect(try labels(home) == ["", "ada until 2026-02-28", "bob until 2026-02-30", "old until 2026-02-28"])
    try home.changesKey("vault rotate --yes", "sealed to 3 slots")
    #expect(try labels(home) == ["", "bob until 2026-02-30", "old until 2026-02-28"])

    let recipient = try home.coffer("vault identity \(home.path)/ada").out.trimmingCharacters(in: .newlines)
    try home.transcript("vault slot add --until 90d", err: "--until needs --recipient", exit: 64)
    try home.transcript("vault slot add --recipient \(recipient) --until 2020-01-01", err: "--until is in the past", exit: 64)
    try home.transcript("vault slot add --recipient \(recipient) --until soon", err: "neither a time from now", exit: 64)
    #expect(try labels(home).count == 3)
  }

  @Test
  func `a last day ends at midnight UTC`() throws {
    let summary = SlotSummary(id: .init(bytes: Array(repeating: 1, count: 16)), kind: .recipient, passes: 0, mebibytes: 0)
    func slot(_ label: String) -> VaultStatus.Slot { .init(summary: summary, label: label, isInUse: false) }
    let noon = Date(timeIntervalSince1970: 1_803_988_800)
    let label = VaultStatus.Slot.label("a until b", lastDay: noon)
    #expect(label == "a until b until 2027-03-02" && slot(label).name == "a until b")
    #expect(slot(label).ends == noon + 43_200)
    #expect(VaultStatus.Slot.label("", lastDay: noon) == "member until 2027-03-02")
    for text in ["a", "until 2027-03-02", "a until 2027-03-02 ", "a until 2027-3-2", "a until 2027-02-29", "a until "] {
      #expect(slot(text).ends == nil && slot(text).name == text)
    }
  }
}
