package import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
package import SystemPackage

/// A vault on a read-only file system, or in a folder where this user cannot create files.
///
/// SQLite reads a database with a write-ahead log only if it can create the `-shm` beside it, or if the file is declared
/// immutable (`immutable=1`, sqlite.org/uri.html). It then ignores the log, so a vault with a non-empty log is not opened.
enum ReadOnlyMedium {
  /// Whether nothing can be created beside `path`. Readers of an existing log use the existing files.
  static func holds(_ path: FilePath) throws(StoreError) -> Bool {
    var facts = statvfs()
    guard path.withPlatformString({ statvfs($0, &facts) }) == 0 else {
      throw StoreError(errno: errno, "look at the file system", place: path)
    }
    guard facts.f_flag & UInt(ST_RDONLY) == 0 else { return true }
    guard path.parent.withPlatformString({ access($0, W_OK) }) != 0 else { return false }
    return try Stat.ofLink(path.appending(suffix: "-wal")) == nil
  }

  /// The name under which SQLite opens the file as immutable.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/readOnly`` if there is a non-empty log.
  static func address(of path: FilePath) throws(StoreError) -> String {
    guard try SideFiles.logBytes(beside: path) == 0 else {
      throw StoreError(
        .readOnly, "the vault's last writes are in its write-ahead log, which a read-only medium keeps from being read",
        place: path.string, cure: "copy the vault and its -wal to a folder that can be written and open it there")
    }
    return immutable(path)
  }

  /// The name under which SQLite reads the file and nothing beside it.
  static func immutable(_ path: FilePath) -> String {
    var address = "file:"
    for byte in path.string.utf8 {
      if isPlain(byte) {
        address.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        address += (byte < 16 ? "%0" : "%") + String(byte, radix: 16)
      }
    }
    return address + "?immutable=1"
  }

  static func cannotWrite(_ path: FilePath) -> StoreError {
    StoreError(
      .readOnly, "the vault cannot be written", place: path.string,
      cure: "check the modes of the file and its folder, and how the file system is mounted")
  }

  private static func isPlain(_ byte: UInt8) -> Bool { byte.isLetterOrDigit || "/._-".utf8.contains(byte) }
}

/// Shared by several machines. A write-ahead log needs memory shared by all its users (sqlite.org/wal.html), so vaults there
/// commit through a rollback journal.
package enum NetworkFileSystem {
  /// Names by the type numbers of statfs(2); sshfs uses FUSE.
  package static let names: [Int64: String] = [
    0x6969: "NFS", 0x517B: "SMB", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB2", 0x0102_1997: "9P", 0x00C3_6400: "Ceph",
    0x5346_414F: "AFS", 0x6B41_4653: "AFS", 0x7375_7245: "Coda", 0x0BD0_0BD0: "Lustre", 0x0116_1970: "GFS2", 0x7461_636F: "OCFS2",
    0x6573_5546: "FUSE",
  ]

  package static func holds(_ path: FilePath) throws(StoreError) -> Bool { names[try type(of: path.folder)] != nil }

  /// The statfs(2) type on Linux; 0 elsewhere.
  package static func type(of folder: FilePath) throws(StoreError) -> Int64 {
    // The folder is opened, never the database: see DatabaseFile.
    let descriptor = folder.withPlatformString { coffer_open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) }
    guard descriptor >= 0 else { throw StoreError(errno: errno, "open the folder", place: folder) }
    defer { close(descriptor) }
    #if os(Linux)
      return coffer_filesystem_type(descriptor)
    #else
      return 0
    #endif
  }
}
