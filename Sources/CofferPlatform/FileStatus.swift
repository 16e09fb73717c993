package import SystemPackage

/// The facts of stat(2) about a file.
package struct FileStatus: Sendable {
  package let device: UInt64, inode: UInt64
  package let mode: UInt32
  package let owner: UInt32, group: UInt32
  package let size: Int
  /// Bytes of its blocks: fewer than ``size`` if it has holes or is compressed.
  package let blockBytes: Int
  /// Nanoseconds since 1970.
  package let modified: Int64

  package var isRegular: Bool { mode & UInt32(S_IFMT) == UInt32(S_IFREG) }
  package var isFolder: Bool { mode & UInt32(S_IFMT) == UInt32(S_IFDIR) }
  package var permissions: UInt32 { mode & 0o7777 }

  package init(of fd: Int32, place: FilePath) throws(StoreError) {
    var raw = stat()
    guard fstat(fd, &raw) == 0 else { throw StoreError(errno: errno, "examine the file", place: place) }
    self.init(raw)
  }

  /// The status behind `path`, following symbolic links; nil if nothing is there.
  package init?(at path: FilePath) throws(StoreError) { try self.init(at: path, stat) }

  /// The status of `path`, perhaps a symbolic link; nil if nothing is there.
  package init?(ofLinkAt path: FilePath) throws(StoreError) { try self.init(at: path, lstat) }

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
    blockBytes = Int(clamping: raw.st_blocks) &* 512
    #if canImport(Darwin)
      let moment = raw.st_mtimespec
    #else
      let moment = raw.st_mtim
    #endif
    // Dates may be further away than 292 years: only whether they differ counts.
    modified = Int64(moment.tv_sec) &* 1_000_000_000 &+ Int64(moment.tv_nsec)
  }
}

extension Stat {
  /// The status of `path`, whose last component is not followed; nil if nothing is there.
  package static func ofLink(_ path: FilePath) throws(StoreError) -> Stat? {
    do throws(Errno) {
      return try Stat(path, followTargetSymlink: false)
    } catch {
      guard error == .noSuchFileOrDirectory else {
        throw StoreError(errno: error.rawValue, "look at the path", place: path)
      }
      return nil
    }
  }

  package var identity: FileIdentity { FileIdentity(device: deviceID, inode: inode) }
}

/// A file apart from its names: paths with equal identities are one file.
package struct FileIdentity: Sendable, Hashable {
  private let device: DeviceID
  private let inode: Inode

  init(device: DeviceID, inode: Inode) {
    self.device = device
    self.inode = inode
  }
}

extension FileType {
  var word: String {
    switch self {
    case .regular: "file"
    case .directory: "folder"
    case .symbolicLink: "symbolic link"
    case .fifo: "named pipe"
    case .socket: "socket"
    case .characterSpecial, .blockSpecial: "device"
    default: "special file"
    }
  }
}

extension FilePath {
  /// The path as one word of a shell command, for commands in messages.
  package var quoted: String {
    let plain = string.utf8.allSatisfy { $0.isLetterOrDigit || "/._-".utf8.contains($0) }
    guard !plain else { return string }
    return "'" + string.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
  }
}
