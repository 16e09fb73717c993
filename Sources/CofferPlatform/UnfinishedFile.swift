internal import FoundationEssentials
package import SystemPackage

/// A file that is about to replace another. It stays nameless until its content is complete and durable, so that a dying
/// process leaves nothing behind. Then two system calls in a row name it and move it into place. Without nameless files, it
/// has the name from the beginning.
///
/// Its lock shows that its maker lives. The next writer into the folder removes the remains of a dead one.
struct UnfinishedFile: ~Copyable {
  private let target: FilePath
  private let calls: SystemCalls
  private let descriptor: Int32
  private let draft: FilePath?
  private var name: FilePath?

  /// A new, empty file beside the target of `file`.
  ///
  /// - Throws: ``StoreError`` `.noSpace`, `.readOnly`, `.denied`, `.io`.
  init(for file: AtomicFile) throws(StoreError) {
    (target, draft, calls) = (file.path, file.draft, file.calls)
    if draft == nil { Self.sweep(target.folder, calls) }
    let unnamed = calls.openUnnamed(target.folder.string, 0o600)
    if unnamed >= 0 {
      _ = calls.lock(unnamed, LOCK_EX | LOCK_NB)
      (descriptor, name) = (unnamed, nil)
    } else if let draft {
      _ = calls.unlink(draft.string)
      (descriptor, name) = (try Self.make(draft, for: target, calls), draft)
    } else {
      // If the reason is not the file system's, the next call fails too, and reports it.
      let made = try Self.locked(beside: target, calls)
      (descriptor, name) = (made.descriptor, made.name)
    }
  }

  deinit { close(descriptor) }

  private static func make(_ path: FilePath, for target: FilePath, _ calls: SystemCalls) throws(StoreError) -> Int32 {
    let made = calls.open(path.string, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard made >= 0 else { throw StoreError(errno: -made, "create the file", place: target).beside(target) }
    return made
  }

  private static func locked(
    beside target: FilePath, _ calls: SystemCalls
  ) throws(StoreError) -> (descriptor: Int32, name: FilePath) {
    while true {
      let name = randomName(beside: target)
      let made = try make(name, for: target, calls)
      _ = calls.lock(made, LOCK_EX | LOCK_NB)
      // Lost if another process swept the folder before the lock.
      if isStill(made, name) { return (made, name) }
      close(made)
    }
  }

  /// Short: the target's name may have the maximum length.
  private static func randomName(beside target: FilePath) -> FilePath {
    target.removingLastComponent().appending("." + String(UInt64.random(in: .min ... .max), radix: 36) + suffix)
  }

  // MARK: Content

  /// Writes `bytes` and makes them durable; see ``AtomicFile/replace(with:mode:like:durably:beforeRename:)``.
  func write(_ bytes: RawSpan, _ mode: UInt32, _ like: FileStatus?) throws(StoreError) -> FileStatus {
    if let like, like.owner != geteuid() || like.group != getegid() {
      guard fchown(descriptor, like.owner, like.group) == 0 else {
        throw StoreError(errno: errno, "keep the file's owner", place: target)
      }
    }
    // The umask may have cleared bits.
    guard fchmod(descriptor, mode_t(mode & 0o777)) == 0 else {
      throw StoreError(errno: errno, "keep the file's mode", place: target)
    }
    try bytes.withUnsafeBytes { (raw) throws(StoreError) in try writeAll(raw) }
    try check(calls.synchronize(descriptor), "make the file durable", place)
    return try FileStatus(of: descriptor, place: place)
  }

  private func writeAll(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    var offset = 0
    while offset < bytes.count {
      let count = calls.write(descriptor, UnsafeRawBufferPointer(rebasing: bytes[offset...]), offset)
      guard count > 0 else { throw StoreError(errno: count == 0 ? EIO : Int32(-count), "write the file", place: place) }
      offset += count
    }
  }

  private func check(_ result: Int32, _ doing: String, _ place: FilePath) throws(StoreError) {
    guard result >= 0 else { throw StoreError(errno: -result, doing, place: place) }
  }

  private var place: FilePath { name ?? target }

  // MARK: Place

  mutating func putInPlace() throws(StoreError) {
    let name = try named()
    try check(calls.rename(name.string, target.string), "replace the file", target)
    keep()
  }

  /// Names the file like the target, if that name is free. ``discard()`` removes it until ``keep()``.
  ///
  /// - Throws: ``StoreError`` `.alreadyExists`.
  mutating func putWhereNothingStands() throws(StoreError) {
    let code = name.map { NewName.give($0, target) } ?? -calls.name(descriptor, target.string)
    guard code != EEXIST else {
      throw StoreError(
        .alreadyExists, "the file already exists", place: target.string,
        cure: "give another path, or use this file")
    }
    guard code <= 0 else { throw StoreError(errno: code, "name the new file", place: target) }
    name = target
  }

  /// Exchanges the file and the target, or replaces the target where the file system cannot.
  ///
  /// - Returns: false if the target has appeared or vanished since `isThere` was determined.
  mutating func exchange(isThere: Bool) throws(StoreError) -> Bool {
    let name = try named()
    let result = isThere ? calls.exchange(name.string, target.string) : calls.renameAnew(name.string, target.string)
    if result == (isThere ? -ENOENT : -EEXIST) { return false }
    if isThere, [-EINVAL, -ENOSYS, -EOPNOTSUPP].contains(result) {
      try putInPlace()
      return true
    }
    try check(result, "replace the file", target)
    if !isThere { keep() }
    return true
  }

  /// Asks `isExpected` about the exchanged file; true if there was none.
  func former(_ isExpected: (FileStatus?) throws(StoreError) -> Bool) throws(StoreError) -> Bool {
    guard let name else { return true }
    return try isExpected(FileStatus(ofLinkAt: name))
  }

  func putBack() throws(StoreError) {
    guard let name else { return }
    try check(calls.exchange(name.string, target.string), "put back what another program saved, from \(name)", target)
    // If another program has saved over ours since, its file is the newest.
    if !Self.isStill(descriptor, name) { try check(calls.exchange(name.string, target.string), "put back a file", target) }
  }

  /// Leaves the file where it is.
  mutating func keep() { name = nil }

  /// The file's name, given on demand: only a name can take the target's place.
  private mutating func named() throws(StoreError) -> FilePath {
    if let name { return name }
    if let draft { _ = calls.unlink(draft.string) }
    let name = draft ?? Self.randomName(beside: target)
    try check(calls.name(descriptor, name.string), "name the new file", target)
    self.name = name
    return name
  }

  /// Removes the name. The next attempt overwrites or removes remains.
  mutating func discard() {
    if let name { _ = calls.unlink(name.string) }
    keep()
  }
}

// The remains of dead processes under the temporary name.
extension UnfinishedFile {
  static let suffix = ".coffer-unfinished"

