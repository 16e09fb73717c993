internal import CofferPlatform
internal import CofferStorage
internal import Synchronization
internal import SystemPackage

/// The journal of one property list: a hidden file beside it whose records have not been written into the list yet.
///
/// Every change of it happens under its lock. Readers take none: they compare the word.
final class Journal: Sendable {
  let path: FilePath
  let isWritable: Bool
  let memory: JournalMemory
  let fd: Int32
  /// The file as it was when it was opened: which one it is never changes.
  let file: FileStatus
  let calls: SystemCalls
  /// What the header names as holder.
  private let process = UInt64(UInt32(bitPattern: getpid()))
  /// The file has at least this many bytes, so that a mapping may be read so far.
  private let knownBytes = Atomic<Int>(0)
  /// The word of a journal that cannot be repaired for want of permission to write it; zero where the file's own counts.
  let scanned = Atomic<UInt64>(0)

  init(_ fd: Int32, _ file: FileStatus, path: FilePath, isWritable: Bool, calls: SystemCalls) throws(StoreError) {
    self.fd = fd
    self.file = file
    self.path = path
    self.isWritable = isWritable
    self.calls = calls
    do { memory = try JournalMemory(fd, path: path, isWritable: isWritable, calls: calls) } catch {
      close(fd)
      throw error
    }
  }

  deinit { close(fd) }

  // MARK: The lock

  /// Takes the lock; see ``FileLock``.
  @inline(__always)
  func lock(until deadline: LockDeadline? = nil) throws(StoreError) {
    try FileLock.acquire(fd, calls, place: path, until: deadline) { holder }
    try nameHolder()
  }

  /// Takes the lock if nobody holds it.
  func tryLock() throws(StoreError) -> Bool {
    guard FileLock.tryAcquire(fd, calls) else { return false }
    try nameHolder()
    return true
  }

  /// Lets the lock go, and tells those who watch.
  ///
  /// A watcher sets a flag in the header and then reads the word; a writer stores the word and then reads the flag. One of the
  /// two sees the other's store, if neither's load overtakes its own store: the watcher's is an atomic exchange, the writer's has
  /// the system call in between, in which the kernel takes a spin lock. So writers pay one load while nobody watches.
  ///
  /// Whoever rings takes the flag down, and the watcher sets it again when it has woken up: many writes cost few bells, and a
  /// watcher that died costs one. A writer that dies before it rings closes the file by that, which file watches hear of too.
  @inline(__always)
  func unlock() {
    FileLock.release(fd, calls)
    if memory.isArmed { memory.ring() }
  }

  @inline(__always)
  func nameHolder() throws(StoreError) {
    guard isWritable else { return }
    do {
      if try memory.load(.holder) != process { try memory.store(process, .holder) }
    } catch {
      unlock()
      throw error
    }
  }

  var holder: UInt32? {
    do { return UInt32(truncatingIfNeeded: try memory.load(.holder)) } catch { return nil }  // Only a name for a message.
  }

  /// Whether the journal must be opened anew: it was given up, another file has its name, or none, or a writer has repaired it
  /// since this reader could only scan it.
  func isGone() throws(StoreError) -> Bool {
    // It may well have other names: a backup's, or the one it was moved to.
    guard let named = try FileStatus(ofLinkAt: path), named.isSameFile(as: file) else { return true }
    if try memory.isRetired() { return true }
    guard scanned.load(ordering: .relaxed) != 0 else { return false }
    guard BootID.current.isKnown else { return false }
    return try memory.boot == .current
  }

  // MARK: The word and the records

  @inline(__always)
  func word() throws(StoreError) -> JournalWord {
    let scanned = self.scanned.load(ordering: .relaxed)
    return scanned == 0 ? try memory.word() : JournalWord(rawValue: scanned)
  }

  /// The word, to follow it.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.damaged` where it is none that a journal can have.
  func wholeWord() throws(StoreError) -> JournalWord {
    for _ in 0..<JournalMemory.looks {
      let word = try word()
      if word.isWhole { return word }
    }
    throw memory.damagedHeader
  }

