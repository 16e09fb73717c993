package import CofferPlatform
internal import CofferStorage
package import SystemPackage

/// File systems whose files several machines can have open. A write-ahead log needs memory shared between all of its users
/// (sqlite.org/wal.html), so vaults there commit through a rollback journal.
package enum NetworkFileSystem {
  /// Magic numbers of statfs(2): NFS, SMB, CIFS, SMB2, 9P, Ceph, AFS (two), Coda, Lustre, GFS2, OCFS2, FUSE (sshfs).
  private static let magics: Set<Int64> = [
    0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42, 0x0102_1997, 0x00C3_6400, 0x5346_414F, 0x6B41_4653, 0x7375_7245, 0x0BD0_0BD0,
    0x0116_1970, 0x7461_636F, 0x6573_5546,
  ]

  /// Whether the folder of `path` is on one.
  package static func holds(_ path: FilePath) throws(StoreError) -> Bool {
    // The folder is opened, never the database: see DatabaseFile.
    let folder = path.folder
    let descriptor = folder.withPlatformString { coffer_open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) }
    guard descriptor >= 0 else { throw StoreError(errno: errno, "open the folder", place: folder) }
    defer { close(descriptor) }
    #if os(Linux)
      return magics.contains(coffer_filesystem_type(descriptor))
    #else
      return false
    #endif
  }
}
