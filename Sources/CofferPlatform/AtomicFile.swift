package import SystemPackage

/// Makes or replaces a file that, at every instant and after a power loss, has all of its old content, none, or all of the
/// new one.
package struct AtomicFile {
  /// Not a symbolic link: a file would replace it.
  package let path: FilePath
  /// The temporary name in the same folder: see ``UnfinishedFile``. Its user holds a lock, under which it removes the
  /// remains of a crash. Nil for a random name, whose remains are searched for in the folder.
  package let draft: FilePath?
  package let calls: SystemCalls

  package init(_ path: FilePath, draft: FilePath? = nil, calls: SystemCalls = SystemCalls()) {
    self.path = path
    self.draft = draft
    self.calls = calls
  }

  /// Writes `bytes` with `mode`, and with the owner and group of `like` where that is another's file.
  ///
  /// - Parameters:
  ///   - durably: false leaves durability to the next replacement in the folder.
  ///   - beforeRename: called with the new file's status once its content is durable; throwing leaves the old file.
  /// - Throws: ``StoreError`` `.noSpace`, `.readOnly`, `.denied`, `.io`; the old content stands then, except after an error
  ///   of ``OpenFolder/synchronize()``.
  package func replace(
    with bytes: RawSpan, mode: UInt32, like: FileStatus? = nil, durably: Bool = true,
    beforeRename: (FileStatus) throws(StoreError) -> Void = { _ in }
  ) throws(StoreError) {
    var file = try UnfinishedFile(for: self)
    var folder: OpenFolder? = nil
    do {
      let status = try file.write(bytes, mode, like)
      // Before the rename: a folder that cannot be opened fails while nothing has changed.
      folder = try durably ? OpenFolder(of: path, calls) : nil
      try beforeRename(status)
      try file.putInPlace()
    } catch {
      file.discard()
      throw error
    }
    try folder?.synchronize()
  }

  /// Makes a file where there is none. It appears whole, and is durable on return.
  ///
  /// - Throws: ``StoreError`` `.alreadyExists`, `.noSpace`, `.readOnly`, `.denied`, `.io`; nothing was made then.
  package func create(with bytes: RawSpan, mode: UInt32) throws(StoreError) {
    var file = try UnfinishedFile(for: self)
    do {
      _ = try file.write(bytes, mode, nil)
      let folder = try OpenFolder(of: path, calls)
      try file.putWhereNothingStands()
      try folder.synchronize()
      file.keep()
    } catch {
      file.discard()
      throw error
    }
  }

  /// Makes a rename, a creation or a deletion beside `path` durable.
  package static func synchronizeFolder(of path: FilePath, _ calls: SystemCalls) throws(StoreError) {
    try OpenFolder(of: path, calls).synchronize()
  }
}

/// A new file that replaces another in steps, so that a lock is needed only for the steps that write nothing.
///
/// It puts the replaced file back if a program without locks has just saved it, or is about to. On a file system that cannot
/// exchange files, it only checks before.
package struct FileExchange: ~Copyable {
  /// The new file.
  package let status: FileStatus
  private let target: AtomicFile
  private let folder: OpenFolder
  private var file: UnfinishedFile

  /// Writes `bytes` to a new file beside `target`, durably; see ``AtomicFile/replace(with:mode:like:durably:beforeRename:)``.
  package init(
    _ target: AtomicFile, with bytes: RawSpan, mode: UInt32, like: FileStatus?
  ) throws(StoreError) {
    let folder = try OpenFolder(of: target.path, target.calls)
    var file = try UnfinishedFile(for: target)
    let written = Result { () throws(StoreError) in try file.write(bytes, mode, like) }
    if case .failure = written { file.discard() }
    status = try written.get()
    self.target = target
    self.folder = folder
    self.file = file
  }

  /// Exchanges the two files, and checks the replaced one, which keeps the new one's name until ``finish(_:)``.
  ///
  /// - Parameter isExpected: whether the content was made for a file with this status, links not followed; nil for no file.
  /// - Returns: false if it was made for another file, which stays.
  package mutating func exchange(_ isExpected: (FileStatus?) throws(StoreError) -> Bool) throws(StoreError) -> Bool {
    do {
      let found = try FileStatus(ofLinkAt: target.path)
      guard try isExpected(found), try file.exchange(isThere: found != nil) else {
        file.discard()
        return false
      }
    } catch {
      file.discard()
      throw error
    }
    target.calls.reached?(.listReplaced)
    // Later failures leave the replaced file under its name.
    if try file.former(isExpected) { return true }
    try file.putBack()
    file.discard()
    return false
  }

  /// Makes the exchange durable.
  package func synchronize() throws(StoreError) { try folder.synchronize() }

  /// Checks the replaced file again, because a program that had it open may have saved it since, and removes it or puts it back.
  ///
  /// - Returns: whether the new file is still in place.
  package mutating func finish(_ isExpected: (FileStatus?) throws(StoreError) -> Bool) throws(StoreError) -> Bool {
    let found = try FileStatus(ofLinkAt: target.path)
    let isThere = found?.isSameFile(as: status) ?? false
    let isOurs = try file.former(isExpected)
    // A file that another program has put in the new one's place is newer than both.
    if !isOurs, isThere { try file.putBack() }
    file.discard()
    return isOurs && isThere
  }

  /// Removes the new file, or the replaced one.
  package mutating func discard() { file.discard() }
}

/// A folder held open, so that making its changed names durable can hardly fail.
package struct OpenFolder: ~Copyable {
  private let descriptor: Int32
  private let path: FilePath
  private let calls: SystemCalls

  /// - Throws: ``StoreError`` `.denied` if the folder of `file` may not be read, `.io` if it does not exist.
  package init(of file: FilePath, _ calls: SystemCalls) throws(StoreError) {
    path = file.folder
    self.calls = calls
    descriptor = calls.open(path.string, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    guard descriptor >= 0 else { throw StoreError(errno: -descriptor, "open the folder", place: path) }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Makes a rename, a creation or a deletion in it durable.
  ///
  /// - Throws: ``StoreError/Kind/io(_:)`` of a failing disk. The names have changed then, and a power loss may undo that.
  package borrowing func synchronize() throws(StoreError) {
    let result = calls.synchronize(descriptor)
    // Some file systems cannot synchronize a folder; they order renames by themselves.
    guard result != 0, result != -EINVAL else { return }
    throw StoreError(
      .io(-result), "the folder's change may not survive a power failure", place: path.string,
      cure: "check the disk: the change was made, but may not be durable", underlying: Errno(rawValue: -result))
  }
}

/// Names a complete file without replacing another one.
package enum NewName {
  /// - Returns: 0, or the `errno`: `EEXIST` when the name is taken.
  package static func give(_ draft: FilePath, _ target: FilePath) -> Int32 {
    let code = draft.withPlatformString { from in
      target.withPlatformString { coffer_rename_noreplace(from, $0) == 0 ? 0 : errno }
    }
    // Where the file system cannot rename without replacing, add a second name and remove the first.
    return code == EINVAL || code == ENOSYS ? link(draft, target) : code
  }

  private static func link(_ draft: FilePath, _ target: FilePath) -> Int32 {
    draft.withPlatformString { from in
      target.withPlatformString { to in
        guard linkFile(from, to) == 0 else { return errno }
        guard unlink(from) == 0 else {
          let code = errno
          unlink(to)
          return code
        }
        return 0
      }
    }
  }
}

// Inside the type, `link` is the method.
private func linkFile(_ from: UnsafePointer<CChar>, _ to: UnsafePointer<CChar>) -> Int32 { link(from, to) }
