internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

// A new epoch replaces unneeded records. The caller holds the lock.
extension Journal {
  /// Begins an epoch that holds only `survivors`, on top of `list`, after the record `last`. No record may follow before
  /// ``completeFold()``.
  func beginEpoch(
    after word: JournalWord, _ last: RecordLink, list: ListFingerprint, foldedFrom: JournalWord?, survivors: [Record],
    writer: Record.Writer
  ) throws(StoreError) -> (JournalWord, RecordLink) {
    let (begin, end) = try keep(survivors, after: word, last, writer)
    let new = word.nextEpoch(end: begin + survivors.reduce(0) { $0 + $1.count })
    // Cleared by the next successful sync.
    try memory.store(Self.unsyncedEpoch, .unsynced)
    try memory.store(foldedFrom?.rawValue ?? 0, .foldedFrom)
    try memory.publish(new)
    // Only now, because a fold that dies or fails before it moves the word is repeated. If the header named this list
    // already, the second fold would mistake another program's additions to it for known values.
    try memory.store(list)
    return (new, end)
  }

  /// Stores `survivors` outside the records of `word`, and notes their place and predecessor in the next epoch's fields.
  private func keep(
    _ survivors: [Record], after word: JournalWord, _ last: RecordLink, _ writer: Record.Writer
  ) throws(StoreError) -> (begin: Int, end: RecordLink) {
    let count = survivors.reduce(0) { $0 + $1.count }
    let begin = try count <= memory.start(of: word) || count == 0 ? 0 : word.end
    // The next word cannot hold an end past the capacity.
    try reserve(begin + count)
    let epoch = word.nextEpoch(end: 0).epoch
    var end = RecordLink(check: last.check)
    try memory.fill(count, at: JournalLayout.headerBytes + begin) { buffer in
      end = Record.encode(survivors, into: buffer, epoch: epoch, after: end, writer: writer)
    }
    for (field, number) in [(JournalLayout.start(of: epoch), UInt32(begin)), (JournalLayout.seed(of: epoch), last.check)] {
      try memory.store(CheckedNumber(number, in: field).rawValue, field)
    }
    // Otherwise a power loss could leave the next word without them: a transaction would have happened only in the other
    // store.
    if count > 0 { try synchronize() }
    return (begin, end)
  }

  func scrub(outside word: JournalWord) throws(StoreError) {
    let start = try memory.start(of: word)
    // Holes of a copied file need blocks.
    try reserve(min(FileStatus(of: fd, place: path).size, JournalLayout.mappedBytes) - JournalLayout.headerBytes)
    let end = min(Int(clamping: try memory.load(.allocated)), JournalLayout.mappedBytes) - JournalLayout.headerBytes
    for range in [0..<start, word.end..<max(word.end, end)] where !range.isEmpty {
      try memory.fill(range.count, at: JournalLayout.headerBytes + range.lowerBound) {
        _ = $0.initializeMemory(as: UInt8.self, repeating: 0)
      }
    }
    try synchronize()
  }
}
