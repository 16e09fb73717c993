import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// The model of a machine's memory of a vault agrees with the code in both directions: see `Tests/Models`. The pin is real;
/// one caller makes the steps of all processes.
@Suite(.serialized, .tags(.campaign), .wholeRun)
struct PinModelTests {
  /// Seven commits, two deaths, and two copies that are put back.
  private static let sizes = ["-DWRITES=6", "-DDEATHS=2", "-DCOPIES=2"]

  private final class Stage {
    private let place: TemporaryVault
    private let salt = VaultSalt.random()
    private let folder: PinFolder
    private var watches: [Int: PinWatch] = [:]
    private var states: [Int: VaultState] = [:]
    private(set) var file: VaultState
    private(set) var copy: VaultState

    init() throws {
      place = try TemporaryVault()
      file = VaultState(generation: 1, commit: .random(), root: .zero, counts: .none, time: 0, logSequence: 0, logHead: .zero)
      copy = file
      var folder = try PinFolder(place.folder.appending("pins"), calls: Self.calls)
      _ = try folder.make(PinRecord(vault: salt, replica: .random(), key: .some(1), seen: file.mark, own: .never))
      try folder.expect(salt, at: .file(place.path))
      self.folder = folder
    }

    /// Only this process reads these files again, so nothing need reach the disk.
    private static var calls: SystemCalls {
      var calls = SystemCalls()
      calls.synchronize = { _ in 0 }
      return calls
    }

    func make(_ step: String, by process: Int) throws -> String {
      switch step {
      case "read": try watch(process).read()
      case "fits", "fails": return try look(process) ? "fits" : "fails"
      case "remember", "pin": try watch(process).remember(try state(process), key: .some(1))
      case "commit":
        file = Self.commit(on: try state(process), by: try watch(process).replica)
        states[process] = file
      case "dies": watches[process] = nil
      case "keep": copy = file
      case "elsewhere": copy = Self.commit(on: copy, by: .random())
      case "put": file = copy
      case "begin": break  // Who has the vault's lock is the order's to keep.
      default: return "no step of a pin"
      }
      return step
    }

    /// Whether the current vault fits the pin that the process has read.
    private func look(_ process: Int) throws -> Bool {
      do { try watch(process).check(file, key: .some(1)) } catch let error as StoreError
        where [.rolledBack, .forked].contains(error.kind)
      { return false }
      states[process] = file
      return true
    }

    private func watch(_ process: Int) throws -> PinWatch {
      if let watch = watches[process] { return watch }
      let watch = try PinWatch(folder.path, vault: salt, place: .file(place.path), calls: Self.calls)
      watches[process] = watch
      return watch
    }

    private func state(_ process: Int) throws -> VaultState {
      guard let state = states[process] else { throw CancellationError() }
      return state
    }

    private static func commit(on state: VaultState, by replica: ReplicaID?) -> VaultState {
      var next = state
      next.generation += 1
      next.commit = .random()
      if let replica { next.note(replica) }
      return next
    }

    /// The pin's generations, seen and made here, and the vault's, as three digits.
    func generations() throws -> Int {
      guard let record = try folder.pin(of: salt)?.read(of: salt) else { return 0 }
      return Int(record.seen.generation * 100 + record.own.generation * 10 + file.generation)
    }
  }

  @Test func `the code makes every step of the model's traces, and remembers what the model does`() throws {
    try Spin.need()
    let spin = try Spin("Pins")
    var (traces, steps, refusals, deaths, copies) = (0, 0, 0, 0, 0)
    for seed in 1...Campaign.size(short: 20, long: 1_000) {
      let trace = try spin.trace(seed: seed, Self.sizes)
      let stage = try Stage()
      for (number, step) in trace.enumerated() {
        let made = step.name == "end" ? "end" : try stage.make(step.name, by: step.process)
        let isAlike = try made == step.name && (step.value == nil || step.value == stage.generations())
        guard !isAlike else { continue }
        Issue.record(
          "trace \(seed): step \(number), \(step), came to \(made), generations \(try stage.generations()): \(trace.prefix(number + 1))"
        )
        break
      }
      traces += 1
      steps += trace.count - 1
      refusals += trace.count { $0.name == "fails" }
      deaths += trace.count { $0.name == "dies" }
      copies += trace.count { $0.name == "put" }
    }
    print(
      "traces of the pins' model made by the code: \(traces), \(steps) steps, \(refusals) refusals, \(deaths) deaths, \(copies) copies"
    )
    #expect(refusals > 0 && deaths > 0 && copies > 0)
  }

