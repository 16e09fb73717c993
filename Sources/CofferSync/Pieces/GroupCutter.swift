package import CofferPlatform
package import CofferVault
package import CofferVaultFormat
internal import CofferVaultRows

/// Cuts the rows of a commit into groups. Equal rows give equal groups on each machine.
package struct GroupCutter {
  private let vault: CommittedRows
  private let content: MergeBase
  /// A head whose groups lie at the remote.
  private let previous: Head?
  private let isUnchanged: (_ pair: Int) -> Bool
  private let lend: (Digest32, [UInt8]) throws(StoreError) -> Void

  /// - Parameters:
  ///   - content: that of the rows.
  ///   - previous: a head whose groups are not lent again; nil to lend all.
  ///   - isUnchanged: whether a bucket pair's rows are those of `previous`, as their digests tell; its group is not read then.
  ///   - lend: receives each group that `previous` does not have, one at a time. It may get one twice, or one that
  ///     the result does not name.
  package init(
    _ vault: CommittedRows, _ content: MergeBase, since previous: Head? = nil,
    isUnchanged: @escaping (_ pair: Int) -> Bool = { _ in false },
    lend: @escaping (Digest32, [UInt8]) throws(StoreError) -> Void
  ) {
    (self.vault, self.content) = (vault, content)
    (self.previous, self.isUnchanged, self.lend) = (previous, isUnchanged, lend)
  }

  /// The head of the commit's rows, within the transaction of the rows.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/refused`` for the records of one pair beyond ``Group/largest``; the errors of
  ///   ``CommittedRows`` and of `lend`.
  package func head(generation: UInt64, commit: CommitID, replicas: [VaultState.Replica]) throws(StoreError) -> Head {
    var count = if let previous { previous.groupCount } else { Head.groupCount(for: try byteCount()) }
    var groups = try groups(count)
    let right = Head.groupCount(for: groups.reduce(0) { $0 + $1.byteCount })
    if right != count {
      count = right
      groups = try self.groups(count)
    }
    let (header, state) = try vault.head(of: content, generation: generation, commit: commit, replicas: replicas)
    return Head(groupCount: count, header: header, state: state, groups: groups)
  }

  /// All rows' bytes. Only the number of groups rests on it, so that no seal is checked.
  private func byteCount() throws(StoreError) -> Int {
    var bytes = 0
    for table in RecordTable.allCases {
      try vault.rows.forEachRecord(in: table) { (_, columns) throws(StoreError) in bytes += Group.byteCount(columns) }
    }
    return bytes
  }

  private func groups(_ count: Int) throws(StoreError) -> [Head.Entry] {
    let known = Dictionary(uniqueKeysWithValues: (previous?.groups ?? []).map { ($0.number, $0) })
    let lies = Set(known.values.map(\.hash))
    var groups: [Head.Entry] = []
    for number in 0..<count {
      let pairs = Head.pairs(of: number, of: count)
      if count == previous?.groupCount, pairs.allSatisfy(isUnchanged) {
        if let group = known[number] { groups.append(group) }
        continue
      }
      let bytes = try bytes(of: pairs)
      guard !bytes.isEmpty else { continue }
      let hash = PlainHash.digest(bytes)
      if !lies.contains(hash) { try lend(hash, bytes) }
      groups.append(Head.Entry(number: number, hash: hash, byteCount: bytes.count))
    }
    return groups
  }

  private func bytes(of pairs: Range<Int>) throws(StoreError) -> [UInt8] {
    var bytes: [UInt8] = []
    for pair in pairs {
      try vault.forEachRow(ofPair: pair, as: content) { (table, index, columns) throws(StoreError) in
        guard bytes.count + Group.byteCount(columns) <= Group.largest else {
          throw StoreError(
            .refused, "items that a remote holds in one file have more than \(Group.largest >> 20) MiB with their past",
            place: vault.rows.place.description, cure: "remove previous versions of the largest items; nothing was put")
        }
        Group.append(columns, at: index, in: table, to: &bytes)
      }
    }
    return bytes
  }
}
