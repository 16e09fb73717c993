internal import CofferPlatform
internal import CofferStorage
internal import Synchronization
internal import SystemPackage

extension Journal {
  /// Opens the journal of `files`, or makes it. A journal that another program is writing gets a moment to become whole.
  ///
  /// - Parameter mayMake: whether to make a missing journal. Otherwise `.moved` is thrown.
  /// - Parameter overwritten: a journal known to have been overwritten.
  /// - Returns: nil when there is none and the place is read-only.
  /// - Throws: ``/CofferPlatform/StoreError`` `.denied` when it is another user's, a symbolic link or open to others;
  ///   `.damaged`, `.newerFormat`.
  static func open(
    of files: ListFiles, forWriting: Bool, mayMake: Bool = true, calls: SystemCalls, until deadline: LockDeadline? = nil,
    overwritten: Journal? = nil
  ) throws(StoreError) -> Journal? {
    let path = files.journal
    var attempts = 1
    while true {
      guard let (fd, isWritable) = try openFile(path, forWriting, calls) else {
        if forWriting, !mayMake { throw gone(path) }
        guard forWriting, try make(at: path, calls, until: deadline) else { return nil }
        continue
      }
      let status: FileStatus
      do {
        status = try FileStatus(of: fd, place: path)
        try check(status, path)
        if isUnfinished(fd, status, calls), attempts < ListContent.attempts, ListContent.isBeingWritten(status) {
          attempts += 1
          close(fd)
          ListContent.pause()
          continue
        }
        try checkSize(status, path)
      } catch {
        close(fd)
        throw error
      }
      let journal = try Journal(fd, status, path: path, isWritable: isWritable, calls: calls)
      if try journal.prepare(overwritten, until: deadline) { return journal }
      if !mayMake { throw gone(path) }
    }
  }

  private static func gone(_ path: FilePath) -> StoreError {
    StoreError(.moved, "the journal was removed while it was opened", place: path.string, cure: "try again")
  }

  private static func openFile(
    _ path: FilePath, _ forWriting: Bool, _ calls: SystemCalls
  ) throws(StoreError) -> (fd: Int32, isWritable: Bool)? {
    var fd = forWriting ? calls.open(path.string, O_RDWR | openFlags, 0) : -EROFS
    if fd >= 0 { return (fd, true) }
    if refusals.contains(fd) { fd = calls.open(path.string, O_RDONLY | openFlags, 0) }
    if fd == -ENOENT { return nil }
    guard fd >= 0 else { throw StoreError(errno: -fd, "open the journal", place: path) }
    return (fd, false)
  }

  static let openFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
  /// The errors of open(2) when this process may not write.
  static let refusals = [-EACCES, -EPERM, -EROFS]

  static func check(_ status: FileStatus, _ path: FilePath) throws(StoreError) {
    let refusal: (what: String, cure: String)? =
      if !status.isRegular {
        ("the journal is not a regular file", "remove what is in its place")
      } else if status.owner != geteuid() {
        ("the journal belongs to user \(status.owner)", "run as that user, or remove the file if it is not theirs to make")
      } else if status.permissions & 0o022 != 0 {
        ("other users can write the journal", "chmod 600 it if you trust what it holds, else remove it")
      } else {
        nil
      }
    if let refusal { throw StoreError(.denied, refusal.what, place: path.string, cure: refusal.cure) }
  }

  /// A journal gets its name only with its first room for records, durably, and never shrinks. Even a power loss does not
  /// explain a shorter one. (Reading past a file's end would crash the process.)
  private static func checkSize(_ status: FileStatus, _ path: FilePath) throws(StoreError) {
    guard status.size < JournalLayout.smallestBytes else { return }
    throw StoreError(
      .damaged, "the journal has \(status.size) bytes, fewer than any journal has", place: path.string, cure: damageCure)
  }

  /// True for a file in the middle of being copied.
  private static func isUnfinished(_ fd: Int32, _ status: FileStatus, _ calls: SystemCalls) -> Bool {
    guard status.size >= JournalLayout.smallestBytes else { return true }
    var magic: UInt64 = 0
    return withUnsafeMutableBytes(of: &magic) { calls.read(fd, $0, JournalLayout.Field.magic.rawValue) } == 8 && magic == 0
  }

  /// False when the file is no longer the one at its path.
  private func prepare(_ overwritten: Journal?, until deadline: LockDeadline?) throws(StoreError) -> Bool {
    try checkFormat()
    guard isWritable else {
      number.store(try memory.load(.number), ordering: .relaxed)
      try repair(!memory.isOf(file))
      return true
    }
    try FileLock.acquire(fd, calls, place: path, until: deadline) { holder }
    defer { unlock() }
    guard let named = try FileStatus(ofLinkAt: path), named.isSameFile(as: file) else { return false }
    let use = try memory.use
    if use == .removed {
      // Its owner died before it could remove the name.
      try remove()
      return false
    }
    try checkFormat()
    try nameHolder()
    // To processes that still have it open, a copy, or a restored file, is another journal.
    var isForeign = use == .givenUp
    if try !memory.isOf(file) { isForeign = true }
    // The second process finds the first one's number. A smaller number means that the file was overwritten again.
    if let overwritten, overwritten.file.isSameFile(as: file) {
      let step = try overwritten.memory.load(.number) &- overwritten.number.load(ordering: .relaxed)
      if Int64(bitPattern: step) <= 0 { isForeign = true }
    }
    try repair(isForeign)
    if isForeign { try memory.adopt(file) }
    number.store(try memory.load(.number), ordering: .relaxed)
    return true
  }

