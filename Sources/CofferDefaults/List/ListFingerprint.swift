internal import CofferPlatform

struct ListFingerprint: Equatable {
  /// Inode, modification time in nanoseconds, size. All are zero without a file.
  let inode: UInt64, modified: UInt64, size: UInt64

  static let none = ListFingerprint(nil)

  init(_ status: FileStatus?) {
    inode = status?.inode ?? 0
    modified = UInt64(bitPattern: status?.modified ?? 0)
    size = UInt64(status?.size ?? 0)
  }

  func isCopy(of other: ListFingerprint) -> Bool { modified == other.modified && size == other.size }

  init(inode: UInt64, modified: UInt64, size: UInt64) {
    self.inode = inode
    self.modified = modified
    self.size = size
  }
}
