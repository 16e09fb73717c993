internal import CofferPlatform

/// The end of some records of an epoch, and the last of them.
struct JournalMark {
  let end: Int
  let last: RecordLink
}

// A new epoch replaces unneeded records. The caller holds the lock and the right to fold.
extension Journal {
  /// Begins an epoch on top of `list`, with `survivors` and the records of `word` from `mark` on. It is durable after
  /// ``completeFold()``.
  ///
  /// It begins at the front or behind the records of `word`: it overwrites none of them, because a power loss may restore them.
  func beginEpoch(
    after word: JournalWord, from mark: JournalMark, list: ListFingerprint, foldedFrom: JournalWord?, survivors: [Record],
    writer: Record.Writer
  ) throws(StoreError) -> (JournalWord, RecordLink) {
    let (end, last) = try keep(survivors, mark.end..<word.end, after: word, mark.last, writer)
    let new = word.nextEpoch(end: end)
    // Cleared by the next successful sync.
    try memory.store(Self.unsyncedEpoch, .unsynced)
    try memory.store(foldedFrom?.rawValue ?? 0, .foldedFrom)
    try memory.publish(new)
    // Only now, because a fold that dies or fails before it moves the word is repeated. If the header named this list
    // already, the second fold would mistake another program's additions to it for known values.
    try memory.store(list)
    return (new, last)
  }

  /// Copies the records to a place outside those of `word`, and notes place and predecessor in the next epoch's fields.
  private func keep(
    _ survivors: [Record], _ tail: Range<Int>, after word: JournalWord, _ before: RecordLink, _ writer: Record.Writer
  ) throws(StoreError) -> (end: Int, last: RecordLink) {
    let kept = survivors.reduce(0) { $0 + $1.count }
    let count = kept + tail.count
    let room = try memory.start(of: word)
    let begin = room >= JournalLayout.frontRoom && count <= room ? 0 : word.end
    try reserve(begin + count)
    let epoch = word.nextEpoch(end: 0).epoch
    var last = RecordLink(check: before.check)
    try memory.fill(kept, at: JournalLayout.headerBytes + begin) { buffer in
      last = Record.encode(survivors, into: buffer, epoch: epoch, after: last, writer: writer)
    }
    try withRecords(tail) { (bytes) throws(StoreError) in
      let copy = UnsafeMutableRawBufferPointer(mutating: bytes)
      guard let end = Record.chain(copy, of: word.epoch, after: before, in: epoch, after: last) else { throw torn }
      last = end
      try memory.fill(bytes.count, at: JournalLayout.headerBytes + begin + kept) { $0.copyMemory(from: bytes) }
    }
    for (field, number) in [(JournalLayout.start(of: epoch), UInt32(begin)), (JournalLayout.seed(of: epoch), before.check)] {
      try memory.store(CheckedNumber(number, in: field).rawValue, field)
    }
    // Otherwise a power loss could leave the next word without them: a transaction would have happened only in the other
    // store.
    if kept > 0 { try synchronize() }
    return (begin + count, last)
  }

  /// The caller has made the epoch durable.
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
  }
}