  private func remove() throws(StoreError) {
    let result = calls.unlink(path.string)
    guard result == 0 || result == -ENOENT else { throw StoreError(errno: -result, "remove the journal", place: path) }
  }

  func checkFormat() throws(StoreError) {
    guard try memory.load(.magic) == JournalLayout.magic else { throw memory.damagedHeader }
    let version = try memory.load(.version)
    guard version <= JournalLayout.version else {
      throw StoreError(
        .newerFormat(found: Int(clamping: version), supported: Int(JournalLayout.version)),
        "the journal has a newer format", place: path.string, cure: "update this program")
    }
    guard version == JournalLayout.version else {
      throw StoreError(
        .damaged, "the journal has format \(version), which no version reads any more", place: path.string,
        cure: "delete it, once the program that wrote it has brought the property list up to date")
    }
    _ = try (wholeWord(), memory.use)
  }

  static let damageCure = "restore the file, or delete it to lose what was not yet in the property list"

  /// After a power loss the word on disk may be older or newer than the records; the checksums show how far they reach. If a
  /// copy's header and records differ in age, only the list counts.
  private func repair(_ isForeign: Bool) throws(StoreError) {
    let word = try wholeWord()
    // Read after the word: others may reserve space before they record it.
    let status = try FileStatus(of: fd, place: path)
    let size = status.size
    if !isForeign, BootID.current.isKnown, try memory.boot == .current { return try check(word, status) }
    let begin = try memory.start(of: word)
    let room = min(size, JournalLayout.mappedBytes) - JournalLayout.headerBytes
    var end = begin > room ? begin : try scan(begin..<max(begin, room), epoch: word.epoch)
    if end < word.end, BootID.current.isKnown, try memory.boot == .current, try !memory.isOf(file) { end = begin }
    let found = JournalWord(epoch: word.epoch, end: end)
    guard isWritable else {
      if found != word { scanned.store(found.rawValue, ordering: .relaxed) }
      return
    }
    try memory.store(Self.trusted(size), .allocated)
    try memory.publish(found)
    // If the system does not tell its boot, the bytes after the end may be remains of a power loss.
    try completeFold()
    try wipe(end..<max(end, room))
    try wipe(0..<begin)
    try synchronize()
    // A journal without a durable name would take a prepared batch with it. Its maker may have died before this step.
    try AtomicFile.synchronizeFolder(of: path, calls)
    // Last: until then every opener repeats the repair.
    try memory.store(BootID.current.high, .bootHigh)
    try memory.store(BootID.current.low, .bootLow)
  }

  /// Overwrites the bytes outside the whole records. After them, a torn record may hide later ones of this epoch: a new record
  /// of the same length would link to them, and the next power loss would restore them over newer values. Before them, a dead
  /// fold may have left copies for the next epoch.
  ///
  /// Existing zeros may not be on the disk, if a sync failed.
  private func wipe(_ range: Range<Int>) throws(StoreError) {
    let isDoubtful = try memory.load(.unsynced) != 0
    if isDoubtful { try reserve(range.upperBound) }
    var begin = range.lowerBound
    while begin < range.upperBound {
      // A store into a hole, which a copied file may have, crashes the process if the disk is full.
      let end = min((begin / Self.blockBytes + 1) * Self.blockBytes, range.upperBound)
      let isBlank = try withRecords(begin..<end) { (bytes) throws(StoreError) in bytes.allSatisfy { $0 == 0 } }
      if isDoubtful || !isBlank {
        try memory.fill(end - begin, at: JournalLayout.headerBytes + begin) {
          _ = $0.initializeMemory(as: UInt8.self, repeating: 0)
        }
      }
      begin = end
    }
  }

  private static let blockBytes = 4096

  /// Without a power loss, committed bytes are present.
  private func check(_ word: JournalWord, _ status: FileStatus) throws(StoreError) {
    let size = status.size
    guard word.end + JournalLayout.headerBytes <= size else {
      throw StoreError(
        .damaged, "the journal ends at byte \(size) and holds \(word.end + JournalLayout.headerBytes)", place: path.string,
        cure: Self.damageCure)
    }
    // A store into a hole, or past the end, of a copied or truncated file would crash the process.
    guard isWritable else { return }
    let allocated = Int(clamping: try memory.load(.allocated))
    if allocated > min(size, status.blockBytes) { try memory.store(Self.trusted(size), .allocated) }
  }

  /// The bytes of a file of `size` that certainly have blocks, even in a copy: copying tools make holes of unwritten parts.
  /// Reserving existing blocks costs next to nothing.
  private static func trusted(_ size: Int) -> UInt64 {
    #if canImport(Darwin)
      UInt64(size)  // There, blocks are taken by writing zeros.
    #else
      0
    #endif
  }

  private func scan(_ range: Range<Int>, epoch: UInt64) throws(StoreError) -> Int {
    let seed = try memory.seed(of: epoch)
    return try withRecords(range) { (bytes) throws(StoreError) in
      range.lowerBound + Record.wholeBytes(bytes, epoch: epoch, after: seed)
    }
  }
}
