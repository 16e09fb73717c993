import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Three machines with a copy of one vault, which sync over a store of immutable heads, as `model.py` has them.
final class MergedMachines {
  typealias Vector = [Int: Int]

  final class Head {
    let vector: Vector
    let place: TemporaryVault

    init(_ vector: Vector, _ place: TemporaryVault) { (self.vector, self.place) = (vector, place) }
  }

  final class Machine: Sendable {
    let number: Int
    let vault: UnlockedVault
    let key: MergeKey
    private let known = Mutable<[(vector: Vector, base: MergeBase)]>([])

    init(_ number: Int, _ vault: consuming UnlockedVault) throws {
      self.number = number
      self.vault = vault
      key = MergeKey(try secret([UInt8](repeating: UInt8(number), count: 32)))
    }

    /// The newest first.
    var bases: [(vector: Vector, base: MergeBase)] {
      get { known.value }
      set { known.value = newValue }
    }

    func agree(_ vector: Vector, _ base: MergeBase) { bases = [(vector, base)] + bases.prefix(15) }
  }

  private(set) var heads: [Head]
  let machines: [Machine]
  private let places: [TemporaryVault]
  private let clock: Mutable<Date>
  private var puts = 0
  private(set) var reports: [MergeReport] = []

  /// - Parameter skews: how far each machine's clock is ahead.
  init(skews: [Double] = [0, 0, 0], _ clock: Mutable<Date>, _ prepare: (borrowing UnlockedVault) throws -> Void) throws {
    self.clock = clock
    let first = try TemporaryVault()
    do {
      let vault = try MergedHome.create(first, clock)
      try prepare(vault)
    }
    heads = [Head([0: 1], try first.copy())]
    let places = try skews.map { _ in try first.copy() }
    self.places = places
    machines = try skews.indices.map { number in
      let skew = skews[number]
      let vault = try OpenVault.unlock(
        .file(places[number].path), with: TemporaryVault.credentials(), clock: { clock.value.addingTimeInterval(skew) })
      return try Machine(number, UnlockedVault(vault))
    }
    for machine in machines { machine.agree([0: 1], try machine.vault.mergeBase(machine.key)) }
  }

  static func isWithin(_ one: Vector, _ other: Vector) -> Bool { one.allSatisfy { other[$0.key, default: 0] >= $0.value } }

  /// - Parameter isRaced: whether the put does not see the heads of others.
  func sync(_ machine: Machine, isRaced: Bool = false) throws {
    let seen = heads.filter { head in !heads.contains { $0 !== head && Self.isWithin(head.vector, $0.vector) } }
    let new = seen.filter { !Self.isWithin($0.vector, machine.bases[0].vector) }
    for head in new {
      let other = try head.place.unlock()
      let base = machine.bases.first { Self.isWithin($0.vector, head.vector) }?.base
      reports.append(
        try machine.vault.mergeHeads(machine.key) { (merge) throws(StoreError) in try merge.merge(other, since: base) })
      machine.agree(head.vector, try other.mergeBase(machine.key, from: machine.bases[0].base))
    }
    let own = try machine.vault.mergeBase(machine.key, from: machine.bases[0].base)
    if seen.count == 1, try seen[0].place.unlock().mergeBase(machine.key, from: own) == own {
      return machine.agree(seen[0].vector, own)
    }
    puts += 1
    var vector = seen.reduce(into: Vector()) { $0.merge($1.vector, uniquingKeysWith: max) }
    vector[machine.number + 10] = puts
    machine.agree(vector, own)
    let head = Head(vector, try copy(machine))
    if isRaced { late.append(head) } else { heads.append(head) }
  }

  /// Heads that were put at the same time as others.
  private var late: [Head] = []

  func deliver() {
    heads += late
    late = []
  }

  /// Everybody twice, with all heads delivered.
  func settle() throws {
    deliver()
    for _ in 0..<2 { for machine in machines { try sync(machine) } }
  }

  private func copy(_ machine: Machine) throws -> TemporaryVault {
    let place = try TemporaryVault()
    _ = try LockedVault.open(places[machine.number].path).backup(to: place.path)
    return place
  }
}
