internal import CofferPlatform
package import CofferVaultFormat
internal import CofferVaultRows

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
  /// The digests that a head of this content has in a pair.
  package func digests(ofPair pair: Int) -> [Digest32] {
    pairs[pair].map { $0.kept?.digests ?? $0.digests } ?? [.zero, .zero]
  }

  func keepsRows(ofPair pair: Int) -> Bool { pairs[pair]?.kept != nil }

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

extension VerifiedView {
  func root(of content: MergeBase) -> Digest32 { DigestTree(content.digests, keys: keys).root }
}
