import CofferTestSupport
import CofferPlatform
import CofferStorage
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

/// Every order in which one machine's restores, writes and reads may reach the vault and its pin. The pin is real; the vault
/// is a state, and a lock that one writer holds.
@Suite(.tags(.campaign), .wholeRun)
struct PinOrderTests {
  enum Step { case read, look, begin, commit, pin }

  struct Program {
    let isRestore: Bool
    let steps: [Step]
    static let writer = Program(isRestore: false, steps: [.read, .begin, .commit, .pin])
    static let restore = Program(isRestore: true, steps: [.begin, .commit, .pin])
    static let reader = Program(isRestore: false, steps: [.read, .look])
    static let killedWriter = Program(isRestore: false, steps: [.read, .begin, .commit])
    static let killedRestore = Program(isRestore: true, steps: [.begin, .commit])
  }

  @Test func `an invitation ends a pin once, though two processes read that before`() throws {
    let world = try PinnedStates()
    let (first, second) = (try world.watch(), try world.watch())
    for watch in [first, second] { try watch.read() }
    let left = PinnedStates.commit(on: world.backup, above: world.backup.generation, by: [])
    try first.accept(left, key: .some(2), ending: 2)
    let written = PinnedStates.commit(on: left, above: left.generation, by: [first.replica])
    first.remember(written, key: .some(2))
    let error = #expect(throws: StoreError.self) { try second.accept(left, key: .some(2), ending: 2) }
    #expect(error?.kind == .conflict)
    try second.read()
    #expect(throws: StoreError.self, "the write since is remembered") { try second.check(left, key: .some(2)) }
    try second.check(written, key: .some(2))
  }

  @Test(arguments: [
    [Program.restore, .writer, .reader], [.restore, .writer, .writer], [.restore, .restore, .writer],
    [.restore, .killedWriter, .writer],
    [.killedRestore, .writer, .reader], [.killedRestore, .restore],
  ])
  func `no order of restores, writes and their pins is a complaint, and what was left behind is refused`(
    _ programs: [Program]
  ) throws {
    let orders = Self.orders(of: programs), share = Campaign.isLong ? 1 : (orders.count + 39) / 40
    var cases = 0
    for order in stride(from: 0, to: orders.count, by: share).map({ orders[$0] }) {
      let world = try PinnedStates()
      var processes = try programs.map { try Process($0.isRestore, world) }
      for (done, place) in order.enumerated() {
        let step = programs[place].steps[order[..<done].count { $0 == place }]
        do {
          try processes[place].run(step)
          try world.check(world.state)
        } catch { Issue.record("\(order), step \(done): \(error)") }
      }
      try world.look()
      cases += 1
      for old in world.states.dropLast() {
        #expect(try world.refusal(of: old) != nil, "\(order): generation \(old.generation) was put back")
        let elsewhere = try world.refusal(of: world.writtenElsewhere(old))
        #expect(elsewhere == .forked, "\(order): \(old.generation) was written on elsewhere")
      }
    }
    print("\(cases) of \(orders.count) orders of \(programs.count) programs")
  }

  @Test func `a pin that is accepted while another process writes is no complaint about what that one wrote`() throws {
    let world = try PinnedStates()
    var writer = try Process(false, world)
    try writer.run(.read)
    try writer.run(.begin)
    try world.watch(accepting: true).accept(world.state, key: .some(1))
    try writer.run(.commit)
    try writer.run(.pin)
    try world.look()
    #expect(try world.refusal(of: world.states[0]) == .rolledBack)
  }

  /// The programs' indices, step by step, in every order that the vault's lock allows.
  static func orders(of programs: [Program]) -> [[Int]] {
    var found: [[Int]] = []
    func extend(_ order: [Int], _ left: [[Step]], lockedBy holder: Int?) {
      if left.allSatisfy(\.isEmpty) { found.append(order) }
      for (place, steps) in left.enumerated() {
        guard let step = steps.first, step != .begin || holder == nil else { continue }
        var rest = left
        rest[place].removeFirst()
        let next = step == .begin ? place : step == .commit ? nil : holder
        extend(order + [place], rest, lockedBy: next)
      }
    }
    extend([], programs.map(\.steps), lockedBy: nil)
    return found
  }
}

