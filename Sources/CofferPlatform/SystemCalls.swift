package import SystemPackage

/// The system calls on which a store's promises rest. Tests replace one to make it fail, or to end the process at an exact
/// point. Each returns the call's result, or the negated `errno`.
package struct SystemCalls: Sendable {
  package var open: @Sendable (String, Int32, UInt32) -> Int32 = { path, flags, mode in
    repeating { coffer_open(path, flags, mode) }
  }
  /// open(2) of a new, nameless file in a folder, with a mode.
  package var openUnnamed: @Sendable (String, UInt32) -> Int32 = { folder, mode in
    repeating { coffer_open_unnamed(folder, mode) }
  }
  /// linkat(2): names such a file.
  package var name: @Sendable (_ fd: Int32, _ path: String) -> Int32 = { fd, path in repeating { coffer_name(fd, path) } }
  /// flock(2).
  package var lock: @Sendable (Int32, Int32) -> Int32 = { fd, operation in repeating { flock(fd, operation) } }
  /// posix_fallocate(3): real blocks for `count` bytes at `offset`.
  package var allocate: @Sendable (_ fd: Int32, _ offset: Int, _ count: Int) -> Int32 = { fd, offset, count in
    allocateBlocks(fd, offset, count)
  }
  /// pwrite(2).
  package var write: @Sendable (_ fd: Int32, _ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Int = { fd, bytes, offset in
    repeating { pwrite(fd, bytes.baseAddress, bytes.count, off_t(offset)) }
  }
  /// pread(2).
  package var read: @Sendable (_ fd: Int32, _ bytes: UnsafeMutableRawBufferPointer, _ offset: Int) -> Int = {
    repeating(pread, $0, $1, $2)
  }
  /// fdatasync(2): contents, and the metadata needed to read them.
  package var synchronize: @Sendable (Int32) -> Int32 = { fd in repeating { dataSync(fd) } }
  /// rename(2).
  package var rename: @Sendable (_ from: String, _ to: String) -> Int32 = { old, new in
    repeating { renameFile(old, new) }
  }
  /// renameat2(2) without replacing: `EEXIST` if the name is taken. Where the file system cannot, rename(2): a second name,
  /// as by ``NewName``, would stay beside a file in use if its maker dies.
  package var renameAnew: @Sendable (_ from: String, _ to: String) -> Int32 = { old, new in
    let result = repeating { coffer_rename_noreplace(old, new) }
    return [-EINVAL, -ENOSYS].contains(result) ? repeating { renameFile(old, new) } : result
  }
  /// renameat2(2) that exchanges two names: `EINVAL` or `ENOSYS` where the file system cannot.
  package var exchange: @Sendable (_ one: String, _ other: String) -> Int32 = { one, other in
    repeating { coffer_rename_exchange(one, other) }
  }
  /// unlink(2).
  package var unlink: @Sendable (String) -> Int32 = { path in repeating { unlinkFile(path) } }
  /// statfs(2) `f_type`, or -1.
  package var fileSystem: @Sendable (Int32) -> Int64 = { fd in coffer_filesystem_type(fd) }
  /// Called where a process may die: tests end it there.
  package var reached: (@Sendable (Step) -> Void)?

  /// The real calls.
  package init() {}

  /// Points between two effects on a disk.
  package enum Step: String, Sendable, CaseIterable {
    /// A record's bytes are in the journal, hidden from readers.
    case recordCopied
    /// A prepared batch is durable.
    case prepared
    /// The other store has decided; the journal does not say so yet.
    case decided
    /// The journal says committed, perhaps not durably.
    case committed
    /// The committed record is durable.
    case commitDurable
    /// The new property list is complete beside the old one.
    case listWritten
    /// The new property list is in place; the journal still holds its changes.
    case listReplaced
    /// The journal is empty again, perhaps not durably.
    case journalEmptied
    /// A new journal has a deleted one's name, which does not say so yet.
    case journalNamed
  }
}

// The closures above would call the members instead.
private func renameFile(_ old: String, _ new: String) -> Int32 { rename(old, new) }
private func unlinkFile(_ path: String) -> Int32 { unlink(path) }

private func allocateBlocks(_ fd: Int32, _ offset: Int, _ count: Int) -> Int32 {
  #if canImport(Darwin)
    // No posix_fallocate: writing zeros makes real blocks too.
    let zeros = [UInt8](repeating: 0, count: count)
    return repeating { Int32(clamping: pwrite(fd, zeros, count, off_t(offset))) } < 0 ? -errno : 0
  #else
    // It returns its error number, and does not restart after a signal.
    while true {
      let failure = posix_fallocate(fd, off_t(offset), off_t(count))
      if failure != EINTR { return -failure }
    }
  #endif
}

private func dataSync(_ fd: Int32) -> Int32 {
  #if canImport(Darwin)
    fcntl(fd, F_FULLFSYNC)
  #else
    fdatasync(fd)
  #endif
}

/// Repeats `call` after signals; returns a failure as the negated `errno`.
private func repeating<Result: SignedInteger>(_ call: () -> Result) -> Result {
  while true {
    let result = call()
    if result >= 0 { return result }
    if errno != EINTR { return -Result(errno) }
  }
}

private func repeating(
  _ call: (Int32, UnsafeMutableRawPointer?, Int, off_t) -> Int, _ fd: Int32, _ bytes: UnsafeMutableRawBufferPointer,
  _ offset: Int
) -> Int {
  repeating { call(fd, bytes.baseAddress, bytes.count, off_t(offset)) }
}

extension StoreError {
  /// A failed system call: `doing` names the attempt (`open`, `write the property list`), `errno` the reason.
  package init(errno code: Int32, _ doing: String, place: FilePath) {
    let errno = Errno(rawValue: code)
    let (kind, cure): (Kind, String) =
      switch errno {
      case .noSpace, .diskQuotaExceeded: (.noSpace, "free some space on that file system and try again; nothing was changed")
      case .readOnlyFileSystem: (.readOnly, "use a place that can be written")
      case .permissionDenied, .notPermitted: (.denied, "check the owner and mode of the path, or choose another place")
      case .tooManySymbolicLinkLevels: (.denied, "replace the symbolic link by the real file")
      case .resourceTemporarilyUnavailable, .deadlock: (.busy, "another process holds it: try again")
      case .noMemory: (.memory, "see the system's message; nothing was changed")
      default: (.io(code), "see the system's message; nothing was changed")
      }
    self.init(kind, "could not \(doing)", place: place.string, cure: cure, underlying: errno)
  }
}
