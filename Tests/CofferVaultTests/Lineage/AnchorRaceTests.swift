import CofferMemory
import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import Synchronization
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// A vault's key changes during a read, by others or by one's own uncommitted change.
@Suite struct AnchorRaceTests {
  /// A slow pin: others act before its bytes are read.
  private final class SlowPin: Sendable {
    private let left: Mutex<Int>
    private let isLocked = Mutex(false)
    let act: @Sendable () -> Void

    init(_ times: Int, _ act: @escaping @Sendable () -> Void) {
      left = Mutex(times)
      self.act = act
    }

    var calls: SystemCalls {
      let system = SystemCalls()
      var calls = system
      calls.lock = { descriptor, operation in
        let result = system.lock(descriptor, operation)
        self.isLocked.withLock { $0 = operation != LOCK_UN && result == 0 }
        return result
      }
      calls.read = { descriptor, bytes, offset in
        let isDue = self.left.withLock { left in
          guard offset == 0, left > 0, !self.isLocked.withLock({ $0 }) else { return false }
          left -= 1
          return true
        }
        if isDue { self.act() }
        return system.read(descriptor, bytes, offset)
      }
      return calls
    }
  }

  @Test func `a reader beside one rotation after another is told of no older key`() throws {
    let pinned = try PinnedVault()
    let reader = try pinned.unlock()
    let other = try pinned.unlock()
    nonisolated(unsafe) let holder = FullVault.VaultEngineHolder(other)
    let slow = SlowPin(5) {
      do { try holder.unlocked.rotate() } catch { Issue.record(error) }
    }
    let (options, path, calls) = (pinned.options, pinned.place.path, slow.calls)
    let folder = try #require(options.pins)
    try reader.core.run { (vault) throws(StoreError) in
      // Reads once, and so rotates once.
      vault.view.pins = try PinWatch(folder, vault: vault.view.header.vault, place: .file(path), calls: calls)
    }
    #expect(text(try reader.get(pinned.name)) == "value 2")
    #expect(try holder.unlocked.status().epoch >= 3)
    #expect(text(try reader.get(pinned.name)) == "value 2")
    try reader.set(form("and on"), for: pinned.name)
    #expect(try pinned.refusal() == nil)
  }

  @Test func `a reader beside one commit after another is told of no older state`() throws {
    let pinned = try PinnedVault()
    let reader = try pinned.unlock()
    let other = try pinned.unlock()
    nonisolated(unsafe) let holder = FullVault.VaultEngineHolder(other)
    let name = pinned.name
    let commits = Mutex(0)
    let slow = SlowPin(5) {
      let number = commits.withLock { count in
        count += 1
        return count
      }
      do { try holder.unlocked.set(form("commit \(number)"), for: name) } catch { Issue.record(error) }
    }
    let (options, path, calls) = (pinned.options, pinned.place.path, slow.calls)
    let folder = try #require(options.pins)
    try reader.core.run { (vault) throws(StoreError) in
      // Reads once, and so commits once.
      vault.view.pins = try PinWatch(folder, vault: vault.view.header.vault, place: .file(path), calls: calls)
    }
    let found = text(try reader.get(name))
    let last = commits.withLock { $0 }
    #expect(last >= 3, "one within the transaction, and one before that of the second look")
    #expect(found == "commit \(last)")
    try reader.set(form("and on"), for: name)
    #expect(try pinned.refusal() == nil)
  }

  @Test func `a record of a later key, or of another one of its epoch, is left as it is`() throws {
    let (vault, replica) = (VaultSalt.random(), ReplicaID.random())
    var state = VaultState(generation: 9, commit: .random(), root: .zero, counts: .none, time: 0, logSequence: 0, logHead: .zero)
    state.note(replica)
    let (mine, other) = (try EpochKey(vault, 3), try EpochKey(vault, 3))
    func record(_ key: EpochMark, _ generation: UInt64 = 5) -> PinRecord {
      PinRecord(vault: vault, replica: replica, key: key, seen: .init(generation: generation, commit: .random()), own: .never)
    }
    for accepted in [try EpochKey(vault, 4).mark, other.mark] {
      var kept = record(accepted)
      let before = kept
      #expect(!kept.take(state, key: mine.mark) && kept == before)
    }
    var same = record(mine.mark)
    #expect(same.take(state, key: mine.mark) && same.seen == state.mark && same.own == state.mark && same.key == mine.mark)
    var earlier = record(try EpochKey(vault, 2).mark)
    #expect(earlier.take(state, key: mine.mark) && earlier.key == mine.mark && earlier.seen == state.mark)
    // A key is stored with the commit in which it was seen.
    var newer = record(try EpochKey(vault, 2).mark, 20)
    let before = newer
    _ = newer.take(state, key: mine.mark)
    #expect(newer.seen == before.seen && newer.key == before.key)
  }

