internal import CofferMemory
internal import CofferPlatform
internal import CofferVaultFormat
internal import Synchronization
internal import SystemPackage

/// The end of an open log, at which rows are added.
struct UsesWriter: ~Copyable {
  private let key: SecretBytes
  private let lock: DescriptorLock
  let files: UsesFiles
  private(set) var end: UsesFiles.End
  private(set) var segment: UsesSegment?
  /// The row that the vault remembers.
  var anchored: UInt64

  init(
    key: consuming SecretBytes, lock: DescriptorLock, files: UsesFiles, _ end: UsesFiles.End, anchored: UInt64
  ) throws(StoreError) {
    self.key = key
    (self.lock, self.files, self.end, self.anchored) = (lock, files, end, anchored)
    segment = end.segment > 0 ? try UsesSegment(files.path(end.segment), isNew: false) : nil
  }

  /// Writes `row` with the next number.
  mutating func append(_ row: UseRow) throws(StoreError) {
    let bytes = try end.chain.seal(row, in: files.vault, key)
    guard let segment, end.size + bytes.count <= UsesFiles.segmentBytes else { return try begin(with: row) }
    try segment.append(bytes, after: end.size)
    (end.size, end.chain) = (end.size + bytes.count, end.chain.after(bytes))
  }

  private mutating func begin(with row: UseRow) throws(StoreError) {
    let head = UsesFiles.Head(
      number: end.segment + 1, first: end.segment == 0 ? 1 : end.first, count: end.chain.count, before: end.chain.head)
    let bytes = try head.chain.seal(row, in: files.vault, key)
    // The rows before must not be lost alone.
    try segment?.synchronize()
    let made = try UsesSegment(files.path(head.number), isNew: true)
    do throws(StoreError) {
      try made.append(head.bytes + bytes, after: 0)
      try TrustedPath.synchronize(files.folder)
    } catch {
      try files.trim(to: end)
      throw error
    }
    segment = made
    end = UsesFiles.End(
      chain: head.chain.after(bytes), segment: head.number, first: head.first, size: UsesFiles.Head.size + bytes.count)
    try files.remove { $0 + UsesFiles.most <= head.number }
  }
}

/// The open segment.
final class UsesSegment: Sendable {
  private let path: FilePath
  private let descriptor: Int32
  /// Whether a thread will make the rows durable; the number of its error.
  private let isDue = Atomic<Bool>(false), failure = Atomic<Int32>(0)

  /// Rows may be lost within this time of a power failure: waiting for a disk takes a thousand times as long as a row.
  private static let delay: UInt64 = 500_000_000

  init(_ path: FilePath, isNew: Bool) throws(StoreError) {
    let flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC | (isNew ? O_CREAT | O_EXCL : 0)
    descriptor = path.withPlatformString { coffer_open($0, flags, 0o600) }
    self.path = path
    guard descriptor >= 0 else { throw StoreError(errno: errno, "open the log of uses", place: path) }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Adds `bytes` after the first `size` ones, whole or not at all.
  func append(_ bytes: [UInt8], after size: Int) throws(StoreError) {
    try check(failure.load(ordering: .acquiring))
    // Rows in a file that is elsewhere would be found by nobody.
    guard let named = try FileStatus(ofLinkAt: path), try FileStatus(of: descriptor, place: path).isSameFile(as: named) else {
      throw StoreError(
        .tampered, "the open file of the log of uses was moved or replaced", place: path.string,
        cure: "put it back; or lock the vault and keep the rest of the folder elsewhere")
    }
    var count = write(descriptor, bytes, bytes.count)
    while count < 0, errno == EINTR { count = write(descriptor, bytes, bytes.count) }
    guard count == bytes.count else {
      let code = count < 0 ? errno : ENOSPC
      // No row may follow a part that stays. The next agent cuts it.
      if ftruncate(descriptor, off_t(size)) != 0 { failure.store(code, ordering: .releasing) }
      throw StoreError(errno: code, "write the log of uses", place: path)
    }
    guard !isDue.exchange(true, ordering: .acquiringAndReleasing) else { return }
    do throws(StoreError) {
      try DetachedThread.start(stackBytes: 512 << 10, place: path) { [self] in
        DetachedThread.sleep(Self.delay)
        isDue.store(false, ordering: .releasing)
        if fdatasync(descriptor) != 0 { failure.store(errno, ordering: .releasing) }
      }
    } catch {
      isDue.store(false, ordering: .releasing)
      try synchronize()
    }
  }

  func synchronize() throws(StoreError) {
    try check(failure.load(ordering: .acquiring))
    try check(fdatasync(descriptor) == 0 ? 0 : errno)
  }

  private func check(_ code: Int32) throws(StoreError) {
    guard code == 0 else { throw StoreError(errno: code, "make the log of uses durable", place: path) }
  }
}
