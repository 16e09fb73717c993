import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import CofferVaultRows
import Foundation
import Testing

@testable import CofferSync
@testable import CofferVault
@testable import CofferVaultFormat

/// What a store can put in place of a vault's pieces.
@Suite struct WrongPieceTests {
  private let place: PutVault
  private let ada = ItemName(sealed: "svc", "ada"), bob = ItemName(sealed: "svc", "bob")
  init() throws { place = try PutVault() }

  private func small() throws -> UnlockedVault {
    let vault = try place.create()
    try vault.set(form("one"), for: ada)
    try vault.set(form("two"), for: ada, keeping: 1)
    return vault
  }

  /// Opens and reads all rows, as a merge does; or checks the whole, too.
  private func refusal(_ put: Put, by vault: borrowing UnlockedVault, verifying: Bool = true) throws -> StoreError.Kind? {
    do throws(StoreError) {
      let head = try HeadVault.open(put.pieces(), by: vault)
      if verifying { _ = try head.verify() }
      try HeadVault.read(head) { (rows) throws(StoreError) in
        for pair in 0..<Group.pairs { try rows.forEachRow(ofPair: pair) { _, _, _ in } }
      }
      return nil
    } catch {
      #expect(!error.cure.isEmpty)
      return error.kind
    }
  }

  /// The put with its group's names as a store gives them that changes all it can.
  private func renamed(_ put: Put, _ change: (inout [UInt8]) -> Void) -> Put {
    var bytes = put.groups[put.head.groups[0].hash] ?? []
    change(&bytes)
    let hash = PlainHash.digest(bytes)
    let entry = Head.Entry(number: put.head.groups[0].number, hash: hash, byteCount: bytes.count)
    let head = Head(
      groupCount: put.head.groupCount, header: put.head.header, state: put.head.state,
      groups: [entry] + put.head.groups.dropFirst())
    return Put(head: head, groups: put.groups.merging([hash: bytes]) { $1 })
  }

  @Test(.tags(.slow), .defaultRun)
  func `a group with any changed byte is damaged, and tampered or damaged where its name is changed too`() throws {
    let vault = try small()
    let put = try Put.make(vault)
    #expect(try refusal(put, by: vault) == nil)
    let hash = put.head.groups[0].hash
    let bytes = try #require(put.groups[hash])
    for at in bytes.indices {
      var flipped = put
      flipped.groups[hash]?[at] ^= 1 << (at % 8)
      #expect(try refusal(flipped, by: vault, verifying: false) == .damaged, "\(at)")
      let kind = try refusal(renamed(put) { $0[at] ^= 1 << (at % 8) }, by: vault, verifying: false)
      #expect([.damaged, .tampered].contains(kind), "\(at)")
    }
  }

  @Test func `a head with any changed byte has another name, and is refused under it too`() throws {
    let vault = try small()
    let put = try Put.make(vault)
    let bytes = put.head.encoded()
    for at in bytes.indices {
      var flipped = bytes
      flipped[at] ^= 1 << (at % 8)
      #expect(try kind { _ = try Head(flipped, named: put.head.name, at: "there") } == .damaged)
      let head: Head
      do throws(FormatError) { head = try decoded(flipped) } catch { continue }
      let kind = try refusal(Put(head: head, groups: put.groups), by: vault, verifying: false)
      // A name of a group that is not there is met before its bytes.
      #expect(
        [.damaged, .tampered, .newerFormat(found: 0, supported: 0), .replaced, .unreachable].contains { same($0, kind) }, "\(at)")
    }
  }

  private func same(_ expected: StoreError.Kind, _ found: StoreError.Kind?) -> Bool {
    if case .newerFormat = expected, case .newerFormat = found { return true }
    return expected == found
  }

  @Test func `rows that are removed, added, repeated or of an earlier commit are tampered or damaged`() throws {
    let vault = try small()
    let before = try Put.make(vault)
    try vault.set(form("three"), for: ada, keeping: 1)
    try vault.set(form("bob"), for: bob)
    let after = try Put.make(vault, generation: 2)
    #expect(before.head.groupCount == 1 && after.head.groupCount == 1)
    // The rows of one commit under the state of another.
    for (head, rows) in [(after, before), (before, after)] {
      let mixed = Put(
        head: Head(groupCount: 1, header: head.head.header, state: head.head.state, groups: rows.head.groups),
        groups: rows.groups)
      #expect(try refusal(mixed, by: vault) == .tampered)
    }
    // No group where there is one.
    let none = Put(head: Head(groupCount: 1, header: after.head.header, state: after.head.state, groups: []), groups: [:])
    #expect(try refusal(none, by: vault) == .tampered)
    let group = try #require(after.groups[after.head.groups[0].hash])
    #expect(try refusal(renamed(after) { $0 += group }, by: vault) == .damaged)
    #expect(try refusal(renamed(after) { $0.removeLast() }, by: vault) == .damaged)
    // A whole row less: the first one is as long as its lengths say.
    let meta = Int(group[33]) | Int(group[34]) << 8
    let value = Int(group[37 + meta]) | Int(group[38 + meta]) << 8
    #expect(try refusal(renamed(after) { $0.removeFirst(37 + meta + 4 + value) }, by: vault) == .tampered)
    // One byte less or more than the head says.
    var short = after
    short.groups[after.head.groups[0].hash]?.removeLast()
    #expect(try refusal(short, by: vault) == .damaged)
  }

  @Test func `groups in each other's places are damaged, and one for another is too`() throws {
    let vault = try place.create()
    _ = try vault.add((0..<200).map { ImportedItem(name: ItemName(sealed: "svc", "\($0)"), form: try form("\($0)")) })
    let put = try Put.make(vault)
    let entries = put.head.groups
    #expect(entries.count > 1)
    func with(_ groups: [Head.Entry]) -> Put {
      Put(
        head: Head(groupCount: put.head.groupCount, header: put.head.header, state: put.head.state, groups: groups),
        groups: put.groups)
    }
    func entry(_ number: Int, _ other: Head.Entry) -> Head.Entry {
      Head.Entry(number: number, hash: other.hash, byteCount: other.byteCount)
    }
    let (first, second) = (entries[0], entries[1])
    let swapped = [entry(first.number, second), entry(second.number, first)] + entries.dropFirst(2)
    #expect(try refusal(with(swapped), by: vault) == .damaged)
    #expect(try refusal(with([first, entry(second.number, first)] + entries.dropFirst(2)), by: vault) == .damaged)
    #expect(try refusal(with(Array(entries.dropFirst())), by: vault) == .tampered)
    var missing = put
    missing.groups[second.hash] = nil
    #expect(try refusal(missing, by: vault) == .unreachable)
  }

  @Test func `a head without its own entry in the vector is damaged`() throws {
    let vault = try small()
    let put = try Put.make(vault)
    let other = VaultState.Replica(id: Put.machine, generation: 1, commit: .random())
    let (header, state) = try HeadVault.read(vault) { (rows) throws(StoreError) in
      let own = VaultState(
        generation: 2, commit: .random(), root: rows.state.root, counts: rows.state.counts, time: 1, logSequence: 0,
        logHead: .zero,
        replicas: [other])
      return (put.head.header, own.sealed(epoch: rows.key.epoch, header: rows.view.headerDigest, keys: rows.view.keys))
    }
    let head = Head(groupCount: 1, header: header, state: state, groups: put.head.groups)
    #expect(try refusal(Put(head: head, groups: put.groups), by: vault) == .damaged)
  }
}
