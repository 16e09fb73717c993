import CofferMemory
import CofferPlatform
import CofferTestSupport
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Random histories of a vault's key, with forks and left-out epochs, and a model that knows each key's origin. The library
/// makes the members' headers; others' are handmade.
@Suite(.tags(.campaign), .wholeRun)
struct LineageModelTests {
  private struct Node {
    let key: EpochKey
    let header: VaultHeader
    /// The index of the key that it came from.
    let parent: Int?
  }

  private struct History {
    let vault = VaultSalt.random()
    let slot: SealedSlot
    private(set) var nodes: [Node] = []

    init(_ random: inout Random) throws {
      let first = try EpochKey(vault, .random(in: 1...3, using: &random))
      slot = try .empty()
      nodes = [Node(key: first, header: try Self.header(slot, first, .first), parent: nil)]
      for _ in 0..<Int.random(in: 4...9, using: &random) {
        // Most come from the newest, some from an older one: two copies written independently.
        let parent = Bool.random(using: &random) ? nodes.count - 1 : .random(in: nodes.indices, using: &random)
        let skipped: UInt64 = .random(in: 0...9, using: &random) == 0 ? .random(in: 1...5, using: &random) : 0
        try rotate(parent, skipping: skipped)
      }
    }

    private mutating func rotate(_ parent: Int, skipping: UInt64) throws {
      let before = nodes[parent]
      let key = try EpochKey(vault, before.key.epoch + 1 + skipping)
      let slot = slot
      let header = try before.header.withNextLineage(before.key.subkeys(), isLast: true) { (lineage) throws(FormatError) in
        do { return try Self.header(slot, key, lineage) } catch let error as FormatError { throw error } catch {
          throw .damaged("test", "\(error)")
        }
      }
      nodes.append(Node(key: key, header: header, parent: parent))
    }

    private static func header(_ slot: SealedSlot, _ key: EpochKey, _ lineage: Lineage.Next) throws -> VaultHeader {
      let body = try HeaderBody(created: 1, rotated: 2, floor: .testing, labels: [""]) { _, _ in }
      return try VaultHeader(slots: [slot], body: body, keys: key.subkeys(), lineage: lineage)
    }

    /// Whether the key at `place` is the one at `other` or came from it.
    func comes(_ place: Int, from other: Int) -> Bool {
      var place: Int? = place
      while let here = place {
        if here == other { return true }
        place = nodes[here].parent
      }
      return false
    }

    func entries(before place: Int) -> [LineageEntry] {
      nodes.indices.filter { $0 != place && comes(place, from: $0) }.map { nodes[$0].key.entry }.sorted { $0.epoch < $1.epoch }
    }
  }

  private func outcome(_ error: FormatError?) -> String {
    switch error {
    case .contradicted(let it):
      if case .rolledBack = it.refusal { "rolledBack" } else if case .tooOld = it.refusal { "tooOld" } else { "\(it.refusal)" }
    case .some(let error): "\(error)"
    case .none: "holds"
    }
  }

  @Test func `genuine keys are told from others, and no forgery holds, in random histories`() throws {
    var tally = Tally()
    let count = Campaign.size(short: 60, long: 600)
    for seed in 0..<count {
      var random = Random(seed: UInt64(seed))
      let history = try History(&random)
      try judgePairs(history, &tally)
      try judgeForgeries(history, &random, &tally)
    }
    tally.report("lineages of \(count) random histories")
    #expect(tally.counts["forged, with nothing to check"]?["holds"] ?? 0 > 0, "without the check the forgeries open")
  }

  private func judgePairs(_ history: History, _ tally: inout Tally) throws {
    for (place, node) in history.nodes.enumerated() {
      for (other, anchored) in history.nodes.enumerated() {
        let expected =
          anchored.key.epoch > node.key.epoch ? "rolledBack" : history.comes(place, from: other) ? "holds" : "forked"
        let found = outcome(try node.header.refusal(node.key, proving: [anchored.key.anchor()]))
        tally.add("a genuine key, \(expected)", found, allowed: [expected], "\(place) from \(other)")
      }
    }
  }

  /// Forgeries by a writer who knows the keys up to one epoch, and the marks of all later ones.
  private func judgeForgeries(_ history: History, _ random: inout Random, _ tally: inout Tally) throws {
    let newest = history.nodes.count - 1
    let own = history.nodes[newest].key.epoch
    let line = history.entries(before: newest) + [history.nodes[newest].key.entry]
    let marks = history.nodes.indices.filter { history.comes(newest, from: $0) }.map { history.nodes[$0].key.mark }
    for known in 0..<line.count {
      let anchors = marks.filter { mark in !line[..<known].contains { $0.epoch == mark.epoch } }
      for epoch in [own, own + 1, own + .random(in: 2...9, using: &random), 1 << 40, FileCounter.most] {
        for fill in Fill.allCases {
          let key = try EpochKey(history.vault, epoch)
          let entries = line[..<known] + line[known...].compactMap { entry in fill.entry(for: entry, marks) }
          var draft = HeaderDraft(vault: history.vault, epoch: epoch)
          draft.slots = [history.slot]
          draft.entries = entries.filter { $0.epoch < epoch }
          let header = try draft.header(key)
          let group = known == 0 ? "forged without a key" : "forged by a former member"
          for mark in anchors where .random(in: 0...3, using: &random) == 0 || mark == anchors.last {
            let found = outcome(try header.refusal(key, proving: [Anchor(vault: history.vault, key: mark, source: .pin)]))
            tally.add("\(group), \(fill)", found, allowed: ["forked"], "\(mark.epoch) of \(epoch), \(known) known")
          }
          tally.add(
            "forged, with nothing to check", outcome(try header.refusal(key, proving: [])), allowed: ["holds"], "\(epoch)")
        }
      }
    }
  }

  private enum Fill: CaseIterable {
    case nothing, random, mark, neighbor

    func entry(for entry: LineageEntry, _ marks: [EpochMark]) -> LineageEntry? {
      switch self {
      case .nothing: nil
      case .random: .random(entry.epoch)
      case .mark: marks.first { $0.epoch == entry.epoch }.map { LineageEntry(epoch: entry.epoch, secret: $0.mark.bytes) }
      // The previous epoch's secret under this one's number, if known; here it is not.
      case .neighbor: .random(entry.epoch &+ 1)
      }
    }
  }
}

extension HeaderDraft {
  func header(_ key: EpochKey) throws -> VaultHeader { try VaultHeader(decoding: bytes(key)) }
}

extension SealedSlot {
  /// A recipient's slot with an empty box, for headers that nobody opens with it.
  static func empty() throws -> SealedSlot {
    let publicKey = try #require(PublicKey32(SecretBytes.random(32).revealed))
    let frame = SlotFrame(id: .random(), kind: .recipient, cost: nil, salt: .zero, publicKey: publicKey)
    return SealedSlot(
      frame: frame, own: nil, ephemeral: .zero, box: CommittedBox(bytes: [UInt8](repeating: 0, count: SealedSlot.boxBytes)))
  }
}
