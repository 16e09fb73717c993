/// An entry of a bucket's list: a record's place and content.
package struct BucketEntry: Hashable, Sendable {
  package let index: RecordIndex
  package let id: RecordID

  package init(index: RecordIndex, id: RecordID) {
    (self.index, self.id) = (index, id)
  }
}

/// The digest of the set of all records in three levels: 2 048 buckets, half per table, 64 mids, one root. A commit hashes
/// each touched bucket once, its mid and the root.
package struct DigestTree: Hashable, Sendable {
  package static let buckets = 2048
  private static let mids = 64
  private static let width = buckets / mids

  /// One per bucket; zeros for an empty one.
  package private(set) var digests: [Digest32]
  /// One per mid; zeros if all its buckets are empty.
  private var midDigests: [Digest32]
  package private(set) var root: Digest32

  /// The tree over `digests`, exactly ``buckets`` of them.
  package init(_ digests: [Digest32], keys: borrowing Subkeys) {
    precondition(digests.count == Self.buckets, "a vault has \(Self.buckets) buckets")
    self.digests = digests
    var mids: [Digest32] = []
    for index in 0..<Self.mids { mids.append(Self.mid(index, digests[index * Self.width..<(index + 1) * Self.width], keys)) }
    midDigests = mids
    isPastEmpty = Self.isEmpty(.old, mids)
    root = Self.root(mids, keys)
  }

  package init(emptyUnder keys: borrowing Subkeys) { self.init([Digest32](repeating: .zero, count: Self.buckets), keys: keys) }

  /// New digests of some buckets, with the resulting mids and root, adopted after a commit. A tree has 66 KiB, and a write
  /// touches one of its paths.
  package struct Change: Sendable {
    fileprivate let digests: [(bucket: Int, digest: Digest32)]
    fileprivate let mids: [(place: Int, digest: Digest32)]
    package let root: Digest32
  }

  package func change(_ digests: [(bucket: Int, digest: Digest32)], keys: borrowing Subkeys) -> Change {
    guard !digests.isEmpty else { return Change(digests: [], mids: [], root: root) }
    var mids: [(place: Int, digest: Digest32)] = []
    var next = midDigests
    for place in Set(digests.map { $0.bucket / Self.width }) {
      var below = Array(self.digests[place * Self.width..<(place + 1) * Self.width])
      for (bucket, digest) in digests where bucket / Self.width == place { below[bucket % Self.width] = digest }
      next[place] = Self.mid(place, below[...], keys)
      mids.append((place, next[place]))
    }
    return Change(digests: digests, mids: mids, root: Self.root(next, keys))
  }

  /// The tree over `digests`, which differ in a few places, under the same keys.
  package func changed(to digests: [Digest32], keys: borrowing Subkeys) -> DigestTree {
    precondition(digests.count == Self.buckets, "a vault has \(Self.buckets) buckets")
    var (next, changed) = (self, [(bucket: Int, digest: Digest32)]())
    for bucket in 0..<Self.buckets where digests[bucket] != self.digests[bucket] { changed.append((bucket, digests[bucket])) }
    next.replace(changed, keys: keys)
    return next
  }

  /// Whether the table of previous versions is empty. Stored, because every new item asks for it.
  package private(set) var isPastEmpty: Bool

  package func isEmpty(_ table: RecordTable) -> Bool { table == .old ? isPastEmpty : Self.isEmpty(table, midDigests) }

  private static func isEmpty(_ table: RecordTable, _ mids: [Digest32]) -> Bool {
    mids[table.buckets.lowerBound / width..<table.buckets.upperBound / width].allSatisfy { $0 == .zero }
  }

  package func filled(_ table: RecordTable) -> [Int] { isEmpty(table) ? [] : table.buckets.filter { digests[$0] != .zero } }

  package mutating func take(_ change: Change) {
    for (bucket, digest) in change.digests { digests[bucket] = digest }
    for (place, digest) in change.mids { midDigests[place] = digest }
    if change.mids.contains(where: { $0.place >= Self.mids / 2 }) { isPastEmpty = Self.isEmpty(.old, midDigests) }
    root = change.root
  }

  package mutating func replace(_ changed: [(bucket: Int, digest: Digest32)], keys: borrowing Subkeys) {
    take(change(changed, keys: keys))
  }

  /// `entries` ascend by index.
  package static func digest(_ bucket: Int, _ entries: [BucketEntry], keys: borrowing Subkeys) -> Digest32 {
    guard !entries.isEmpty else { return .zero }
    let vault = keys.vault
    return keys.withKey(.set) { key in
      KeyedHash.digest(key, .bucket, salt: vault) { hash in
        hash.update(UInt32(truncatingIfNeeded: bucket))
        hash.update(UInt32(truncatingIfNeeded: entries.count))
        // An entry's memory layout is the format's: 16 bytes of index, 16 of id.
        entries.withUnsafeBytes { hash.update($0) }
      }
    }
  }

  /// Whether `entries` ascend strictly and all belong to `bucket`: a crafted table can return rows in any order, or twice.
  static func isOrdered(_ entries: [BucketEntry], in bucket: Int) -> Bool {
    let table = RecordTable(ofBucket: bucket)
    var last: RecordIndex?
    for entry in entries {
      guard table.bucket(of: entry.index) == bucket else { return false }
      if let last, last >= entry.index { return false }
      last = entry.index
    }
    return true
  }

  private static func mid(_ index: Int, _ digests: ArraySlice<Digest32>, _ keys: borrowing Subkeys) -> Digest32 {
    // Zeros as for an empty bucket: a vault without previous versions opens at the cost of its current records.
    guard digests.contains(where: { $0 != .zero }) else { return .zero }
    let vault = keys.vault
    return keys.withKey(.set) { key in
      KeyedHash.digest(key, .mid, salt: vault) { hash in
        hash.update(UInt32(truncatingIfNeeded: index))
        digests.withUnsafeBytes { hash.update($0) }
      }
    }
  }

  private static func root(_ mids: [Digest32], _ keys: borrowing Subkeys) -> Digest32 {
    let vault = keys.vault
    // Leaving out the mids of an empty old table halves what most vaults hash at each commit.
    let ofPresent = Self.mids / 2
    let count = mids[ofPresent...].allSatisfy { $0 == .zero } ? ofPresent : Self.mids
    return keys.withKey(.set) { key in
      KeyedHash.digest(key, .root, salt: vault) { hash in mids[..<count].withUnsafeBytes { hash.update($0) } }
    }
  }
}

/// The versions of the records in one bucket, by index.
///
/// A list is trusted only after its digest has been found under the vault's root. From then on the list, not a query,
/// decides which records exist: a crafted B-tree can make a scan and a look-up disagree.
package struct BucketList: Sendable, Equatable {
  /// Ascending by index.
  package private(set) var entries: [BucketEntry] = []

  package init() {}

  package func record(at index: RecordIndex) -> RecordID? {
    let place = place(of: index)
    guard place < entries.count, entries[place].index == index else { return nil }
    return entries[place].id
  }

  /// Called in ascending order.
  package mutating func append(_ entry: BucketEntry) { entries.append(entry) }

  /// - Returns: whether there was a record before.
  @discardableResult
  package mutating func put(_ record: RecordID, at index: RecordIndex) -> Bool {
    let place = place(of: index)
    guard place < entries.count, entries[place].index == index else {
      entries.insert(BucketEntry(index: index, id: record), at: place)
      return false
    }
    entries[place] = BucketEntry(index: index, id: record)
    return true
  }

  package mutating func remove(at index: RecordIndex) {
    let place = place(of: index)
    if place < entries.count, entries[place].index == index { entries.remove(at: place) }
  }

  private func place(of index: RecordIndex) -> Int {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].index < index { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
