internal import CofferPlatform
internal import Synchronization
internal import SystemPackage

// A journal gets its name only once it is whole and durable: an empty or short file there is damage, never the result of a
// crash.
extension Journal {
  /// Makes an empty journal at `path`, or finds another process's; false if this user may not.
  ///
  /// - Parameter old: a deleted journal whose lock the caller holds. The new one gets its content.
  static func make(
    at path: FilePath, of old: Journal? = nil, _ calls: SystemCalls, until deadline: LockDeadline?
  ) throws(StoreError) -> Bool {
    let draft = path.appending(suffix: draftSuffix)
    let fd = calls.open(draft.string, O_RDWR | O_CREAT | openFlags, 0o600)
    if refusals.contains(fd) { return false }
    guard fd >= 0 else { throw StoreError(errno: -fd, "make the journal", place: draft) }
    defer { close(fd) }
    let status = try FileStatus(of: fd, place: draft)
    try check(status, draft)
    try FileLock.acquire(fd, calls, place: draft, until: deadline) { nil }
    defer { FileLock.release(fd, calls) }
    // Only the holder of this file's lock makes a journal. An earlier holder may have renamed the file to the journal's name.
    guard let named = try FileStatus(ofLinkAt: draft), named.isSameFile(as: status) else { return true }
    do throws(StoreError) {
      if try FileStatus(ofLinkAt: path) == nil {
        try write(head(of: status, old), fd, draft, calls)
        let result = calls.renameAnew(draft.string, path.string)
        if result == 0 { return true }
        if refusals.contains(result) {
          _ = calls.unlink(draft.string)  // The next maker overwrites it.
          return false
        }
        guard result == -EEXIST else { throw StoreError(errno: -result, "give the journal its name", place: path) }
      }
    } catch {
      _ = calls.unlink(draft.string)  // Whatever remains under this name is overwritten by the next maker.
      throw error
    }
    _ = calls.unlink(draft.string)  // The same holds here.
    return true
  }

  private static let draftSuffix = "-new"

  private static func head(of file: FileStatus, _ old: Journal?) throws(StoreError) -> [UInt8] {
    // On some file systems an allocated page that was never written may still need a block elsewhere.
    var head = try old?.content() ?? [UInt8](repeating: 0, count: JournalLayout.headerBytes)
    let number = old.map { $0.number.load(ordering: .relaxed) &+ 1 } ?? .random(in: 1 ... .max)
    var fields: [(JournalLayout.Field, UInt64)] = [
      (.allocated, UInt64(room(for: head))), (.use, JournalUse.current.field), (.unsynced, 0), (.successor, 0),
      (.device, file.device), (.inode, file.inode),
      (.number, number), (.holder, UInt64(UInt32(bitPattern: getpid()))),
      // No boot: the first opener also makes the name durable.
      (.bootHigh, 0), (.bootLow, 0),
    ]
    if old == nil {
      fields += [
        (.magic, JournalLayout.magic), (.version, JournalLayout.version), (.word, JournalWord(epoch: 1, end: 0).rawValue),
      ]
      for field in [JournalLayout.Field.evenStart, .oddStart] { fields.append((field, CheckedNumber(0, in: field).rawValue)) }
      // So that records of an unfinished journal of this name do not follow.
      for field in [JournalLayout.Field.evenSeed, .oddSeed] {
        fields.append((field, CheckedNumber(.random(in: 0 ... .max), in: field).rawValue))
      }
    }
    for (field, number) in fields {
      head.withUnsafeMutableBytes {
        $0.storeBytes(of: number.littleEndian, toByteOffset: field.rawValue, as: UInt64.self)
      }
    }
    return head
  }

  private static func room(for head: [UInt8]) -> Int {
    max(JournalLayout.smallestBytes, (head.count + JournalLayout.step - 1) / JournalLayout.step * JournalLayout.step)
  }

  private static func write(_ head: [UInt8], _ fd: Int32, _ place: FilePath, _ calls: SystemCalls) throws(StoreError) {
    let taken = calls.allocate(fd, 0, room(for: head))
    guard taken == 0 else { throw StoreError(errno: -taken, "take room for the journal", place: place) }
    var done = 0
    while done < head.count {
      let count = head[done...].withUnsafeBytes { calls.write(fd, $0, done) }
      guard count > 0 else { throw StoreError(errno: count == 0 ? EIO : Int32(-count), "write the journal", place: place) }
      done += count
    }
    let result = calls.synchronize(fd)
    guard result == 0 else { throw StoreError(errno: -result, "make the journal durable", place: place) }
  }
}
