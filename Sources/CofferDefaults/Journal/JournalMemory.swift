internal import CofferPlatform
internal import Synchronization
internal import SystemPackage

/// The bytes of a journal, through a shared mapping if the file system allows it, else through read and write.
///
/// A store into a mapping cannot report a full disk: the process gets SIGBUS. So stores go to memory only on file systems
/// that write preallocated blocks in place. Loads from memory need a single page cache, which a remote file system lacks.
///
/// If another program truncates the file, the bytes past its end read as zeros (see `coffer_map_file`), and every access
/// finds the wrong ``JournalLayout/Field/number``.
struct JournalMemory: ~Copyable, @unchecked Sendable {
  // Sendable: the word is atomic. All other bytes are written under the file's lock, and a reader uses its copy only if the
  // word shows that they did not change.
  private let fd: Int32
  private let base: UnsafeMutableRawPointer?
  private let storesToMemory: Bool
  private let calls: SystemCalls
  let path: FilePath

  init(_ fd: Int32, path: FilePath, isWritable: Bool, calls: SystemCalls) throws(StoreError) {
    self.fd = fd
    self.path = path
    self.calls = calls
    let fileSystem = calls.fileSystem(fd)
    storesToMemory = isWritable && Self.writesInPlace.contains(fileSystem) && Self.mayMap.load(ordering: .relaxed)
    // On overlayfs a read-only file still maps the lower layer's pages after a writer has copied it up.
    let isStale = !isWritable && fileSystem == Self.overlay
    guard !Self.remote.contains(fileSystem), !isStale, Self.mayMap.load(ordering: .relaxed) else {
      base = nil
      return
    }
    base = coffer_map_file(fd, JournalLayout.mappedBytes, storesToMemory)
    guard base != nil else { throw StoreError(errno: errno, "map the journal", place: path) }
  }

  deinit {
    if let base { coffer_unmap_file(base, JournalLayout.mappedBytes) }
  }

  /// No file is mapped without a SIGBUS handler.
  static let mayMap = Atomic(true)

  /// ext2 to ext4, XFS, tmpfs: `f_type` values from statfs(2).
  private static let writesInPlace: Set<Int64> = [0xEF53, 0x5846_5342, 0x0102_1994]
  /// `f_type` of overlayfs.
  private static let overlay: Int64 = 0x794C_7630
  /// NFS, SMB (three drivers), FUSE, 9P, Ceph, AFS, OCFS2, GFS2, VirtualBox folders: `f_type` values from statfs(2).
  private static let remote: Set<Int64> = [
    0x6969, 0x517B, 0xFE53_4D42, 0xFF53_4D42, 0x6573_5546, 0x0102_1997, 0x00C3_6400, 0x5346_414F, 0x7461_636F, 0x0116_1970,
    0x786F_4256,
  ]

  /// Everything written before the word can be read after it.
  @inline(__always)
  func word() throws(StoreError) -> JournalWord {
    guard let base else { return JournalWord(rawValue: try load(.word)) }
    let word = (base + JournalLayout.Field.word.rawValue).assumingMemoryBound(to: Atomic<UInt64>.self)
    return JournalWord(rawValue: word.pointee.load(ordering: .acquiring))
  }

  @inline(__always)
  func publish(_ word: JournalWord) throws(StoreError) {
    guard storesToMemory, let base else { return try store(word.rawValue, .word) }
    let place = (base + JournalLayout.Field.word.rawValue).assumingMemoryBound(to: Atomic<UInt64>.self)
    place.pointee.store(word.rawValue, ordering: .releasing)
  }

  /// A writer may be storing a number. A store takes less time than a second look.
  static let looks = 3

  // MARK: Telling watchers

  /// Stores through system calls cause events anyway. A process that may not write notices folds, which replace the list.
  func arm() { _ = armed?.pointee.exchange(1, ordering: .sequentiallyConsistent) }

  @inline(__always)
  var isArmed: Bool { armed?.pointee.load(ordering: .sequentiallyConsistent) ?? 0 != 0 }

  /// A failure costs only time: the fold notifies the watchers too.
  func ring() {
    guard armed?.pointee.exchange(0, ordering: .sequentiallyConsistent) ?? 0 != 0 else { return }
    withUnsafeBytes(of: UInt8(0)) { _ = calls.write(fd, $0, JournalLayout.Field.bell.rawValue) }
  }

  @inline(__always)
  private var armed: UnsafeMutablePointer<Atomic<UInt64>>? {
    guard storesToMemory, let base else { return nil }
    return (base + JournalLayout.Field.armed.rawValue).assumingMemoryBound(to: Atomic<UInt64>.self)
  }

  @inline(__always)
  func load(_ field: JournalLayout.Field) throws(StoreError) -> UInt64 {
    if let base { return UInt64(littleEndian: base.load(fromByteOffset: field.rawValue, as: UInt64.self)) }
    var number: UInt64 = 0
    try withUnsafeMutableBytes(of: &number) { (buffer) throws(StoreError) in try read(buffer, at: field.rawValue) }
    return UInt64(littleEndian: number)
  }

  @inline(__always)
  func load32(_ offset: Int) throws(StoreError) -> UInt32 {
    var number: UInt32 = 0
    try withUnsafeMutableBytes(of: &number) { (buffer) throws(StoreError) in try read(buffer, at: offset) }
    return UInt32(littleEndian: number)
  }

  @inline(__always)
  func store(_ number: UInt64, _ field: JournalLayout.Field) throws(StoreError) {
    if storesToMemory, let base {
      base.storeBytes(of: number.littleEndian, toByteOffset: field.rawValue, as: UInt64.self)
    } else {
      try withUnsafeBytes(of: number.littleEndian) { (bytes) throws(StoreError) in try write(bytes, at: field.rawValue) }
    }
  }

  /// Reads zeros past the file's end.
  func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(StoreError) {
    if let base {
      buffer.copyMemory(from: UnsafeRawBufferPointer(start: base + offset, count: buffer.count))
      return
    }
    var done = 0
    while done < buffer.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      let count = calls.read(fd, rest, offset + done)
      guard count >= 0 else { throw StoreError(errno: Int32(-count), "read the journal", place: path) }
      if count == 0 { return _ = rest.initializeMemory(as: UInt8.self, repeating: 0) }
      done += count
    }
  }

  /// The blocks must be reserved.
  @inline(__always)
  func fill(_ count: Int, at offset: Int, _ body: (UnsafeMutableRawBufferPointer) -> Void) throws(StoreError) {
    if storesToMemory, let base { return body(UnsafeMutableRawBufferPointer(start: base + offset, count: count)) }
    let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 8)
    defer { scratch.deallocate() }
    body(scratch)
    try write(UnsafeRawBufferPointer(scratch), at: offset)
  }

  private func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(StoreError) {
    var done = 0
    while done < bytes.count {
      let count = calls.write(fd, UnsafeRawBufferPointer(rebasing: bytes[done...]), offset + done)
      guard count > 0 else { throw StoreError(errno: count == 0 ? EIO : Int32(-count), "write the journal", place: path) }
      done += count
    }
  }
}
