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
  /// The contents of records that both sides changed, which the base has and a side removed.
  private var gone: [ItemID: Set<RecordDigest>] = [:]
  /// The contents that the base has and a side has no more, in any record: a merge may have moved them to another one.
  private var goneAnywhere: Set<RecordDigest> = []

  init(_ base: MergeBase, _ key: MergeKey, _ ours: MergeSide, _ theirs: MergeSide) throws(StoreError) {
    self.key = key
    // A record that both sides moved was in a pair that is now equal in both.
    self.base = base.lines(
      in: ours.pairs.map { pairs in
        let read = Set(pairs)
        return (0..<MergeBase.pairs).filter { pair in
          guard !read.contains(pair), let known = base.pairs[pair] else { return read.contains(pair) }
          return known.digests != ours.items.records.digests(ofPair: pair, ours.change)
        }
      })
    (self.ours, self.theirs) = (ours.rows(), theirs.rows())
    var allHere: Set<RecordDigest> = [], allThere: Set<RecordDigest> = []
    for id in Set(self.ours.keys).union(self.theirs.keys) {
      let there = try Self.digests(self.theirs[id], of: id, key, theirs.change)
      let here = try Self.digests(self.ours[id], of: id, key, ours.change)
      allThere.formUnion(there.map(\.write))
      allHere.formUnion(here.map(\.write))
      let had = self.base[id.digest(key.bytes)]
      if let had, here != had, there != had {
        gone[id] = Set(had.map(\.write)).subtracting(Set(here.map(\.write)).intersection(there.map(\.write)))
      }
      since[id] = try Self.since(had, here, there) { () throws(StoreError) in
        try Self.first(self.theirs[id], theirs.change) < Self.first(self.ours[id], ours.change)
      }
    }
    goneAnywhere = Set(self.base.values.joined().map(\.write)).subtracting(allHere.intersection(allThere))
  }

  /// - Parameter isFirst: whether the other vault's rows go before those of this one.
  private static func since(
    _ had: Set<MergeBase.Row>?, _ here: Set<MergeBase.Row>, _ there: Set<MergeBase.Row>,
    _ isFirst: () throws(StoreError) -> Bool
  ) throws(StoreError) -> MergeSince? {
    // Of equal rows, the same ones stay on all machines, or these would put their own seals for ever.
    if here == there { return try isFirst() ? .theirs : .ours }
    guard let had else { return nil }
    if there == had { return .ours }
    if here == had { return .theirs }
    switch (isUnchanged(here, had), isUnchanged(there, had)) {
    case (true, true): return try isFirst() ? .theirs : .ours
    case (true, false): return .theirs
    case (false, true): return .ours
    case (false, false): return .both
    }
  }

  /// Whether `rows` only lost previous versions, or got the number of a merge after their name.
  private static func isUnchanged(_ rows: Set<MergeBase.Row>, _ had: Set<MergeBase.Row>) -> Bool {
    !rows.isEmpty
      && rows.allSatisfy { row in had.contains { $0.write == row.write && $0.form.hasSameHalf(as: row.form) } }
  }

  private static func first(
    _ sources: [MergeSource]?, _ change: borrowing Change
  ) throws(StoreError) -> RecordID {
    try (sources ?? []).map { (source) throws(StoreError) in try source.id(change) }.min() ?? .zero
  }

  private static func digests(
    _ sources: [MergeSource]?, of id: ItemID, _ key: MergeKey, _ change: borrowing Change
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

  /// Whether a side removed this content, which both had.
  func isGone(_ record: borrowing OpenRecord, of id: ItemID) -> Bool {
    gone[id]?.contains(record.writeDigest(key.bytes)) ?? false
      || !isKnown(record, of: id) && goneAnywhere.contains(record.writeDigest(key.bytes))
  }
}

extension MergePlan {
  func since(_ id: ItemID) -> MergeSince? { lines?.since[id] }

  /// Those that no side removed since the base.
  func kept(_ sources: [MergeSource], of id: ItemID, _ change: borrowing Change) throws(StoreError) -> [MergeSource] {
    guard let lines else { return sources }
    var kept: [MergeSource] = []
    for source in sources where try !lines.isGone(source.open(change), of: id) { kept.append(source) }
    return kept
  }

  /// Whether only one vault has any row of a record that both had: the other removed it for good.
  func isPurged(_ id: ItemID) -> Bool {
    guard let lines, lines.since[id] != nil else { return false }
    return lines.ours[id] == nil || lines.theirs[id] == nil
  }

  /// Notes the deleted records that only one vault changed since the base, or removed for good, and the previous versions here
  /// that the other one removed.
  mutating func noteDeleted() throws(StoreError) {
    guard let lines else { return }
    let present = Set(ours.all.map(\.id)).union(theirs.all.map(\.id))
    let leftOut = Set(theirs.deletions.all.filter { !$0.isCarried }.map(\.id))
    for (id, since) in lines.since {
      let own = (lines.ours[id] ?? []).filter { $0.table == .old }
      let kept = try kept(own, of: id, ours.change)
      if !present.contains(id), !leftOut.contains(id) {
        if since == .theirs || (since == .both && lines.theirs[id] == nil && kept.isEmpty) { replaced.insert(id) }
      }
      let places = Set(kept.map(\.index))
      for source in own where !places.contains(source.index) {
        if try source.meta(ours.change).kind == .former { forgotten.append(source) }
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

  /// The pairs of buckets to read; nil for all. Under one key, pairs of equal digests have equal rows.
  static func differing(
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
