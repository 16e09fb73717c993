package import SystemPackage

/// Makes or replaces a file so that, at every instant and after a power loss, it has its old content, or none, or all of its new content.
package struct AtomicFile {
  /// The file; not a symbolic link, which would be replaced by a file.
  package let path: FilePath
  /// The new content's name until it is complete, in the same folder. Whoever uses one holds a lock; what a crash left under it is
  /// overwritten. Nil for content that nobody shall find before it is complete: see ``UnfinishedFile``.
  package let temporary: FilePath?
  package let calls: SystemCalls

  /// A file at `path`, prepared under `temporary`, or without a name.
  package init(_ path: FilePath, temporary: FilePath? = nil, calls: SystemCalls = SystemCalls()) {
    self.path = path
    self.temporary = temporary
    self.calls = calls
  }

  /// Which of two replacements in one folder this is, where they follow each other at once: they share what is done to the folder.
  package enum Turn {
    case only
    /// Removes what processes that died left in the folder.
    case first
    /// Makes both renames durable.
    case last
  }

  /// Makes `bytes` the content, with `mode`, and with the owner and group of `like` where that is another's file.
  ///
  /// - Parameters:
  ///   - turn: where several files of one folder are replaced at once, which of them this is.
  ///   - beforeRename: called with the new file's status when the new content is durable under its temporary name, from where
  ///     no other program takes it; throwing leaves the old file.
  /// - Throws: ``StoreError`` `.noSpace`, `.readOnly`, `.denied`, `.io`; the old content stands then, but for what
  ///   ``OpenFolder/synchronize()`` throws.
  package func replace(
    with bytes: RawSpan, mode: UInt32, like: FileStatus? = nil, _ turn: Turn = .only,
    beforeRename: (FileStatus) throws(StoreError) -> Void = { _ in }
  ) throws(StoreError) {
    var file = try UnfinishedFile(for: path, temporary, sweeping: turn != .last, calls)
    var folder: OpenFolder? = nil
    do {
      let status = try file.write(bytes, mode, like)
      // Before the rename: a folder that cannot be opened, such as one without leave to read, refuses while all is as it was.
      folder = try turn == .first ? nil : OpenFolder(of: path, calls)
      try beforeRename(status)
      try file.putInPlace()
    } catch {
      file.discard()
      throw error
    }
    calls.reached?(.listReplaced)
    try folder?.synchronize()
  }

  /// Makes a file with `bytes` and `mode` where nothing stands. It appears whole, and is durable when this returns.
  ///
  /// - Throws: ``StoreError`` `.alreadyExists`, `.noSpace`, `.readOnly`, `.denied`, `.io`; nothing was made then.
  package func create(with bytes: RawSpan, mode: UInt32) throws(StoreError) {
    var file = try UnfinishedFile(for: path, temporary, calls)
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
