import CofferMemory
import CofferPlatform
import CofferTestSupport
import Testing

@testable import CofferVault
@testable import CofferVaultFormat
@testable import CofferVaultRows

@Suite struct LineageTests {
  private let vault = VaultSalt.random()

  private func header(_ key: EpochKey, _ entries: [LineageEntry], _ edit: (inout HeaderDraft) -> Void = { _ in }) throws
    -> VaultHeader
  {
    var draft = HeaderDraft(vault: key.vault, epoch: key.epoch)
    draft.slots = [try .empty()]
    draft.entries = entries
    edit(&draft)
    return try draft.header(key)
  }

  @Test func `lists out of order, double, of epoch zero, of the header's own or a later one, or too long are damage`() throws {
    let keys = try (1...5).map { try EpochKey(vault, $0) }
    let own = keys[4]
    let lists: [(String, [LineageEntry])] = [
      ("unordered", [keys[1].entry, keys[0].entry]), ("double", [keys[1].entry, keys[1].entry]),
      ("zero", [.random(0), keys[0].entry]), ("its own", [keys[0].entry, own.entry]), ("a later one", [.random(6)]),
      ("beyond the last number", [.random(FileCounter.most + 1)]), ("the greatest", [.random(.max)]),
    ]
    for (name, entries) in lists {
      let refusal = try header(own, entries).refusal(own, proving: [])
      #expect(refusal?.kind == .damaged, "\(name)")
    }
    let many = try EpochKey(vault, 5_000)
    let entries = (1...1_025).map { LineageEntry.random($0) }
    #expect(try header(many, entries).refusal(many, proving: [])?.kind == .damaged)
    #expect(try header(many, Array(entries.dropLast())).refusal(many, proving: []) == nil)
    for count in [0, 1, 3, 1_025, 1 << 20, Int(UInt32.max)] {
      let wrong = try header(own, [keys[0].entry, keys[1].entry]) { $0.entryCount = count }
      #expect(try wrong.refusal(own, proving: [])?.kind == .damaged, "k is \(count), and two follow")
    }
    #expect(try header(own, [keys[0].entry]) { $0.padding = 1 }.refusal(own, proving: [])?.kind == .damaged)
  }

