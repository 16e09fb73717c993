package import CofferPlatform
internal import CofferStorage
package import CofferVaultFormat
package import CofferVaultRows

// Rows that stay on this machine are in no base and in no head: as those lack them everywhere, no merge removes them.

extension MergeBase.Kept {
  /// By the number of the pair.
  static func find(
    _ rows: [MergeSource], _ items: ItemTable, _ change: borrowing Change
  ) throws(StoreError) -> [Int: Self] {
    var found: [Int: Self] = [:]
    for (pair, rows) in Dictionary(grouping: rows, by: { RecordTable.present.bucket(of: $0.index) }) {
      var (digests, counts) = ([Digest32](), RecordCounts.none)
      for row in rows { counts.add(try row.meta(change)) }
      for table in RecordTable.allCases {
        let gone = Set(rows.filter { $0.table == table }.map(\.index))
        let bucket = table.buckets.lowerBound + pair
        let entries = try items.records.list(of: bucket, change).entries.filter { !gone.contains($0.index) }
        digests.append(DigestTree.digest(bucket, entries, keys: items.view.keys))
      }
      found[pair] = Self(digests: digests, counts: counts)
    }
    return found
  }
}

extension MergeBase {
  /// Whether an item stays on its machine: a login, or the anchor of a log, whose files are here alone.
  @Sendable static func leavesOut(_ item: VaultItem) -> Bool {
    item.isOfLogin || item.name.service.utf8.starts(with: ItemName.logsOfUses.utf8)
  }

  /// The digests that a head of this content has in a pair.
  package func digests(ofPair pair: Int) -> [Digest32] {
    pairs[pair].map { $0.kept?.digests ?? $0.digests } ?? [.zero, .zero]
  }

  /// Those of all buckets.
  var digests: [Digest32] {
    var all = [Digest32](repeating: .zero, count: DigestTree.buckets)
    for pair in 0..<Self.pairs {
      for (table, digest) in zip(RecordTable.allCases, digests(ofPair: pair)) { all[table.buckets.lowerBound + pair] = digest }
    }
    return all
  }

  var keptCounts: RecordCounts {
    pairs.values.compactMap(\.kept).reduce(into: .none) { sum, kept in
      sum.records += kept.counts.records
      sum.items += kept.counts.items
      sum.fields += kept.counts.fields
    }
  }
}

extension CommittedRows {
  /// The root that a head of this content has.
  package func root(of content: MergeBase) -> Digest32 { DigestTree(content.digests, keys: view.keys).root }

  /// The number of items that a head of this content has, but for those of `names`.
  package func items(of content: MergeBase, without names: [ItemName]) throws(StoreError) -> Int {
    let items = ItemTable(view: view).whole
    var count = Int(clamping: counts(of: content).items)
    for name in names where try items.version(of: name) != .absent { count -= 1 }
    return count
  }

  /// The indices of a pair's rows that stay on this machine.
  private func kept(ofPair pair: Int, of content: MergeBase) throws(StoreError) -> Set<RecordIndex> {
    guard content.pairs[pair]?.kept != nil else { return [] }
    var none = Change()
    let items = ItemTable(view: view)
    let side = try MergeSide(items, isOurs: true, pairs: [pair], leavingOut: MergeBase.leavesOut, hides: true, &none)
    return Set(side.hiddenRows.map(\.index))
  }

  /// The counts that a head of this content has.
  private func counts(of content: MergeBase) -> RecordCounts {
    var (counts, kept) = (view.state.counts, content.keptCounts)
    counts.records -= min(counts.records, kept.records)
    counts.items -= min(counts.items, kept.items)
    counts.fields -= min(counts.fields, kept.fields)
    return counts
  }

  /// The bytes of the header, and of a state for a head with this content and an empty log.
  ///
  /// - Parameters:
  ///   - generation: one above those of the heads that it joins.
  ///   - replicas: the last put of each machine, ascending by id, with the head's own entry.
  package func head(
    of content: MergeBase, generation: UInt64, commit: CommitID, replicas: [VaultState.Replica]
  ) throws(StoreError) -> (header: [UInt8], state: [UInt8]) {
    precondition(replicas.contains { $0.generation == generation && $0.commit == commit }, "a head is in its own vector")
    let state = VaultState(
      generation: generation, commit: commit, root: root(of: content), counts: counts(of: content), time: view.now,
      logSequence: 0, logHead: .zero, replicas: replicas)
    return (try header(), state.sealed(epoch: view.header.epoch, header: view.headerDigest, keys: view.keys))
  }

  /// Lends the rows of a pair that a head of this content has.
  package func forEachRow(
    ofPair pair: Int, as content: MergeBase,
    _ body: (RecordTable, _ index: UnsafeRawBufferPointer, borrowing RecordColumns) throws(StoreError) -> Void
  ) throws(StoreError) {
    try forEachRow(ofPair: pair, without: kept(ofPair: pair, of: content), body)
  }
}
