internal import CofferStorage
internal import Synchronization
internal import SystemPackage

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// The journal of one property list: a hidden file beside it whose records have not been written into the list yet.
///
/// Every change of it happens under its lock. Readers take none: they compare the word.
final class Sidecar: Sendable {
  let path: FilePath
  let isWritable: Bool
  let memory: SidecarMemory
  private let fd: Int32
  private let calls: SystemCalls
  /// The file has at least this many bytes, so that a mapping may be read so far.
  private let knownBytes = Atomic<Int>(0)
  /// The word of a journal that cannot be repaired for want of permission to write it; zero where the file's own counts.
  private let scanned = Atomic<UInt64>(0)

  private init(_ fd: Int32, path: FilePath, isWritable: Bool, calls: SystemCalls) throws(StoreError) {
    self.fd = fd
    self.path = path
    self.isWritable = isWritable
    self.calls = calls
    do { memory = try SidecarMemory(fd, path: path, isWritable: isWritable, calls: calls) } catch {
      close(fd)
      throw error
    }
  }

  deinit { close(fd) }

  // MARK: The lock

  /// Takes the lock; see ``FileLock``.
  @inline(__always)
  func lock(patience: Duration = FileLock.patience) throws(StoreError) {
    try FileLock.acquire(fd, calls, place: path, patience: patience) { holder }
    try nameHolder()
  }

  /// Takes the lock if nobody holds it.
  func tryLock() throws(StoreError) -> Bool {
    guard FileLock.tryAcquire(fd, calls) else { return false }
    try nameHolder()
    return true
  }

  @inline(__always)
  func unlock() { FileLock.release(fd, calls) }

  @inline(__always)
  private func nameHolder() throws(StoreError) {
    guard isWritable else { return }
    let process = UInt64(UInt32(bitPattern: getpid()))
    do {
      if try memory.load(.holder) != process { try memory.store(process, .holder) }
    } catch {
      unlock()
      throw error
    }
  }

  private var holder: UInt32? {
    do { return UInt32(truncatingIfNeeded: try memory.load(.holder)) } catch { return nil }  // Only a name for a message.
  }

  /// Whether a writer must open the file anew: it was given up, or its name was taken away.
  func isGone() throws(StoreError) -> Bool {
    if try FileStatus(of: fd, place: path).links == 0 { return true }
    return try isRetired()
  }

  /// Whether the file was given up by its owner: no system call.
  @inline(__always)
  func isRetired() throws(StoreError) -> Bool { try memory.load(.retired) != 0 }

  // MARK: The word and the records

  @inline(__always)
  func word() throws(StoreError) -> JournalWord {
    let scanned = self.scanned.load(ordering: .relaxed)
    return scanned == 0 ? try memory.word() : JournalWord(rawValue: scanned)
  }

  func start(of word: JournalWord) throws(StoreError) -> Int {
    let start = try memory.load(SidecarLayout.start(of: word.epoch))
    guard start <= UInt64(SidecarLayout.capacity) else { throw damagedHeader }
    return Int(start)
  }

  var list: ListFingerprint {
    get throws(StoreError) {
      ListFingerprint(
        inode: try memory.load(.listInode), modified: try memory.load(.listModified), size: try memory.load(.listSize))
    }
  }

