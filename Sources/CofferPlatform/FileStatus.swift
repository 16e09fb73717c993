package import SystemPackage

/// What stat(2) says of a file.
package struct FileStatus: Sendable {
  package let device: UInt64, inode: UInt64
  package let mode: UInt32
  package let owner: UInt32, group: UInt32
  package let size: Int
  /// Nanoseconds since 1970.
  package let modified: Int64

  package var isRegular: Bool { mode & UInt32(S_IFMT) == UInt32(S_IFREG) }
  package var isFolder: Bool { mode & UInt32(S_IFMT) == UInt32(S_IFDIR) }
  package var permissions: UInt32 { mode & 0o7777 }

  /// The status of an open file.
  package init(of fd: Int32, place: FilePath) throws(StoreError) {
    var raw = stat()
    guard fstat(fd, &raw) == 0 else { throw StoreError(errno: errno, "examine the file", place: place) }
    self.init(raw)
  }

  /// The status of what `path` leads to, following symbolic links; nil when nothing is there.
  package init?(at path: FilePath) throws(StoreError) { try self.init(at: path, stat) }

  /// The status of what stands at `path` itself, a symbolic link perhaps; nil when nothing is there.
  package init?(ofLinkAt path: FilePath) throws(StoreError) { try self.init(at: path, lstat) }

  /// Whether both are of one file, whatever its names.
  package func isSameFile(as other: FileStatus) -> Bool { inode == other.inode && device == other.device }

  private init?(at path: FilePath, _ ask: (UnsafePointer<CChar>, UnsafeMutablePointer<stat>) -> Int32) throws(StoreError) {
    var raw = stat()
    guard path.withPlatformString({ ask($0, &raw) }) == 0 else {
      if errno == ENOENT || errno == ENOTDIR { return nil }
      throw StoreError(errno: errno, "examine the file", place: path)
    }
    self.init(raw)
  }

  private init(_ raw: stat) {
    device = UInt64(truncatingIfNeeded: raw.st_dev)
    inode = UInt64(raw.st_ino)
    mode = UInt32(raw.st_mode)
    owner = raw.st_uid
    group = raw.st_gid
    size = Int(raw.st_size)
    #if canImport(Darwin)
      let moment = raw.st_mtimespec
    #else
      let moment = raw.st_mtim
    #endif
    modified = Int64(moment.tv_sec) * 1_000_000_000 + Int64(moment.tv_nsec)
  }
}
