internal import CofferPlatform
internal import CofferVaultFormat

/// Follows a few foreign commits through the changes in the log, to read few of a server's rows.
///
/// The log is not trusted: the root in the sealed state covers the whole tree.
struct LogFollowing {
  /// The maximum number of rows to follow: opening them takes as long as reading all digests of a full vault.
  static let most = 64

  let view: VerifiedView

  var first: UInt64 {
    get throws(StoreError) {
      try view.checked { () throws(FormatError) in try FileCounter.next(view.state.logSequence, "number of log entries") }
    }
  }

  /// The digests of `next`, within a transaction and under the held keys; nil if the log does not name the changes.
  func digests(of next: VaultState) throws(StoreError) -> DigestTree? {
    let known = view.state.logSequence
    guard next.logSequence > known, next.logSequence - known <= UInt64(Self.most) else { return nil }
    var changed: [Int: Digest32] = [:]
    var (isClear, head, rows) = (true, view.state.logHead, [RecentRow]())
    try view.database.log.forEach(from: first, most: Self.most) { (sequence, box) throws(StoreError) in
      do throws(FormatError) {
        let (row, after) = try RecentRow.open(box, sequence, view.keys)
        rows.append(row)
        if row.before == head { head = after }
        for table in RecordTable.allCases { changed[table.bucket(of: row.index)] = .zero }
      } catch {
        // Readers of the log report tampering with it.
        isClear = false
      }
    }
    guard isClear else { return nil }
    try view.database.forEachDigest(in: changed.keys.sorted()) { (bucket, bytes) throws(StoreError) in
      if let digest = Digest32(bytes) { changed[bucket] = digest }
    }
    var tree = view.tree
    tree.replace(changed.map { ($0.key, $0.value) }, keys: view.keys)
    guard tree.root == next.root else { return nil }
    view.follow(head == next.logHead ? rows : [], to: next)
    return tree
  }
}
