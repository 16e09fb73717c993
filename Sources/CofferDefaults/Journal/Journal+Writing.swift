internal import CofferPlatform

// The caller holds the lock, or for ``synchronize()`` the right to fold.
extension Journal {
  @inline(__always)
  func reserve(_ end: Int) throws(StoreError) {
    if JournalLayout.headerBytes + end > Int(clamping: try memory.load(.allocated)) { try allocate(end) }
  }

  private func allocate(_ end: Int) throws(StoreError) {
    guard end <= JournalLayout.capacity else { throw full }
    let old = Int(clamping: try memory.load(.allocated))
    let step = JournalLayout.step
    let new = min((JournalLayout.headerBytes + end + step - 1) / step * step, JournalLayout.mappedBytes)
    let result = calls.allocate(fd, old, new - old)
    guard result == 0 else { throw StoreError(errno: -result, "take room for the journal", place: path) }
    try memory.store(UInt64(new), .allocated)
  }

  private var full: StoreError {
    StoreError(
      .tooLarge(limit: JournalLayout.capacity), "the journal is full", place: path.string,
      cure: "let synchronize() succeed, whose error says what is in the way, and settle pending transactions; nothing was changed"
    )
  }

  /// - Parameters:
  ///   - capacity: how far the records may reach.
  ///   - kept: bytes to leave free after the record.
  @inline(__always)
  func append(
    _ count: Int, after word: JournalWord, upTo capacity: Int = JournalLayout.capacityForWrites, keeping kept: Int,
    _ encode: (UnsafeMutableRawBufferPointer) -> RecordLink
  ) throws(StoreError) -> (JournalWord, RecordLink) {
    guard word.end + count + kept <= capacity else { throw full }
    if try memory.load(.unsynced) == Self.unsyncedEpoch, try !memory.hasRoom(after: word, for: count) { throw full }
    try reserve(word.end + count)
    var last = RecordLink()
    try memory.fill(count, at: JournalLayout.headerBytes + word.end) { last = encode($0) }
    calls.reached?(.recordCopied)
    let new = word.advanced(by: count)
    try memory.publish(new)
    // Another program has just overwritten or truncated the record.
    guard try !isReplaced(new, last) else {
      if try isItself { try memory.publish(word) }
      throw overtaken
    }
    return (new, last)
  }

  /// Makes the records and the word durable.
  ///
  /// After a failed sync the kernel counts the pages as written, and the next sync succeeds without writing them. So the
  /// header marks such pages from before a sync until one has succeeded. The next process that syncs first stores all valid
  /// bytes again.
  ///
  /// Source: fsync(2), under EIO.
  func synchronize() throws(StoreError) {
    let unsynced = try memory.load(.unsynced)
    if unsynced != 0 { try storeAgain() }
    try memory.store(max(unsynced, 1), .unsynced)
    let result = calls.synchronize(fd)
    guard result == 0 else { throw StoreError(errno: -result, "make the journal durable", place: path) }
    try memory.store(0, .unsynced)
  }

  /// A fold has begun an epoch that is not durable yet.
  static let unsyncedEpoch: UInt64 = 2

  /// Makes the epoch durable if its fold died or failed first.
  func completeFold() throws(StoreError) {
    if try memory.load(.unsynced) == Self.unsyncedEpoch { try synchronize() }
  }

  /// The caller stores to the header.
  private func storeAgain() throws(StoreError) {
    let word = try wholeWord(), seed = try memory.seed(of: word.epoch)
    let range = try memory.start(of: word)..<word.end
    try withRecords(range) { (bytes) throws(StoreError) in
      guard Record.wholeBytes(bytes, epoch: word.epoch, after: seed) == bytes.count else { throw torn }
      try memory.fill(bytes.count, at: JournalLayout.headerBytes + range.lowerBound) { $0.copyMemory(from: bytes) }
    }
  }
}