  /// Hands the bytes of the records in `range` to `body`.
  func withRecords<Result>(
    _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    guard try holds(range.upperBound) else { throw shortened(range.upperBound) }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(range.count, 1), alignment: 8)
    defer { buffer.deallocate() }
    let bytes = UnsafeMutableRawBufferPointer(rebasing: buffer[..<range.count])
    try memory.read(bytes, at: JournalLayout.headerBytes + range.lowerBound)
    // What was copied must not be read after the word that the caller compares next.
    atomicMemoryFence(ordering: .acquiring)
    return try body(UnsafeRawBufferPointer(bytes))
  }

  /// The names that the records of `epoch` in `range` change.
  func changedNames(_ range: Range<Int>, epoch: UInt64) throws(StoreError) -> Set<String> {
    try withRecords(range) { (bytes) throws(StoreError) in
      var names: Set<String> = []
      var prepared: [TransactionID: [Record.Change]] = [:]
      var offset = 0
      while let (record, count) = Record.decode(UnsafeRawBufferPointer(rebasing: bytes[offset...]), epoch: epoch) {
        switch record {
        case .write(let changes, _): names.formUnion(changes.map(\.name))
        case .prepare(let batch): prepared[batch.id] = batch.changes
        case .commit(let id): names.formUnion(prepared[id, default: []].map(\.name))
        case .drop, .carried: break
        }
        offset += count
      }
      guard offset == range.count else { throw shortened(range.upperBound) }
      return names
    }
  }

  private func holds(_ end: Int) throws(StoreError) -> Bool {
    let needed = JournalLayout.headerBytes + end
    if needed <= knownBytes.load(ordering: .relaxed) { return true }
    let size = try FileStatus(of: fd, place: path).size
    knownBytes.store(size, ordering: .relaxed)
    return needed <= size && end <= JournalLayout.capacity
  }

  private func shortened(_ end: Int) -> StoreError {
    StoreError(
      .damaged, "the journal ends before byte \(end)", place: path.string,
      cure: "another program has shortened it; restore it, or delete it to lose what was not yet in the property list")
  }

  /// The error of a record that is committed and not whole.
  var torn: StoreError {
    StoreError(
      .damaged, "the journal holds a record that is torn", place: path.string,
      cure: Self.damageCure)
  }

  // MARK: Writing, under the lock

  /// Makes sure of real blocks for records up to `end`.
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
      cure: "let synchronize() succeed, whose error says what is in the way; nothing was changed")
  }

  /// Appends a record of `count` bytes after `word` and publishes it.
  ///
  /// - Parameter kept: bytes that are left free behind it.
  @inline(__always)
  func append(
    _ count: Int, after word: JournalWord, keeping kept: Int = JournalLayout.keptForOutcomes,
    _ encode: (UnsafeMutableRawBufferPointer) -> Void
  ) throws(StoreError) -> JournalWord {
    guard word.end + count + kept <= JournalLayout.capacity else { throw full }
    try completeFold()
    try reserve(word.end + count)
    try memory.fill(count, at: JournalLayout.headerBytes + word.end, encode)
    calls.reached?(.recordCopied)
    let new = word.advanced(by: count)
    try memory.publish(new)
    return new
  }

  /// Makes the records and the word durable. The caller holds the lock.
  ///
  /// After a sync that failed, the kernel takes the pages for written and tells nobody again: the next sync succeeds and writes none of
  /// them. So the header says from before a sync until one has succeeded that there may be such pages, and whoever syncs next, in
  /// whatever process, first stores everything that counts once more.
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

  /// What the header says until an epoch is durable that a fold has begun.
  static let unsyncedEpoch: UInt64 = 2

  /// Makes the epoch durable whose fold died, or failed, before it was. No record may be written before: it takes the place of one of the
  /// epoch before, and a power loss that brought that epoch's header back would find some of its records, with values older than the list's.
  @inline(__always)
  func completeFold() throws(StoreError) {
    if try memory.load(.unsynced) == Self.unsyncedEpoch { try synchronize() }
  }

  /// Stores the records of the present epoch over themselves; the caller stores to the header.
  private func storeAgain() throws(StoreError) {
    let word = try wholeWord()
    let range = try memory.start(of: word)..<word.end
    try withRecords(range) { (bytes) throws(StoreError) in
      guard Record.wholeBytes(bytes, epoch: word.epoch) == bytes.count else { throw torn }
      try memory.fill(bytes.count, at: JournalLayout.headerBytes + range.lowerBound) { $0.copyMemory(from: bytes) }
    }
  }

  /// Begins an epoch that holds only `survivors`, on top of `list`.
  func beginEpoch(
    after word: JournalWord, list: ListFingerprint, foldedFrom: JournalWord?, survivors: [Record], writer: Record.Writer
  ) throws(StoreError) -> JournalWord {
    let count = survivors.reduce(0) { $0 + $1.count }
    // Survivors go where the present epoch has no records: below its first one, else behind its last.
    let begin = try count <= memory.start(of: word) || count == 0 ? 0 : word.end
    // Before the word, which has no room for an end that is too far.
    try reserve(begin + count)
    let new = word.nextEpoch(end: begin + count)
    try memory.fill(count, at: JournalLayout.headerBytes + begin) { buffer in
      Record.encode(survivors, into: buffer, epoch: new.epoch, writer: writer)
    }
    let field = JournalLayout.start(of: new.epoch)
    try memory.store(CheckedNumber(UInt32(begin), in: field).rawValue, field)
    try memory.store(foldedFrom?.rawValue ?? 0, .foldedFrom)
    try memory.publish(new)
    // Only now: a fold that dies, or fails, before its word is repeated. With this list named already, the one that repeats it would take
    // what another program had put into the list for something that every reader knows.
    try memory.store(list.inode, .listInode)
    try memory.store(list.modified, .listModified)
    try memory.store(list.size, .listSize)
    return new
  }

  /// Overwrites every byte of room for records that `word` does not use.
  func scrub(outside word: JournalWord) throws(StoreError) {
    let start = try memory.start(of: word)
    // Also what a copy of the file has as a hole, which takes blocks now.
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
