import CofferTestSupport
import CofferMemory
import CofferStorage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

@Suite struct StateTests {
  let sample: SampleVault
  init() throws { sample = try SampleVault() }

  func open(_ row: [UInt8], epoch: UInt64 = 3, header: Digest32? = nil) throws -> VaultState {
    let digest = header ?? sample.headerDigest
    return try row.span.bytes.withUnsafeBytes { (row) throws(FormatError) in
      try VaultState(opening: row, epoch: epoch, header: digest, keys: sample.keys)
    }
  }

  func seal(_ state: VaultState) -> [UInt8] { state.sealed(epoch: sample.epoch, header: sample.headerDigest, keys: sample.keys) }

  @Test(arguments: [0, 1, 255]) func `comes back as it was sealed`(_ replicas: Int) throws {
    let state = sample.state(replicas: replicas)
    let row = seal(state)
    #expect(try open(row) == state)
    #expect(row.count <= VaultState.largest)
    #expect(state.replicas.map(\.id) == state.replicas.map(\.id).sorted())
  }

  @Test func `refuses every flipped bit and every truncation`() {
    let row = seal(sample.state())
    for flipped in flips(row) { #expect(throws: FormatError.unauthentic("state")) { try open(flipped) } }
    for count in 0..<row.count { #expect(throws: FormatError.self) { try open(Array(row.prefix(count))) } }
    #expect(throws: FormatError.self) { try open(row + [0]) }
  }

  @Test func `a replica's entry is of this commit or of an earlier one`() throws {
    for (generation, isThis, isSound) in [
      (9, true, true), (9, false, false), (10, true, false), (8, false, true), (1, false, true), (0, false, false),
    ]
      as [(UInt64, Bool, Bool)]
    {
      var state = sample.state(generation: 9, replicas: 0)
      var other = state
      other.generation = generation
      if !isThis { other.commit = .random() }
      other.note(.random())
      (other.generation, other.commit) = (state.generation, state.commit)
      state = other
      #expect((try? open(seal(state))) == (isSound ? state : nil), "\(generation)")
    }
    let first = sample.state(generation: 0, replicas: 0)
    #expect(throws: FormatError.self) { try open(seal(first)) }
  }

  @Test func `belongs to its header, epoch and vault`() throws {
    let row = seal(sample.state())
    #expect(throws: FormatError.unauthentic("state")) { try open(row, epoch: 4) }
    #expect(throws: FormatError.unauthentic("state")) { try open(row, header: .zero) }
    let other = try SampleVault()
    let foreign = other.state().sealed(epoch: 3, header: sample.headerDigest, keys: other.keys)
    let error = #expect(throws: FormatError.unauthentic("state")) { try open(foreign) }
    #expect(error?.storeError().kind == .tampered)
  }

  @Test func `the 256th replica takes the place of the one seen longest ago`() {
    var state = sample.state(generation: 1, replicas: 0)
    let ids = (0..<256).map { _ in ReplicaID.random() }
    for (place, id) in ids.enumerated() {
      state.generation = UInt64(100 + (place == 7 ? -50 : place))
      let lost = state.note(id)
      #expect(lost?.id == (place == 255 ? ids[7] : nil) && lost?.generation == (place == 255 ? 50 : nil))
    }
    #expect(state.replicas.count == VaultState.mostReplicas)
    #expect(state.replica(ids[7]) == nil)
    #expect(state.replica(ids[255])?.generation == 355)
    state.generation = 500
    state.note(ids[3])
    #expect(state.replicas.count == VaultState.mostReplicas)
    #expect(state.replica(ids[3])?.generation == 500)
    #expect(state.replicas.map(\.id) == state.replicas.map(\.id).sorted())
  }
}
