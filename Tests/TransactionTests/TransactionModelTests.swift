import CofferTestSupport
import Foundation
import Testing

/// The model of the transaction over both stores agrees with the code in both directions: see `Tests/Models`.
@Suite(.serialized, .tags(.campaign, .kill, .process), .wholeRun)
struct TransactionModelTests {
  /// Processes that wait before their next steps, and make them in a trace's order.
  private final class Stage {
    let home: Home
    private var peers: [Int: Peer] = [:]
    /// Each process's last line: the step that it waits before, or its answer.
    private var said: [Int: String] = [:]

    init() throws {
      home = try Home()
      guard try home.run("transact", home.path, home.keyFile, "v0").status == 0 else { throw Peer.Failed(what: "no old values") }
    }

    /// Makes `step`; false if its process waits before another.
    func make(_ step: Spin.Step) throws -> Bool {
      let process = step.process
      switch step.name {
      case "start":
        peers[process] = try Peer(home, ["serve", home.path, home.keyFile, "none", "steps-driven"], opens: false)
        said[process] = peers[process]?.readLine()
      case "transact", "touch":
        peers[process]?.tell(step.name == "touch" ? "write \(UUID().uuidString)" : "transact v\(process)")
        said[process] = peers[process]?.hear()
      case "open", "ok": return said[process] == step.name
      case "error": return said[process]?.hasPrefix("error") == true
      case "dies": peers[process]?.kill()
      case "end": return try found() == "v\(step.value ?? 0) v\(step.value ?? 0) v\(step.value ?? 0)"
      default:
        guard said[process] == "at \(step.name)" else { return false }
        peers[process]?.tell("go")
        said[process] = peers[process]?.readLine()
      }
      return true
    }

    private func found() throws -> String? {
      for peer in peers.values { peer.kill() }
      return try Peer(home, ["serve", home.path, home.keyFile]).ask("read")
    }

    func says(of process: Int) -> String { said[process] ?? "nothing" }
  }

  @Test func `the code makes every step of the model's traces`() throws {
    try Spin.need()
    let spin = try Spin("Transaction")
    var (traces, steps, deaths) = (0, 0, 0)
    for seed in 1...Campaign.size(short: 3, long: 1_000) {
      let trace = try spin.trace(seed: seed)
      let stage = try Stage()
      for (number, step) in trace.enumerated() where try !stage.make(step) {
        Issue.record(
          "trace \(seed): step \(number), \(step), but it says \(stage.says(of: step.process)): \(trace.prefix(number + 1))")
        break
      }
      traces += 1
      steps += trace.count
      deaths += trace.count { $0.name == "dies" }
    }
    print("traces of the transaction's model made by the code: \(traces), \(steps) steps, \(deaths) deaths")
    #expect(deaths > 0)
  }

  /// Three processes that write on command, some of them killed; each records its next step.
  private static func record(_ random: inout Random) throws -> [Spin.Step] {
    let home = try Home()
    guard try home.run("transact", home.path, home.keyFile, "v0").status == 0 else { throw Peer.Failed(what: "no old values") }
    let file = home.path + "/record"
    var (peers, numbers): ([Int: (peer: Peer, requests: Int)], [Int32: Int]) = ([:], [:])
    var (hasBegun, deaths): (Set<Int>, Int) = ([], 0)
    for _ in 0..<12 {
      let number = Int.random(in: 1...3, using: &random)
      if let (peer, requests) = peers[number] {
        if deaths < 2, Int.random(in: 0..<3, using: &random) == 0 {
          usleep(.random(in: 0...6_000, using: &random))  // No event: any moment.
          peer.kill()
          try home.append("\(peer.toolProcess) dies\n", to: file)
          peers[number] = nil
          deaths += 1
        } else if hasBegun.insert(number).inserted {
          peer.tell("transact v\(number)")
          peers[number]?.requests = requests + 1
        } else if requests < 2 {
          peer.tell("write \(Int.random(in: 0...1_000_000, using: &random))")
          peers[number]?.requests = requests + 1
        }
      } else {
        let peer = try Peer(home, ["serve", home.path, home.keyFile, "none", "steps-\(file)"], opens: false)
        numbers[peer.toolProcess] = number
        peers[number] = (peer, 0)
      }
    }
    for (peer, requests) in peers.values {
      #expect(peer.readLine() == "open")
      for _ in 0..<requests { #expect(peer.hear() != nil) }
    }
    for (peer, _) in peers.values { peer.kill() }
    try home.expectAgreement(on: nil)
    return try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").map { line in
      let words = line.split(separator: " ")
      guard words.count == 2, let process = Int32(words[0]), let number = numbers[process] else {
        throw Peer.Failed(what: "the record has a line \(line)")
      }
      return Spin.Step(number, String(words[1]))
    }
  }

  @Test func `the model allows what the code does`() throws {
    try Spin.need()
    let spin = try Spin("Transaction")
    var random = Random(campaign: "records of transactions")
    let records = try (0..<Campaign.size(short: 3, long: 1_000)).map { _ in try Self.record(&random) }
    for (record, refusal) in zip(records, try spin.refusals(of: records)) {
      guard let refusal else { continue }
      Issue.record("the model allows \(refusal) of \(record.count) steps: \(record)")
    }
    let deaths = records.joined().count { $0.name == "dies" }
    print("records of transactions allowed by the model: \(records.count), \(records.joined().count) steps, \(deaths) deaths")
    // Three records may have none.
    #expect(!Campaign.isLong || deaths > 0)
  }
}

extension Home {
  fileprivate func append(_ line: String, to file: String) throws {
    let descriptor = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    try FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).write(contentsOf: Data(line.utf8))
  }
}
