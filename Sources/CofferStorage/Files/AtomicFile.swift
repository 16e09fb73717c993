internal import CCofferPlatform
package import SystemPackage

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Replaces a file so that, at every instant and after a power loss, it has either its old or its new content.
package struct AtomicFile {
  /// The file; not a symbolic link, which would be replaced by a file.
  package let path: FilePath
  /// The new content's name until it is complete, in the same folder. Whoever uses a fixed one holds a lock; what a crash
  /// left under it is overwritten.
  package let temporary: FilePath
  package let calls: SystemCalls

  /// A file at `path`, prepared under `temporary`, or under a random name.
  package init(_ path: FilePath, temporary: FilePath? = nil, calls: SystemCalls = SystemCalls()) {
    self.path = path
    self.temporary = temporary ?? Self.randomName(beside: path)
    self.calls = calls
  }

  private static func randomName(beside path: FilePath) -> FilePath {
    let suffix = String(UInt64.random(in: .min ... .max), radix: 36)
    return path.parent.appending(".\(path.lastName ?? "file").\(suffix)")
  }

  /// Makes `bytes` the content, with `mode`, and with the owner and group of `like` where that is another's file.
  ///
  /// - Parameters:
  ///   - followedByAnother: true where another replacement in the same folder follows at once, which makes this rename
  ///     durable too.
  ///   - beforeRename: called with the new file's status when the new content is durable under its temporary name, from where
  ///     no other program takes it; throwing leaves the old file.
  /// - Throws: ``StoreError`` `.noSpace`, `.readOnly`, `.denied`, `.io`; the old content stands then, but for what
  ///   ``OpenFolder/synchronize()`` throws.
  package func replace(
    with bytes: RawSpan, mode: UInt32, like: FileStatus? = nil, followedByAnother: Bool = false,
    beforeRename: (FileStatus) throws(StoreError) -> Void = { _ in }
  ) throws(StoreError) {
    var folder: OpenFolder? = nil
    do {
      let status = try write(bytes, mode, like)
      // Before the rename: a folder that cannot be opened, such as one without leave to read, refuses while all is as it was.
      folder = try followedByAnother ? nil : OpenFolder(of: path, calls)
      try beforeRename(status)
      try check(calls.rename(temporary.string, path.string), "replace the file", path)
    } catch {
      _ = calls.unlink(temporary.string)  // Whatever remains under this name is overwritten by the next attempt.
      throw error
    }
    calls.reached?(.listReplaced)
    try folder?.synchronize()
  }

  /// Makes a rename, a creation or a deletion beside `path` durable.
  package static func synchronizeFolder(of path: FilePath, _ calls: SystemCalls) throws(StoreError) {
    try OpenFolder(of: path, calls).synchronize()
  }

  private func write(_ bytes: RawSpan, _ mode: UInt32, _ like: FileStatus?) throws(StoreError) -> FileStatus {
    _ = calls.unlink(temporary.string)
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let fd = calls.open(temporary.string, flags, mode & 0o777)
    guard fd >= 0 else { throw StoreError(errno: -fd, "create a file beside the one to replace", place: temporary) }
    defer { close(fd) }
    if let like, like.owner != geteuid() || like.group != getegid() {
      guard fchown(fd, like.owner, like.group) == 0 else {
        throw StoreError(errno: errno, "keep the file's owner", place: path)
      }
    }
    // The process's umask may have taken bits away.
    guard fchmod(fd, mode_t(mode & 0o777)) == 0 else { throw StoreError(errno: errno, "keep the file's mode", place: path) }
    try bytes.withUnsafeBytes { (raw) throws(StoreError) in try writeAll(raw, to: fd) }
    try check(calls.synchronize(fd), "make the file durable", temporary)
    return try FileStatus(of: fd, place: temporary)
  }

  private func writeAll(_ bytes: UnsafeRawBufferPointer, to fd: Int32) throws(StoreError) {
    var offset = 0
    while offset < bytes.count {
      let count = calls.write(fd, UnsafeRawBufferPointer(rebasing: bytes[offset...]), offset)
      guard count > 0 else { throw StoreError(errno: count == 0 ? EIO : Int32(-count), "write the file", place: temporary) }
      offset += count
    }
  }

  private func check(_ result: Int32, _ doing: String, _ place: FilePath) throws(StoreError) {
    guard result >= 0 else { throw StoreError(errno: -result, doing, place: place) }
  }
}
