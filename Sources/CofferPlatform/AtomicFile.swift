package import SystemPackage

/// Makes or replaces a file so that, at every instant and after a power loss, it has its old content, or none, or all of its new
/// content.
package struct AtomicFile {
  /// The file; not a symbolic link, which would be replaced by a file.
  package let path: FilePath
  /// The new content's name for the moment before it is in its place, in the same folder: see ``UnfinishedFile``. Its user holds
  /// a lock, and removes the remains of a crash under it. Nil for a random name; the remains of dead processes under such names
  /// are searched for in the folder.
  package let draft: FilePath?
  package let calls: SystemCalls

  /// A file at `path`, prepared without a name, or as `draft`.
  package init(_ path: FilePath, draft: FilePath? = nil, calls: SystemCalls = SystemCalls()) {
    self.path = path
    self.draft = draft
    self.calls = calls
  }

  /// Makes `bytes` the content, with `mode`, and with the owner and group of `like` where that is another's file.
  ///
  /// - Parameters:
  ///   - durably: false leaves it to the next replacement in the folder to make this one durable.
  ///   - beforeRename: called with the new file's status when the new content is durable under its temporary name, from where
  ///     no other program takes it; throwing leaves the old file.
  /// - Throws: ``StoreError`` `.noSpace`, `.readOnly`, `.denied`, `.io`; the old content stands then, but for what
  ///   ``OpenFolder/synchronize()`` throws.
  package func replace(
    with bytes: RawSpan, mode: UInt32, like: FileStatus? = nil, durably: Bool = true,
    beforeRename: (FileStatus) throws(StoreError) -> Void = { _ in }
  ) throws(StoreError) {
    var file = try UnfinishedFile(for: self)
    var folder: OpenFolder? = nil
    do {
      let status = try file.write(bytes, mode, like)
      // Before the rename: a folder that cannot be opened, such as one without leave to read, refuses while all is as it was.
      folder = try durably ? OpenFolder(of: path, calls) : nil
      try beforeRename(status)
      try file.putInPlace()
    } catch {
      file.discard()
      throw error
    }
    try folder?.synchronize()
  }

  /// Like ``replace(with:mode:like:durably:beforeRename:)``, but checks the replaced file, and puts it back if a program without
  /// locks has just saved it, or is about to. On a file system that cannot exchange two files, it only checks before.
  ///
  /// - Parameter isExpected: whether the content was made for a file with this status, links not followed; nil for no file.
  /// - Returns: false if it was made for another file, which is in its place.
  package func exchange(
    with bytes: RawSpan, mode: UInt32, like: FileStatus?, beforeRename: (FileStatus) throws(StoreError) -> Void,
    isExpected: (FileStatus?) throws(StoreError) -> Bool
  ) throws(StoreError) -> Bool {
    let folder = try OpenFolder(of: path, calls)
    var file = try UnfinishedFile(for: self)
    do {
      let status = try file.write(bytes, mode, like)
      try beforeRename(status)
      let found = try FileStatus(ofLinkAt: path)
      guard try isExpected(found), try file.exchange(isThere: found != nil) else {
        file.discard()
        return false
      }
    } catch {
      file.discard()
      throw error
    }
    calls.reached?(.listReplaced)
    // Later failures leave the replaced file under its name. It is checked twice: a file saved by now is put back at once.
    var isOurs = try file.former(isExpected)
    let synced = Result { () throws(StoreError) in if isOurs { try folder.synchronize() } }
    if isOurs { isOurs = try file.former(isExpected) }
    if !isOurs { try file.putBack() }
    file.discard()
    try synced.get()
    return isOurs
  }

  /// Makes a file with `bytes` and `mode` where nothing stands. It appears whole, and is durable when this returns.
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

/// A folder held open, so that changes of its names can be made durable by a step that can hardly fail any more.
package struct OpenFolder: ~Copyable {
  private let descriptor: Int32
  private let path: FilePath
  private let calls: SystemCalls

  /// The folder that `file` stands in.
  ///
  /// - Throws: ``StoreError`` `.denied` where it may not be read, `.io` where it is not there.
  package init(of file: FilePath, _ calls: SystemCalls) throws(StoreError) {
    path = file.folder
    self.calls = calls
    descriptor = calls.open(path.string, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    guard descriptor >= 0 else { throw StoreError(errno: -descriptor, "open the folder", place: path) }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Makes a rename, a creation or a deletion in it durable.
  ///
  /// - Throws: ``StoreError/Kind/io(_:)`` of a disk that fails. The names are changed then, and a power loss may undo that.
  package borrowing func synchronize() throws(StoreError) {
    let result = calls.synchronize(descriptor)
    // Some file systems cannot synchronize a folder and say so; they order renames by themselves.
    guard result != 0, result != -EINVAL else { return }
    throw StoreError(
      .io(-result), "what was changed in the folder may be lost with the power", place: path.string,
      cure: "check the disk: the change is made, and whether it is durable is not known", underlying: Errno(rawValue: -result))
  }
}

/// Gives a complete file its name without replacing what may have that name by now.
package enum NewName {
  /// - Returns: 0, or the `errno`: `EEXIST` when the name is taken.
  package static func give(_ draft: FilePath, _ target: FilePath) -> Int32 {
    let code = draft.withPlatformString { from in
      target.withPlatformString { coffer_rename_noreplace(from, $0) == 0 ? 0 : errno }
    }
    // Some file systems know no renaming without replacing: a second name does the same, and the first one goes.
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

// Inside the type the method would be meant.
private func linkFile(_ from: UnsafePointer<CChar>, _ to: UnsafePointer<CChar>) -> Int32 { link(from, to) }
