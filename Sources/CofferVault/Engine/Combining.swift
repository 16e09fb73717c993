internal import CofferPlatform
internal import CofferVaultFormat
internal import CofferVaultRows

/// A verified row of the log, as a writer that combines remembers it.
struct RecentRow {
  /// As many as a queued commit may be behind. An older one is not made.
  static let most: UInt64 = 1024

  let sequence: UInt64
  /// The chain before it.
  let before: Digest32
  let commit: CommitID
  let index: RecordIndex

  /// The row that `box` holds, and the chain after it.
  static func open(
    _ box: UnsafeRawBufferPointer, _ sequence: UInt64, _ keys: borrowing Subkeys
  ) throws(FormatError) -> (row: RecentRow, head: Digest32) {
    let (entry, before) = try LogBox.open(box, sequence: sequence, keys: keys)
    return (
      RecentRow(sequence: sequence, before: before, commit: entry.commit, index: entry.index),
      LogBox.head(after: before, sequence: sequence, row: box, keys: keys)
    )
  }
}

extension VerifiedView {
  /// Remembers the rows that lead from the known ones to `next`, or forgets all.
  func follow(_ rows: [RecentRow], to next: VaultState) {
    guard database.intents != nil else { return }
    if let first = rows.first, recent.last.map({ $0.sequence + 1 != first.sequence }) ?? false { recent = [] }
    recent += rows
    if recent.last?.sequence != next.logSequence { recent = [] }
    if recent.count > 2 * Int(RecentRow.most) { recent.removeFirst(recent.count - Int(RecentRow.most)) }
  }

  /// The log's rows after `sequence`; nil if they are more than ``RecentRow/most``, or gone. Within a transaction.
  func rows(after sequence: UInt64) throws(StoreError) -> ArraySlice<RecentRow>? {
    let last = state.logSequence
    guard sequence <= last, last - sequence <= RecentRow.most else { return nil }
    guard sequence < last else { return [] }
    if recent.last?.sequence != last || recent[0].sequence > sequence + 1 {
      var (rows, head) = ([RecentRow](), Digest32.zero)
      try database.log.forEach(from: sequence + 1, most: Int(RecentRow.most)) { (number, box) throws(StoreError) in
        let (row, after) = try checked { () throws(FormatError) in try RecentRow.open(box, number, keys) }
        guard number == sequence + 1 + UInt64(rows.count), rows.isEmpty || row.before == head else {
          throw StoredParts.tampered("a row of the log is not the one it should be", place)
        }
        rows.append(row)
        head = after
      }
      guard head == state.logHead else { throw StoredParts.tampered("the log lacks a row", place) }
      recent = rows
    }
    return recent.drop { $0.sequence <= sequence }
  }
}

/// Makes queued commits of others in one commit with its own.
///
/// An honest server shows each once; another one shows them as it likes. So a commit is made only in the history and under the
/// key that it was made for, if the log has no row of its id and none about a bucket on which it depends. Its author looks for
/// its id, and makes it itself if it was not made.
struct Combining {
  let view: VerifiedView

  /// The bytes of queued commits that one commit makes.
  private static let mostBytes = 1024 * 1024

  /// Those of the queue that can be made over the verified state, and `own`, which is last. Takes all from the queue that were
  /// read. Within a write.
  func intents(with own: Intent? = nil, _ id: CommitID) throws(StoreError) -> [Intent] {
    guard let queue = view.database.intents else { return [] }
    var (intents, removed, bytes) = ([Intent](), [CommitID](), 0)
    for (found, box) in try queue.queued() {
      bytes += box.count
      guard bytes <= Self.mostBytes else { break }
      removed.append(found)
      // One under another key was queued before a rotation, or by somebody without a key.
      do throws(FormatError) {
        let intent = try box.span.bytes.withUnsafeBytes { (box) throws(FormatError) in try Intent(box, keys: view.keys) }
        if intent.id == found, found != id { intents.append(intent) }
      } catch { continue }
    }
    if !removed.isEmpty { try queue.remove(removed) }
    return try taken(of: intents, with: own)
  }

  private func taken(of intents: [Intent], with own: Intent?) throws(StoreError) -> [Intent] {
    let last = view.state.logSequence, all = (own.map { [$0] } ?? []) + intents
    let young = all.map(\.sequence).filter { $0 <= last && last - $0 <= RecentRow.most }
    guard let first = young.min(), let rows = try view.rows(after: first) else { return [] }
    let own = own.flatMap { fits($0, after: rows) ? $0 : nil }
    // The others come before the own one, and must not change its base.
    var (taken, changed) = ([Intent](), own?.buckets ?? [])
    for intent in intents where fits(intent, after: rows) {
      guard changed.isDisjoint(with: intent.buckets), !taken.contains(where: { $0.id == intent.id }) else { continue }
      taken.append(intent)
      changed.formUnion(intent.changed.map(\.bucket))
    }
    return taken + (own.map { [$0] } ?? [])
  }

  /// Whether the intent can be made over the verified state, as far as others in the same commit do not change its base.
  private func fits(_ intent: Intent, after rows: ArraySlice<RecentRow>) -> Bool {
    let last = view.state.logSequence, buckets = intent.buckets
    guard intent.sequence <= last, last - intent.sequence <= RecentRow.most else { return false }
    let since = rows.drop { $0.sequence <= intent.sequence }
    return (since.first?.before ?? view.state.logHead) == intent.head
      && !since.contains { $0.commit == intent.id || $0.concerns(buckets) }
      && intent.changed.allSatisfy { buckets.contains($0.bucket) }
      && intent.base.allSatisfy { view.tree.digests[$0.bucket] == $0.digest }
  }
}

extension Intent {
  fileprivate var buckets: Set<Int> { Set(base.map(\.bucket)) }
}

extension RecentRow {
  /// Whether the row's record lies in one of `buckets`, or an earlier version of it can.
  fileprivate func concerns(_ buckets: Set<Int>) -> Bool {
    index != .zero && RecordTable.allCases.contains { buckets.contains($0.bucket(of: index)) }
  }
}