  private enum Stand { case idle, read, readAgain, begun, failed, seen, ready, made }

  /// Random steps of three processes, and copies, in any order that the lock allows, with their results.
  private static func record(_ random: inout Random) throws -> [Spin.Step] {
    let stage = try Stage()
    var record: [Spin.Step] = []
    var stands: [Int: Stand] = [1: .idle, 2: .idle, 3: .idle]
    var (holder, commits, deaths, copies, rests): (Int?, Int, Int, Int, Bool) = (nil, 0, 0, 0, false)
    while record.count < 40 {
      if Int.random(in: 0..<8, using: &random) == 0 { rests.toggle() }
      let process = [1, 2, 3, 5].randomElement(using: &random) ?? 1
      let stand = stands[process] ?? .idle
      var choices: [String]
      switch stand {
      case .idle where process == 5:
        choices = []
        if copies < 2, holder == nil, copy(of: stage) { choices.append("keep") }
        if copies < 2, commits < 6, Int.random(in: 0..<4, using: &random) == 0 { choices.append("elsewhere") }
        if copies < 2, copy(of: stage), stands.values.allSatisfy({ $0 == .idle }) { choices.append("put") }
      case .idle: choices = rests && copies < 2 ? [] : ["read"]
      case .read: choices = ["fits"] + (holder == nil && commits < 6 ? ["begin", "begin"] : [])
      case .readAgain, .begun: choices = ["fits"]
      case .failed: choices = ["read"]
      case .seen,
        .ready where holder != process:
        choices = ["remember"]
      case .ready: choices = ["commit"]
      case .made: choices = ["pin"]
      }
      if stand != .idle, deaths < 2, Int.random(in: 0..<10, using: &random) == 0 { choices = ["dies"] }
      guard let choice = choices.randomElement(using: &random) else { continue }
      let made = try stage.make(choice, by: process)
      record.append(Spin.Step(process, made))
      switch (made, stand) {
      case ("read", .failed): stands[process] = .readAgain
      case ("read", _): stands[process] = .read
      case ("begin", _): (stands[process], holder, commits) = (.begun, process, commits + 1)
      case ("fits", _): stands[process] = .seen
      case ("fails", .read): stands[process] = .failed
      case ("remember", _) where holder == process: stands[process] = .ready
      case ("commit", _): (stands[process], holder) = (.made, nil)
      case ("elsewhere", _): commits += 1
      case ("put", _): copies += 1
      case ("keep", _): break
      default:
        // The call is over; in one case so is its process.
        if made == "dies" { deaths += 1 }
        if holder == process { (holder, commits) = (nil, commits - 1) }
        stands[process] = .idle
      }
    }
    return record
  }

  private static func copy(of stage: Stage) -> Bool { stage.copy.commit != stage.file.commit }

  @Test func `the model allows what the code does`() throws {
    try Spin.need()
    let spin = try Spin("Pins")
    var random = Random(campaign: "records of pins")
    let records = try (0..<Campaign.size(short: 20, long: 1_000)).map { _ in try Self.record(&random) }
    for (record, refusal) in zip(records, try spin.refusals(of: records, Self.sizes)) {
      guard let refusal else { continue }
      Issue.record("the model allows \(refusal) of \(record.count) steps: \(record)")
    }
    let steps = records.joined().map(\.name)
    print(
      "records of pins allowed by the model: \(records.count), \(steps.count) steps, \(steps.count { $0 == "fails" }) refusals, "
        + "\(steps.count { $0 == "dies" }) deaths, \(steps.count { $0 == "put" }) copies")
    #expect(!Campaign.isLong || steps.contains("fails") && steps.contains("dies") && steps.contains("put"))
  }

  @Test func `a record with another end is refused`() throws {
    try Spin.need()
    func write(_ process: Int) -> [Spin.Step] {
      ["read", "begin", "fits", "remember", "commit", "pin"].map { Spin.Step(process, $0) }
    }
    let putBack = write(1) + [Spin.Step(5, "put"), Spin.Step(2, "read")]
    let records = [
      putBack + [Spin.Step(2, "fails")], putBack + [Spin.Step(2, "fits")],
      write(1) + [Spin.Step(2, "read"), Spin.Step(2, "fails")],
    ]
    #expect(try Spin("Pins").refusals(of: records, Self.sizes) == [nil, 8, 7])
  }
}