  /// Hands the bytes of the records in `range` to `body`.
  func withRecords<Result>(
    _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    guard try holds(range.upperBound) else { throw shortened(range.upperBound) }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(range.count, 1), alignment: 8)
    defer { buffer.deallocate() }
    let bytes = UnsafeMutableRawBufferPointer(rebasing: buffer[..<range.count])
    try memory.read(bytes, at: SidecarLayout.headerBytes + range.lowerBound)
    // What was copied must not be read after the word that the caller compares next.
    atomicMemoryFence(ordering: .acquiring)
    return try body(UnsafeRawBufferPointer(bytes))
  }

  private func holds(_ end: Int) throws(StoreError) -> Bool {
    let needed = SidecarLayout.headerBytes + end
    if needed <= knownBytes.load(ordering: .relaxed) { return true }
    let size = try FileStatus(of: fd, place: path).size
    knownBytes.store(size, ordering: .relaxed)
    return needed <= size && end <= SidecarLayout.capacity
  }

  private func shortened(_ end: Int) -> StoreError {
    StoreError(
      .damaged, "the journal ends before byte \(end)", place: path.string,
      cure: "another program has shortened it; restore it, or delete it to lose what was not yet in the property list")
  }

  // MARK: Writing, under the lock

  /// Makes sure of real blocks for records up to `end`.
  @inline(__always)
  func reserve(_ end: Int) throws(StoreError) {
    if SidecarLayout.headerBytes + end > Int(clamping: try memory.load(.allocated)) { try allocate(end) }
  }

  private func allocate(_ end: Int) throws(StoreError) {
    guard end <= SidecarLayout.capacity else {
      throw StoreError(
        .tooLarge(limit: SidecarLayout.capacity), "the journal is full", place: path.string,
        cure: "let synchronize() succeed, whose error says what is in the way; nothing was changed")
    }
    let old = Int(clamping: try memory.load(.allocated))
    let step = SidecarLayout.step
    let new = min((SidecarLayout.headerBytes + end + step - 1) / step * step, SidecarLayout.mappedBytes)
    let result = calls.allocate(fd, old, new - old)
    guard result == 0 else { throw StoreError(errno: -result, "take room for the journal", place: path) }
    try memory.store(UInt64(new), .allocated)
  }

  /// Appends a record of `count` bytes after `word` and publishes it.
  @inline(__always)
  func append(
    _ count: Int, after word: JournalWord, _ encode: (UnsafeMutableRawBufferPointer) -> Void
  ) throws(StoreError) -> JournalWord {
    try reserve(word.end + count)
    try memory.fill(count, at: SidecarLayout.headerBytes + word.end, encode)
    calls.reached?(.recordCopied)
    let new = word.advanced(by: count)
    try memory.publish(new)
    return new
  }

  /// Makes the records and the word durable.
  func synchronize() throws(StoreError) {
    let result = calls.synchronize(fd)
    guard result == 0 else { throw StoreError(errno: -result, "make the journal durable", place: path) }
  }

  /// Begins an epoch that holds only `survivors`, on top of `list`.
  func beginEpoch(
    after word: JournalWord, list: ListFingerprint, foldedFrom: JournalWord?, survivors: [Record], writer: Record.Writer
  ) throws(StoreError) -> JournalWord {
    let count = survivors.reduce(0) { $0 + $1.count }
    // Survivors go where the present epoch has no records: below its first one, else behind its last.
    let begin = try count <= start(of: word) || count == 0 ? 0 : word.end
    let new = word.nextEpoch(end: begin + count)
    try reserve(new.end)
    try memory.fill(count, at: SidecarLayout.headerBytes + begin) { buffer in
      var offset = 0
      for record in survivors {
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer[offset..<offset + record.count])
        record.encode(into: part, epoch: new.epoch, writer: writer)
        offset += record.count
      }
    }
    try memory.store(UInt64(begin), SidecarLayout.start(of: new.epoch))
    try memory.store(list.inode, .listInode)
    try memory.store(list.modified, .listModified)
    try memory.store(list.size, .listSize)
    try memory.store(foldedFrom?.rawValue ?? 0, .foldedFrom)
    try memory.publish(new)
    return new
  }

  /// Gives the file up: whoever has it open, opens a new one.
  func retire() throws(StoreError) { try memory.store(1, .retired) }

  /// Overwrites every byte of room for records that `word` does not use.
  func scrub(outside word: JournalWord) throws(StoreError) {
    let start = try start(of: word)
    let end = min(Int(clamping: try memory.load(.allocated)), SidecarLayout.mappedBytes) - SidecarLayout.headerBytes
    for range in [0..<start, word.end..<max(word.end, end)] where !range.isEmpty {
      try memory.fill(range.count, at: SidecarLayout.headerBytes + range.lowerBound) {
        _ = $0.initializeMemory(as: UInt8.self, repeating: 0)
      }
    }
    try synchronize()
  }
}

// MARK: - Opening

extension Sidecar {
  /// Opens the sidecar at `path`, making it where there is none.
  ///
  /// - Returns: nil when there is none and none can be made, because the place is read-only.
  /// - Throws: ``StoreError`` `.denied` when it is another user's, a symbolic link or open to others; `.damaged`, `.newerFormat`.
  static func open(at path: FilePath, forWriting: Bool, calls: SystemCalls) throws(StoreError) -> Sidecar? {
    while true {
      guard let (fd, isWritable) = try openFile(path, forWriting, calls) else { return nil }
      let status: FileStatus
      do {
        status = try FileStatus(of: fd, place: path)
        try check(status, path)
      } catch {
        close(fd)
        throw error
      }
      if !isWritable, status.size < SidecarLayout.headerBytes {
        close(fd)
        return nil
      }
      let sidecar = try Sidecar(fd, path: path, isWritable: isWritable, calls: calls)
      if try sidecar.prepare() { return sidecar }
      // Its name was taken away while this waited for its lock.
    }
  }

  private static func openFile(
    _ path: FilePath, _ forWriting: Bool, _ calls: SystemCalls
  ) throws(StoreError) -> (fd: Int32, isWritable: Bool)? {
    let always = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
    var fd = forWriting ? calls.open(path.string, O_RDWR | O_CREAT | always, 0o600) : -EROFS
    if fd >= 0 { return (fd, true) }
    guard [-EACCES, -EPERM, -EROFS].contains(fd) else { throw StoreError(errno: -fd, "open the journal", place: path) }
    fd = calls.open(path.string, O_RDONLY | always, 0)
    if fd == -ENOENT { return nil }
    guard fd >= 0 else { throw StoreError(errno: -fd, "open the journal", place: path) }
    return (fd, false)
  }