  /// Removes the remains of this user's dead processes in `folder`. `doctor` reports those that stay.
  static func sweep(_ folder: FilePath, _ calls: SystemCalls) {
    // Under the lock, so that nobody else considers the name dead at the same time.
    for path in names(in: folder) { whileAbandoned(path, calls) { _ = calls.unlink(path.string) } }
  }

  static func abandoned(in folder: FilePath) -> [FilePath] {
    var found: [FilePath] = []
    for path in names(in: folder) { whileAbandoned(path, SystemCalls()) { found.append(path) } }
    return found
  }

  private static func names(in folder: FilePath) -> [FilePath] {
    let entries: [String]
    do { entries = try FileManager.default.contentsOfDirectory(atPath: folder.string) } catch { return [] }
    return entries.filter { $0.hasPrefix(".") && $0.hasSuffix(suffix) }.sorted().map { folder.appending($0) }
  }

  /// Runs `body` with the lock of `path`, unless its maker holds it or locks are unavailable.
  private static func whileAbandoned(_ path: FilePath, _ calls: SystemCalls, _ body: () -> Void) {
    let descriptor = calls.open(path.string, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var facts = stat()
    guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_uid == geteuid(),
      calls.lock(descriptor, LOCK_EX | LOCK_NB) == 0, isStill(descriptor, path)
    else { return }
    body()
  }

  static func isStill(_ descriptor: Int32, _ path: FilePath) -> Bool {
    var opened = stat(), named = stat()
    guard fstat(descriptor, &opened) == 0, path.withPlatformString({ lstat($0, &named) }) == 0 else { return false }
    return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino
  }
}

extension StoreError {
  /// This error of making a hidden file beside `target`, without the hidden name.
  package func beside(_ target: FilePath) -> StoreError {
    guard kind == .io(ENOENT) || kind == .io(ENOTDIR) else {
      return StoreError(kind, "could not create the file", place: target.string, cure: cure, underlying: underlying)
    }
    return StoreError(
      kind, "there is no folder \(target.folder)", place: target.string,
      cure: "make the folder, or choose another path; nothing was changed")
  }
}

extension AtomicFile {
  /// The files in `folder` left by this user's dead commands before they replaced others.
  package static func abandoned(in folder: FilePath) -> [FilePath] { UnfinishedFile.abandoned(in: folder) }
}