  @Test func `a header of epoch zero, of too few or too many slots, of two with one key, or too long is damage`() throws {
    func refusal(_ edit: (inout HeaderDraft) throws -> Void) throws -> StoreError.Kind? {
      let key = try EpochKey(vault, 3)
      var draft = HeaderDraft(vault: vault, epoch: 3)
      draft.slots = [try .empty()]
      try edit(&draft)
      let bytes = try draft.bytes(key)
      do throws(FormatError) {
        _ = try VaultHeader(decoding: bytes)
        return nil
      } catch { return error.kind }
    }
    func slots(_ count: Int) throws -> [SealedSlot] { try (0..<count).map { _ in try .empty() }.sorted { $0.id < $1.id } }
    #expect(try refusal { _ in } == nil)
    #expect(try refusal { $0.epoch = 0 } == .damaged)
    #expect(try refusal { $0.epoch = FileCounter.most } == nil)
    #expect(try refusal { $0.epoch = FileCounter.most + 1 } == .damaged)
    #expect(try refusal { $0.slots = [] } == .damaged)
    #expect(try refusal { $0.slots = try slots(240) } == nil)
    #expect(try refusal { $0.slots = try slots(241) } == .damaged)
    #expect(try refusal { $0.slots = try slots(256) } == .damaged)
    #expect(try refusal { $0.slots = try slots(257) } == .damaged)
    #expect(try refusal { $0.slotCount = 0 } == .damaged)
    #expect(
      try refusal { draft in
        let frame = draft.slots[0].frame
        let twin = SlotFrame(id: .random(), kind: .recipient, cost: nil, salt: .zero, publicKey: frame.publicKey)
        let second = SealedSlot(frame: twin, own: nil, ephemeral: .zero, box: draft.slots[0].box)
        draft.slots = [draft.slots[0], second].sorted { $0.id < $1.id }
      } == .damaged)
    func owned(_ count: Int) throws -> [SealedSlot] {
      try slots(count).map {
        let frame = SlotFrame(id: $0.id, kind: .keyFile, cost: nil, salt: .random(), publicKey: $0.frame.publicKey)
        let own = CommittedBox(bytes: [UInt8](repeating: 0, count: SealedSlot.ownBytes))
        return SealedSlot(frame: frame, own: own, ephemeral: .zero, box: $0.box)
      }
    }
    #expect(try refusal { $0.slots = try owned(16) } == nil)
    #expect(try refusal { $0.slots = try owned(17) } == .damaged)
    // The sealed part makes a header as long as the limit, and one byte longer.
    let plain = try { () throws -> Int in
      var draft = HeaderDraft(vault: vault, epoch: 3)
      draft.slots = [try .empty()]
      return try draft.bytes(EpochKey(vault, 3)).count
    }()
    #expect(try refusal { $0.padding = VaultHeader.largest - plain } == nil)
    #expect(try refusal { $0.padding = VaultHeader.largest - plain + 1 } == .damaged)
  }

  /// A weekly rotation for twenty years, as cheaply as possible: the list alone.
  @Test(arguments: [1, 2, 1_023, 1_024, 1_025, 3_000] as [UInt64])
  func `an anchor holds over as many rotations as a header lists, and not over one more`(_ rotations: UInt64) throws {
    let (first, middle) = (try EpochKey(vault, 1), try EpochKey(vault, 1 + rotations / 2))
    let own = try EpochKey(vault, 1 + rotations)
    let kept = max(1, own.epoch - min(own.epoch - 1, 1_024))..<own.epoch
    let entries = kept.map { $0 == 1 ? first.entry : $0 == middle.epoch ? middle.entry : .random($0) }
    let header = try header(own, entries)
    let tooOld = rotations > 1_024
    let refusal = try header.refusal(own, proving: [first.anchor()])
    #expect(refusal == (tooOld ? .contradicted(first.anchor(), .tooOld(most: Lineage.most)) : nil))
    #expect(refusal.map(\.kind) == (tooOld ? .forked : nil))
    if tooOld { #expect(refusal?.storeError().what.contains("more than 1024 times") == true) }
    // A later anchor that holds stands for an earlier one in any order, but does not excuse one that fails.
    if kept.contains(middle.epoch), middle.epoch > 1 {
      for anchors in [
        [first.anchor(), middle.anchor(.slot)], [middle.anchor(.slot), first.anchor()], [first.anchor(), own.anchor(.heldKey)],
      ] {
        #expect(try header.refusal(own, proving: anchors) == nil)
      }
      let other = try EpochKey(vault, middle.epoch + 1 < own.epoch ? middle.epoch + 1 : own.epoch)
      for anchors in [[first.anchor(), other.anchor()], [other.anchor(), middle.anchor(), first.anchor()]] {
        #expect(try header.refusal(own, proving: anchors)?.kind == .forked)
      }
    }
    // An outsider can fill the list, and so make every anchor too old; that proves nothing.
    let forged = try EpochKey(vault, 1 << 40)
    let filled = try self.header(forged, ((forged.epoch - 1_024)..<forged.epoch).map { .random($0) })
    #expect(
      try filled.refusal(forged, proving: [first.anchor(), middle.anchor(.slot), own.anchor(.invitation)])?.kind == .forked)
  }

  @Test func `the library's own rotations keep the newest 1024 epochs, lowest first to go`() throws {
    var entries: [LineageEntry] = (1...1_023).map { .random($0) }
    var key = try EpochKey(vault, 1_024)
    var header = try header(key, entries)
    for _ in 0..<3 {
      let next = try EpochKey(vault, key.epoch + 1)
      let slots = header.slots
      let made = try header.withNextLineage(key.subkeys(), isLast: true) { (lineage) throws(FormatError) in
        let body = try HeaderBody(created: 1, rotated: 1, floor: .testing, labels: [""]) { _, _ in }
        return try VaultHeader(slots: slots, body: body, keys: next.subkeys(), lineage: lineage)
      }
      entries = (entries + [key.entry]).suffix(1_024)
      (header, key) = (made, next)
      let oldest = try #require(entries.first)
      #expect(entries.count == 1_024 && oldest.epoch == key.epoch - 1_024)
      for entry in [oldest, entries[500], entries[1_023]] {
        let mark = entry.secret.span.bytes.withUnsafeBytes { EpochMark(of: $0, vault: vault, epoch: entry.epoch) }
        #expect(try header.refusal(key, proving: [Anchor(vault: vault, key: mark, source: .pin)]) == nil)
      }
      #expect(
        try header.refusal(key, proving: [Anchor(vault: vault, key: .some(oldest.epoch - 1), source: .pin)])?.kind == .forked)
    }
  }

  @Test func `of several anchors that do not hold, another vault is told first, then an older key, then a fork`() throws {
    let keys = try (1...4).map { try EpochKey(vault, $0) }
    let other = try EpochKey(VaultSalt.random(), 3)
    let own = keys[2]
    let header = try header(own, [keys[0].entry, keys[1].entry])
    let forked = Anchor(vault: vault, key: .some(2), source: .slot)
    let older = keys[3].anchor(.invitation)
    let replaced = other.anchor(.invitation)
    for anchors in [[forked, older, replaced], [replaced, older, forked], [older, replaced, forked]] {
      #expect(try header.refusal(own, proving: anchors) == .contradicted(replaced, .replaced))
    }
    for anchors in [[forked, older], [older, forked]] {
      #expect(try header.refusal(own, proving: anchors) == .contradicted(older, .rolledBack(found: 3)))
    }
    #expect(try header.refusal(own, proving: [keys[0].anchor(), forked]) == .contradicted(forked, .forked))
  }
}