  @Test func `the rules of the pin are asked in their order: the key, then the generation, then the own commit`() throws {
    let (vault, replica) = (VaultSalt.random(), ReplicaID.random())
    let (mine, other) = (try EpochKey(vault, 3).mark, try EpochKey(vault, 3).mark)
    let older = VaultState(generation: 4, commit: .random(), root: .zero, counts: .none, time: 0, logSequence: 0, logHead: .zero)
    let record = PinRecord(
      vault: vault, replica: replica, key: mine, seen: .init(generation: 9, commit: .random()),
      own: .init(generation: 9, commit: .random()))
    func refusal(_ key: EpochMark) -> StoreError? {
      do throws(StoreError) {
        _ = try record.check(older, key: key, vault: "/vault")
        return nil
      } catch { return error }
    }
    #expect(refusal(other)?.kind == .forked)
    #expect(refusal(mine)?.kind == .rolledBack)
    #expect(refusal(.some(2))?.what.contains("epoch") == true)
  }

  @Test func `a pin of epoch zero, of generation zero, or of a commit before the first is none`() throws {
    func reads(_ record: PinRecord) -> Bool {
      record.encoded().span.bytes.withUnsafeBytes { bytes in
        do throws(FormatError) { return try PinRecord(decoding: bytes) == record } catch { return false }
      }
    }
    func record(_ epoch: UInt64, _ seen: UInt64, _ own: PinRecord.Mark) -> PinRecord {
      PinRecord(
        vault: .random(), replica: .random(), key: .some(epoch), seen: .init(generation: seen, commit: .random()), own: own)
    }
    #expect(reads(record(1, 1, .never)) && reads(record(1, 1, .init(generation: 1, commit: .random()))))
    #expect(!reads(record(0, 1, .never)) && !reads(record(1, 0, .never)))
    #expect(!reads(record(1, 1, .init(generation: 0, commit: .random()))))
  }

  /// Rotates in a transaction that then fails.
  private func rotateInVain(_ vault: OpenVault, dropping slot: SlotID? = nil) throws {
    struct GivenUp: Error {}
    let rotation = Rotation(view: vault.view, items: vault.items, slots: vault.slots, log: vault.log)
    let refusal = kind {
      try vault.write { (_, change) throws(StoreError) in
        var plan = SlotPlan()
        if let slot { plan.dropped = [slot] }
        try rotation.run(plan, &change) { _, _ in }
        throw StoreError(.noSpace, "given up", cure: "-")
      }
    }
    #expect(refusal == .noSpace)
    // As a header change does after a failure.
    vault.view.forgetHeader()
  }

  @Test func `a rotation that comes to nothing leaves the key that was held, before a forgery and for the next commit`() throws {
    let world = try MemberVault()
    let options = VaultOptions(pins: nil, invitations: [world.invitation(1)])
    let vault = try OpenVault.unlock(
      .file(world.place.path), with: MemberVault.credentials(identity: world.identity), options: options)
    let held = vault.view.slot.key.bytes.revealed
    func value() throws -> String? {
      try vault.read { (vault) throws(StoreError) in try vault.items.get(MemberVault.name)?.form }.map { form in
        form.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      }
    }
    try rotateInVain(vault)
    #expect(vault.view.keys.epochMark.epoch == MemberVault.removal + 1, "until the file is read again")
    for epoch in [MemberVault.removal, MemberVault.removal + 1, MemberVault.removal + 2] {
      let key = try EpochKey(world.vault, epoch)
      var draft = HeaderDraft(vault: world.vault, epoch: epoch)
      draft.slots = try world.header.slots.map { try $0.sealed(key) }
      draft.entries = (1..<epoch).map { .random($0) }
      try world.put(draft.bytes(key), under: key)
      #expect(kind { _ = try value() } == (epoch == MemberVault.removal ? .tampered : .forked))
      #expect(vault.view.slot.key.bytes.revealed == held && vault.view.keys.epochMark == world.keys[3].mark)
      try rotateOrNot(world, vault)
    }
    #expect(try value() == "genuine")
    // The slot that it was about to lose is still its own.
    try rotateInVain(vault, dropping: vault.view.slot.id)
    #expect(try value() == "genuine" && vault.view.slot.key.bytes.revealed == held)
    try rotateInVain(vault)
    try world.place.unlock().rotate()
    #expect(try value() == "genuine" && vault.view.keys.epochMark.epoch == MemberVault.removal + 1)
    let form = try form("after")
    _ = try vault.write { (vault, change) throws(StoreError) in
      try vault.items.put(form, for: MemberVault.name, if: .always, &change)
    }
    #expect(text(try world.place.unlock().get(MemberVault.name)) == "after")
  }

  /// Puts the genuine vault back, and rotates in vain again before the next read.
  private func rotateOrNot(_ world: MemberVault, _ vault: OpenVault) throws {
    try world.putBack()
    try rotateInVain(vault)
  }
}