private struct Process {
  let isRestore: Bool
  let world: PinnedStates
  let watch: PinWatch
  let replica = ReplicaID.random()
  var next: VaultState?

  init(_ isRestore: Bool, _ world: PinnedStates) throws {
    self.isRestore = isRestore
    self.world = world
    watch = try world.watch(accepting: isRestore)
  }

  mutating func run(_ step: PinOrderTests.Step) throws {
    switch step {
    case .read: try watch.read()
    case .look: try look()
    case .begin: next = isRestore ? try restored() : try written()
    case .commit: if let next { world.states.append(next) }
    case .pin:
      guard let next else { return }
      if isRestore { watch.acceptOwn(next, key: .some(1), replica: replica) } else { watch.remember(next, key: .some(1)) }
    }
  }

  private func look() throws {
    try watch.check(world.state, key: .some(1))
    watch.remember(world.state, key: .some(1))
  }

  private func written() throws -> VaultState {
    try look()
    return PinnedStates.commit(on: world.state, above: world.state.generation, by: [watch.replica])
  }

  private func restored() throws -> VaultState {
    try watch.rememberReplaced(world.state, key: .some(1))
    let known = max(try watch.knownGeneration(), world.state.generation)
    return PinnedStates.commit(on: world.backup, above: known, by: [try watch.knownReplica(), replica])
  }
}

/// The vault's states, of which the last is current, and a pin that knows it.
private final class PinnedStates {
  private let place: TemporaryVault
  private let salt = VaultSalt.random()
  private let reader: PinWatch
  let backup: VaultState
  var states: [VaultState]
  var state: VaultState { states[states.count - 1] }

  init() throws {
    place = try TemporaryVault()
    let first = VaultState(
      generation: 1, commit: .random(), root: .zero, counts: .none, time: 0, logSequence: 0, logHead: .zero)
    let replica = ReplicaID.random()
    backup = Self.commit(on: first, above: 1, by: [replica])
    let last = Self.commit(on: backup, above: 2, by: [replica])
    states = [last]
    var folder = try PinFolder(place.folder.appending("pins"), calls: Self.calls)
    _ = try folder.make(PinRecord(vault: salt, replica: replica, key: .some(1), seen: last.mark, own: last.mark))
    try folder.expect(salt, at: .file(place.path))
    reader = try PinWatch(folder.path, vault: salt, place: .file(place.path), calls: Self.calls)
  }

  /// Only this process reads these files again, so nothing need reach the disk.
  private static var calls: SystemCalls {
    var calls = SystemCalls()
    calls.synchronize = { _ in 0 }
    return calls
  }

  static func commit(on state: VaultState, above generation: UInt64, by replicas: [ReplicaID?]) -> VaultState {
    var next = state
    next.generation = generation + 1
    next.commit = .random()
    for replica in replicas { if let replica { next.note(replica) } }
    return next
  }

  func watch(accepting: Bool = false) throws -> PinWatch {
    try PinWatch(place.folder.appending("pins"), vault: salt, place: .file(place.path), accepting: accepting, calls: Self.calls)
  }

  func check(_ state: VaultState) throws {
    try reader.read()
    try reader.check(state, key: .some(1))
  }

  func look() throws {
    try check(state)
    reader.remember(state, key: .some(1))
  }

  /// Another machine's commit on `old`, above everything seen here.
  func writtenElsewhere(_ old: VaultState) -> VaultState { Self.commit(on: old, above: state.generation + 1, by: [.random()]) }

  func refusal(of state: VaultState) throws -> StoreError.Kind? { kind { try check(state) } }
}
