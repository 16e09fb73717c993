import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import SystemPackage
import Testing

@testable import CofferAgent

/// The model of the agent's locking agrees with the code in both directions: see `Tests/Models`. One caller makes the steps
/// of all threads.
@Suite(.serialized, .tags(.campaign), .wholeRun)
struct AgentModelTests {
  private final class Stage {
    private let hand = HandClock()
    private let vault: AgentVault
    private var asked: [Int: AgentVault.Asked] = [:]
    var isOpen: Bool { vault.isUnlocked }

    init(_ settings: AgentSettings) { vault = AgentVault(settings, clock: hand.clock) }

    func make(_ step: String, by thread: Int) throws -> String {
      switch step {
      case "ask": asked[thread] = vault.asked
      case "opened", "shut": return try unlock(thread) ? "opened" : "shut"
      case "lock", "stop": vault.lock(because: "the model locks it")
      case "changed", "closed": return try change() ? "changed" : "closed"
      case "finish": vault.end("the model ends")
      case "time": hand.pass(.seconds(61))
      case "sleep": hand.pass(.seconds(2), suspended: true)
      case "lapse": _ = vault.lapse()
      case "see_open", "see_shut": return vault.isUnlocked ? "see_open" : "see_shut"
      default: return "no step of the agent"
      }
      return step
    }

    private func unlock(_ thread: Int) throws -> Bool {
      guard let asked = asked.removeValue(forKey: thread) else { throw CancellationError() }
      let greeting = Greeting(path: vault.settings.vault.description)
      do { try vault.unlock(with: TestAgent.credentials(), greeting, UnlockTimes(), asked) } catch let error as StoreError
        where error.kind == .locked
      { return false }
      return true
    }

    private func change() throws -> Bool {
      do { try write() } catch let error as StoreError where error.kind == .locked { return false }
      return true
    }

    private func write() throws {
      let form = try form("v"), name = try ItemName(service: "model")
      try vault.use { (vault) throws(StoreError) in _ = try vault.set(form, for: name) }
    }
  }

  private static func withSettings(_ body: (AgentSettings) throws -> Void) throws {
    let folder = try TestAgent.newFolder()
    defer { TestAgent.remove(folder) }
    let vault = folder.appending("vault.sqlite")
    _ = try UnlockedVault.create(at: .file(vault), with: TestAgent.credentials(), cost: .testing, options: .withoutPins)
    try body(
      AgentSettings(
        folder: folder.appending("run"), vault: .file(vault), options: .withoutPins, idle: .seconds(60), lifetime: .seconds(600)))
  }

  @Test func `the agent makes every step of the model's traces`() throws {
    try Spin.need()
    let spin = try Spin("Agent")
    var (traces, steps, changes, refusals) = (0, 0, 0, 0)
    try Self.withSettings { settings in
      for seed in 1...Campaign.size(short: 20, long: 1_000) {
        let trace = try spin.trace(seed: seed).dropLast()
        let stage = Stage(settings)
        for (number, step) in trace.enumerated() {
          let made = try stage.make(step.name, by: step.process)
          guard made != step.name else { continue }
          Issue.record("trace \(seed): step \(number), \(step), came to \(made): \(trace.prefix(number + 1))")
          break
        }
        traces += 1
        steps += trace.count
        changes += trace.count { $0.name == "changed" }
        refusals += trace.count { ["shut", "closed"].contains($0.name) }
      }
    }
    print("traces of the agent's model made by the code: \(traces), \(steps) steps, \(changes) changes, \(refusals) refusals")
    #expect(refusals > 0)
  }

  private static func record(_ settings: AgentSettings, _ random: inout Random) throws -> [Spin.Step] {
    let stage = Stage(settings)
    var record: [Spin.Step] = []
    var asking: Set<Int> = []
    var (isOver, isStopping, hasEnded) = (false, false, false)
    for _ in 0..<40 {
      let thread = Int.random(in: 1...5, using: &random)
      var choices: [String] = []
      switch thread {
      case 4: if isStopping, !hasEnded { choices = ["finish"] }
      case 5:
        choices = stage.isOpen ? ["see_open", "lapse", "lapse", "sleep"] + (isOver ? [] : ["time"]) : ["see_shut"]
      default:
        choices = asking.contains(thread) ? ["opened"] : ["ask", "ask", "ask", "changed", "changed", "changed", "lock"]
        if record.count > 30, !asking.contains(thread) { choices.append("stop") }
      }
      guard let choice = choices.randomElement(using: &random) else { continue }
      let made = try stage.make(choice, by: thread)
      switch made {
      case "ask": asking.insert(thread)
      case "opened": (isOver, _) = (false, asking.remove(thread))
      case "shut": asking.remove(thread)
      case "time": isOver = true
      case "stop": isStopping = true
      case "finish": hasEnded = true
      default: break
      }
      record.append(Spin.Step(thread, made))
    }
    return record
  }

  @Test func `the model allows what the agent does`() throws {
    try Spin.need()
    let spin = try Spin("Agent")
    var random = Random(campaign: "records of the agent")
    var records: [[Spin.Step]] = []
    try Self.withSettings { settings in
      for _ in 0..<Campaign.size(short: 20, long: 1_000) { records.append(try Self.record(settings, &random)) }
    }
    for (record, refusal) in zip(records, try spin.refusals(of: records)) {
      guard let refusal else { continue }
      Issue.record("the model allows \(refusal) of \(record.count) steps: \(record)")
    }
    let steps = records.joined().map(\.name)
    print(
      "records of the agent allowed by the model: \(records.count), \(steps.count) steps, \(steps.count { $0 == "changed" }) changes, "
        + "\(steps.count { ["shut", "closed"].contains($0) }) refusals")
    #expect(!Campaign.isLong || steps.contains("changed") && steps.contains("closed"))
  }

  @Test func `a record with another end is refused`() throws {
    try Spin.need()
    let open = [Spin.Step(1, "ask"), Spin.Step(1, "opened")]
    let records = [
      open + [Spin.Step(2, "changed")], open + [Spin.Step(2, "closed")], open + [Spin.Step(5, "sleep"), Spin.Step(2, "changed")],
      [Spin.Step(1, "ask"), Spin.Step(2, "lock"), Spin.Step(1, "opened")],
    ]
    #expect(try Spin("Agent").refusals(of: records) == [nil, 2, 3, 2])
  }
}
