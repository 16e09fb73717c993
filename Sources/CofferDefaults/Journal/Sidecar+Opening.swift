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

// Opening a sidecar, making one, and bringing it into order after a power loss.
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
      // Its maker has not come to writing the header, or did not live to: nothing is in it.
      if !isWritable, try sidecar.memory.load(.magic) == 0 { return nil }
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
    var hasHeader = try FileStatus(of: fd, place: path).size >= SidecarLayout.headerBytes
    try FileLock.acquire(fd, calls, place: path) { hasHeader ? holder : nil }
    // Nobody watches a file without a header, and to look for one behind the file's end would end the process.
    defer { if hasHeader { unlock() } else { FileLock.release(fd, calls) } }
    if try FileStatus(of: fd, place: path).size < SidecarLayout.headerBytes + SidecarLayout.step { try create() }
    hasHeader = true
    if try isGone() {
      try removeIfAbandoned()
      return false
    }
    if try memory.load(.magic) == 0 { try begin() }
    try checkFormat()
    try nameHolder()
    try repair()
    return true
  }

  /// Takes the name of a file that was given up, where its owner died before it could: nobody else would ever do so.
  private func removeIfAbandoned() throws(StoreError) {
    guard try memory.load(.retired) <= 1 else { throw damagedHeader }
    guard try FileStatus(at: path)?.inode == FileStatus(of: fd, place: path).inode else { return }
    let result = calls.unlink(path.string)
    guard result == 0 || result == -ENOENT else { throw StoreError(errno: -result, "remove the journal", place: path) }
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
    // A journal that is durable under no name would take a prepared batch with it.
    try AtomicFile.synchronizeFolder(of: path, calls)
  }

  /// Throws unless the header is one: of no other format, and not overwritten.
  func checkFormat() throws(StoreError) {
    guard try memory.load(.magic) == SidecarLayout.magic, try memory.word().epoch != JournalWord.never.epoch else {
      throw damagedHeader
    }
    let version = try memory.load(.version)
    guard version <= SidecarLayout.version else {
      throw StoreError(
        .newerFormat(found: Int(clamping: version), supported: Int(SidecarLayout.version)),
        "the journal has a newer format", place: path.string, cure: "update this program")
    }
  }

  /// The error of a header that no version of Coffer wrote.
  var damagedHeader: StoreError {
    StoreError(
      .damaged, "the journal's header is not one", place: path.string,
      cure: "restore the file, or delete it to lose what was not yet in the property list")
  }

  /// After a power loss the word on disk may be older or newer than the records: the checksums tell how far they reach.
  private func repair() throws(StoreError) {
    let boot = try boot
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
