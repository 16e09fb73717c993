internal import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat

/// The sides that changed a record since the base. No clock is asked.
enum MergeSince {
  /// The other vault alone.
  case theirs
  /// This vault, or nobody.
  case ours
  case both
}

/// The past of both vaults, for a merge.
struct MergeLines {
  let key: MergeKey
  let base: [RecordDigest: Set<MergeBase.Row>]
  let ours: [ItemID: [MergeSource]], theirs: [ItemID: [MergeSource]]
  private(set) var since: [ItemID: MergeSince] = [:]

  init(_ base: MergeBase, _ key: MergeKey, _ ours: MergeSide, _ theirs: MergeSide) throws(StoreError) {
    self.key = key
    self.base = base.lines(in: ours.pairs)
    (self.ours, self.theirs) = (ours.rows(), theirs.rows())
    for id in Set(self.ours.keys).union(self.theirs.keys) {
      let there = try digests(self.theirs[id], of: id, theirs.change)
      let here = try digests(self.ours[id], of: id, ours.change)
      if here == there, let own = self.ours[id], let other = self.theirs[id] {
        // Of equal rows, the same ones stay on all machines, or these would put their own seals for ever.
        since[id] = try Self.first(other, theirs.change) < Self.first(own, ours.change) ? .theirs : .ours
      } else if let had = self.base[id.digest(key.bytes)] {
        since[id] = there == had ? .ours : here == had ? .theirs : .both
      }
    }
  }

  private static func first(
    _ sources: [MergeSource], _ change: borrowing Change
  ) throws(StoreError) -> RecordID {
    try sources.map { (source) throws(StoreError) in try source.id(change) }.min() ?? .zero
  }

  private func digests(
    _ sources: [MergeSource]?, of id: ItemID, _ change: borrowing Change
  ) throws(StoreError) -> Set<MergeBase.Row> {
    var rows: Set<MergeBase.Row> = []
    for source in sources ?? [] { rows.insert(try source.row(of: id, key, change)) }
    return rows
  }

  /// Whether the base has this content among those of a record.
  func isKnown(_ record: borrowing OpenRecord, of id: ItemID) -> Bool {
    guard let rows = base[id.digest(key.bytes)] else { return false }
    let write = record.writeDigest(key.bytes)
    return rows.contains { $0.write == write }
  }
}

extension MergePlan {
  func since(_ id: ItemID) -> MergeSince? { lines?.since[id] }

  /// Those that the base lacks: the side that removed a record for good did not know them.
  func unknown(
    _ sources: [MergeSource], of id: ItemID, _ change: borrowing Change
  ) throws(StoreError) -> [MergeSource] {
    guard let lines else { return sources }
    var unknown: [MergeSource] = []
    for source in sources where try !lines.isKnown(source.open(change), of: id) { unknown.append(source) }
    return unknown
  }

  /// Whether only one vault has any row of a record that both had: the other removed it for good.
  func isPurged(_ id: ItemID) -> Bool {
    guard let lines, lines.since[id] != nil else { return false }
    return lines.ours[id] == nil || lines.theirs[id] == nil
  }

  /// Notes rows here that the other vault removed for good, knowing them.
  mutating func forget(_ id: ItemID, _ sources: [MergeSource]) throws(StoreError) {
    guard let lines, lines.theirs[id] == nil else { return }
    for source in sources where try lines.isKnown(source.open(ours.change), of: id) { forgotten.append(source) }
  }

  /// Notes the deleted records that only one vault changed since the base, or removed for good.
  mutating func noteDeleted() throws(StoreError) {
    guard let lines else { return }
    let present = Set(ours.all.map(\.id)).union(theirs.all.map(\.id))
    let leftOut = Set(theirs.deletions.all.filter { !$0.isCarried }.map(\.id))
    for (id, since) in lines.since where !present.contains(id) && !leftOut.contains(id) {
      let own = lines.ours[id] ?? []
      if since == .theirs {
        replaced.insert(id)
      } else if since == .both, try unknown(own.filter { $0.table == .old }, of: id, ours.change).isEmpty {
        if lines.theirs[id] == nil { replaced.insert(id) }
      } else if since == .both {
        try forget(id, ours.deletions.all.filter { $0.id == id }.flatMap(\.line.past))
      }
    }
  }

  /// Whether a record that takes no part has the name.
  func isTaken(_ name: ItemName) throws(StoreError) -> Bool {
    guard ours.pairs != nil || !ours.hidden.isEmpty else { return false }
    for side in [ours, theirs] {
      let index = side.items.index(of: name)
      let list = try side.items.records.list(of: side.items.bucket(of: index), side.change)
      if list.record(at: index) != nil { return true }
    }
    return false
  }

  /// Whether a field changed since, or is new: it keeps its item.
  func keepsItem(_ fields: [MergeRecord], unless unchanged: MergeSince) -> Bool {
    fields.contains { since($0.id) != unchanged }
  }
}

extension MergePlan {
  /// - Parameters:
  ///   - base: the last content that both sides agreed on, and the key of its digests.
  ///   - hides: whether records that are left out take no part; else they are told.
  init(
    _ ours: ItemTable, _ theirs: ItemTable, since base: (content: MergeBase, key: MergeKey)? = nil, keeping: Int? = nil,
    keepsDeleted: Bool, leavingOut isLeftOut: (VaultItem) -> Bool, hides: Bool = false,
    progress: (Int, Int) -> Void = { _, _ in }, _ change: inout Change
  ) throws(StoreError) {
    var none = Change()
    let pairs = Self.differing(ours, theirs, base?.content, change)
    let other = try MergeSide(theirs, isOurs: false, pairs: pairs, leavingOut: isLeftOut, hides: hides, &none)
    let own = try MergeSide(ours, isOurs: true, pairs: pairs, leavingOut: isLeftOut, hides: hides, &change)
    let lines = try base.map { (base) throws(StoreError) in try MergeLines(base.content, base.key, own, other) }
    try self.init(own, other, lines: lines, keeping: keeping, keepsDeleted: keepsDeleted, progress: progress)
  }

  /// The pairs of buckets to read; nil for all. Under one key, pairs of equal digests have equal rows.
  private static func differing(
    _ ours: ItemTable, _ theirs: ItemTable, _ base: MergeBase?, _ change: borrowing Change
  ) -> [Int]? {
    let mark = ours.view.keys.epochMark
    guard theirs.view.keys.epochMark == mark, base.map({ $0.mark == mark }) ?? true else { return nil }
    let none = Change()
    return (0..<MergeBase.pairs).filter { pair in
      ours.records.digests(ofPair: pair, change) != theirs.records.digests(ofPair: pair, none)
    }
  }
}