  private static func check(_ status: FileStatus, _ path: FilePath) throws(StoreError) {
    let refusal: (what: String, cure: String)? =
      if !status.isRegular {
        ("the journal is not a regular file", "remove what stands in its place")
      } else if status.owner != geteuid() {
        ("the journal belongs to user \(status.owner)", "run as that user, or remove the file if it is not theirs to make")
      } else if status.permissions & 0o022 != 0 {
        ("others may write the journal", "chmod 600 it if you trust what it holds, else remove it")
      } else {
        nil
      }
    if let refusal { throw StoreError(.denied, refusal.what, place: path.string, cure: refusal.cure) }
  }

  /// Brings the header into order under the lock; false when the file is no longer the one at its path.
  private func prepare() throws(StoreError) -> Bool {
    guard isWritable else {
      try checkFormat()
      try repair()
      return true
    }
    // The file may be so new that it has no header to name a holder in.
    let hasHeader = try FileStatus(of: fd, place: path).size >= SidecarLayout.headerBytes
    try FileLock.acquire(fd, calls, place: path) { hasHeader ? holder : nil }
    defer { unlock() }
    if try FileStatus(of: fd, place: path).size < SidecarLayout.headerBytes + SidecarLayout.step { try create() }
    if try isGone() { return false }
    if try memory.load(.magic) == 0 { try begin() }
    try checkFormat()
    try nameHolder()
    try repair()
    return true
  }

  private func create() throws(StoreError) {
    let result = calls.allocate(fd, 0, SidecarLayout.headerBytes + SidecarLayout.step)
    guard result == 0 else { throw StoreError(errno: -result, "take room for the journal", place: path) }
  }

  private func begin() throws(StoreError) {
    // Written out: an allocated page that was never written may still need a block elsewhere on some file systems.
    try memory.fill(SidecarLayout.headerBytes, at: 0) { _ = $0.initializeMemory(as: UInt8.self, repeating: 0) }
    try memory.store(SidecarLayout.version, .version)
    try memory.store(UInt64(SidecarLayout.headerBytes + SidecarLayout.step), .allocated)
    try memory.publish(JournalWord(epoch: 1, end: 0))
    try memory.store(BootID.current.high, .bootHigh)
    try memory.store(BootID.current.low, .bootLow)
    // Last: a header without it is begun anew by whoever opens the file next.
    try memory.store(SidecarLayout.magic, .magic)
    try synchronize()
  }

  private func checkFormat() throws(StoreError) {
    guard try memory.load(.magic) == SidecarLayout.magic else { throw damagedHeader }
    let version = try memory.load(.version)
    guard version <= SidecarLayout.version else {
      throw StoreError(
        .newerFormat(found: Int(clamping: version), supported: Int(SidecarLayout.version)),
        "the journal has a newer format", place: path.string, cure: "update this program")
    }
  }

  private var damagedHeader: StoreError {
    StoreError(
      .damaged, "the journal's header is not one", place: path.string,
      cure: "restore the file, or delete it to lose what was not yet in the property list")
  }

  /// After a power loss the word on disk may be older or newer than the records: the checksums tell how far they reach.
  private func repair() throws(StoreError) {
    let boot = BootID(high: try memory.load(.bootHigh), low: try memory.load(.bootLow))
    let size = try FileStatus(of: fd, place: path).size
    let word = try memory.word()
    let begin = try start(of: word)
    // A file that was cut short has fewer blocks than it says: a store behind its end would end the process.
    let allocated = Int(clamping: try memory.load(.allocated))
    if boot == .current, boot.isKnown, word.end + SidecarLayout.headerBytes <= size, allocated <= size { return }
    let room = min(size, SidecarLayout.mappedBytes) - SidecarLayout.headerBytes
    let end = begin > room ? begin : try scan(begin..<max(begin, room), epoch: word.epoch)
    let found = JournalWord(epoch: word.epoch, end: end)
    guard isWritable else { return scanned.store(found.rawValue, ordering: .relaxed) }
    try memory.store(UInt64(max(size, SidecarLayout.headerBytes)), .allocated)
    try memory.publish(found)
    try memory.store(BootID.current.high, .bootHigh)
    try memory.store(BootID.current.low, .bootLow)
    try synchronize()
  }

  private func scan(_ range: Range<Int>, epoch: UInt64) throws(StoreError) -> Int {
    try withRecords(range) { (bytes) throws(StoreError) in
      var offset = 0
      while let (_, count) = Record.decode(UnsafeRawBufferPointer(rebasing: bytes[offset...]), epoch: epoch) { offset += count }
      return range.lowerBound + offset
    }
  }
}
