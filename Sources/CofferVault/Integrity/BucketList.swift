/// What one bucket of the set holds: the version of each record in it, by index.
///
/// A list is worth something only once its digest was found under the vault's root. From then on the list, and not what a
/// query returns, says which records exist: a crafted B-tree can make a scan and a look-up disagree.
struct BucketList: Sendable, Equatable {
  /// Ascending by index.
  private(set) var entries: [BucketEntry] = []

  /// The version of the record at `index`; nil when there is none.
  func record(at index: RecordIndex) -> RecordID? {
    let place = place(of: index)
    guard place < entries.count, entries[place].index == index else { return nil }
    return entries[place].id
  }

  /// Adds an entry that a scan in ascending order found.
  mutating func append(_ entry: BucketEntry) { entries.append(entry) }

  /// Notes that the record at `index` now has version `record`.
  mutating func put(_ record: RecordID, at index: RecordIndex) {
    let place = place(of: index)
    if place < entries.count, entries[place].index == index {
      entries[place] = BucketEntry(index: index, id: record)
    } else {
      entries.insert(BucketEntry(index: index, id: record), at: place)
    }
  }

  /// Notes that there is no record at `index` any more.
  mutating func remove(at index: RecordIndex) {
    let place = place(of: index)
    if place < entries.count, entries[place].index == index { entries.remove(at: place) }
  }

  /// The first place whose index is not below `index`.
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
