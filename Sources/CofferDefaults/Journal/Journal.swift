internal import CofferPlatform
internal import Synchronization
internal import SystemPackage

/// A hidden file beside a property list, with records that are not in the list yet.
///
/// Every change happens under its lock. Readers take no lock: they compare the word.
final class Journal: Sendable {
  let path: FilePath
  let isWritable: Bool
  let memory: JournalMemory
  let fd: Int32
  let file: FileStatus
  let calls: SystemCalls
  private let process = UInt64(UInt32(bitPattern: getpid()))
  let folder: FileStatus?
  /// The header's number at opening. Another number means that the file was overwritten or truncated.
  let number = Atomic<UInt64>(0)
  /// Whether it is known to be out of use.
  let isOver = Atomic(false)
  /// The end of the readable part of the mapping.
  private let knownBytes = Atomic<Int>(0)
  /// The word of a journal that this process may not repair, else zero.
  let scanned = Atomic<UInt64>(0)

  init(_ fd: Int32, _ file: FileStatus, path: FilePath, isWritable: Bool, calls: SystemCalls) throws(StoreError) {
    self.fd = fd
    self.file = file
    self.path = path
    self.isWritable = isWritable
    self.calls = calls
    do {
      folder = try FileStatus(at: path.folder)
      memory = try JournalMemory(fd, path: path, isWritable: isWritable, calls: calls)
    } catch {
      close(fd)
      throw error
    }
  }

  deinit { close(fd) }

  // MARK: The lock

  @inline(__always)
  func lock(until deadline: LockDeadline? = nil) throws(StoreError) {
    try FileLock.acquire(fd, calls, place: path, until: deadline) { holder }
    try nameHolder()
  }

  func tryLock() throws(StoreError) -> Bool {
    guard FileLock.tryAcquire(fd, calls) else { return false }
    try nameHolder()
    return true
  }

  /// Releases the lock, and notifies watchers.
  ///
  /// A watcher sets a flag in the header and then reads the word; a writer stores the word and then reads the flag. One sees
  /// the other's store if no load overtakes the same thread's store: the watcher's is an atomic exchange, and the writer
  /// makes a system call in between, in which the kernel takes a spin lock. So writers pay one load while nobody watches.
  ///
  /// The ringing writer clears the flag, and the watcher sets it again when it wakes: many writes cost few bells, and a dead
  /// watcher costs one. A writer that dies before it rings closes the file, which file watches report.
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

  /// Whether to reopen the journal: it was given up or overwritten, lost its name, or was repaired since this reader could
  /// only scan it.
  func isGone() throws(StoreError) -> Bool {
    // It may have other names: a backup's, or one from a move.
    guard let named = try FileStatus(ofLinkAt: path), named.isSameFile(as: file) else { return true }
    guard let now = try FileStatus(at: path.folder), folder?.isSameFile(as: now) ?? false else { return true }
    guard try isItself else { return true }
    if isWritable, try memory.isRetired() { return true }
    guard scanned.load(ordering: .relaxed) != 0, BootID.current.isKnown else { return false }
    guard try memory.boot == .current else { return false }
    return try memory.isOf(file)
  }

  @inline(__always)
  var isItself: Bool {
    get throws(StoreError) { try memory.load(.number) == number.load(ordering: .relaxed) }
  }

  /// Whether other bytes replaced the record `last`, which ends at `seen`.
  @inline(__always)
  func isReplaced(_ seen: JournalWord, _ last: RecordLink) throws(StoreError) -> Bool {
    guard try isItself else { return true }
    let word = try word()
    guard seen != .never, word.isWhole else { return false }
    if word.isBehind(seen) { return true }
    guard word.epoch == seen.epoch else { return false }
    if try check(seen, last) == last.check { return false }
    // Unless it was folded meanwhile.
    return try self.word().epoch == seen.epoch
  }

  @inline(__always)
  private func check(_ seen: JournalWord, _ last: RecordLink) throws(StoreError) -> UInt32 {
    guard last.count > 0 else { return try memory.seed(of: seen.epoch).check }
    return try memory.load32(JournalLayout.headerBytes + seen.end - last.count + 4)
  }

  /// Never thrown to callers: the code that meets it opens the current journal.
  var overtaken: StoreError {
    isOver.store(true, ordering: .relaxed)
    return StoreError(.moved, "another journal is at work", place: path.string, cure: "try again")
  }

  // MARK: The word and the records

  @inline(__always)
  func word() throws(StoreError) -> JournalWord {
    let scanned = self.scanned.load(ordering: .relaxed)
    return scanned == 0 ? try memory.word() : JournalWord(rawValue: scanned)
  }

  /// - Throws: ``/CofferPlatform/StoreError`` `.damaged` for a word that no journal can have.
  func wholeWord() throws(StoreError) -> JournalWord {
    for _ in 0..<JournalMemory.looks {
      let word = try word()
      if word.isWhole { return word }
    }
    throw memory.damagedHeader
  }

  func withRecords<Result>(
    _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    guard try holds(range.upperBound) else { throw shortened(range.upperBound) }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(range.count, 1), alignment: 8)
    defer { buffer.deallocate() }
    let bytes = UnsafeMutableRawBufferPointer(rebasing: buffer[..<range.count])
    try memory.read(bytes, at: JournalLayout.headerBytes + range.lowerBound)
    // The copied bytes must not be read after the word that the caller compares next.
    atomicMemoryFence(ordering: .acquiring)
    return try body(UnsafeRawBufferPointer(bytes))
  }

  /// - Throws: ``/CofferPlatform/StoreError`` `.damaged` if the records are not whole.
  func content() throws(StoreError) -> [UInt8] {
    let word = try wholeWord()
    let start = try memory.start(of: word), seed = try memory.seed(of: word.epoch)
    return try withRecords(-JournalLayout.headerBytes..<max(word.end, start)) { (bytes) throws(StoreError) in
      let live = UnsafeRawBufferPointer(rebasing: bytes[(JournalLayout.headerBytes + start)...])
      guard Record.wholeBytes(live, epoch: word.epoch, after: seed) == live.count else { throw torn }
      return Array(bytes)
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

  /// A committed record is not whole.
  var torn: StoreError {
    StoreError(
      .damaged, "the journal holds a record that is torn", place: path.string,
      cure: Self.damageCure)
  }
}
