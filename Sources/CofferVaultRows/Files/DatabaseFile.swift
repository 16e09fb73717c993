package import CofferPlatform
internal import CofferStorage
internal import Synchronization
package import SystemPackage

/// A database file that this process uses with SQLite. It must outlive the connection.
///
/// Closing any descriptor of a file drops all of the process's POSIX locks on it, including SQLite's
/// (sqlite.org/howtocorrupt.html, 2.2). So nothing may open and close the file by path during a connection. The first
/// descriptor serves every later look, until the last connection is closed.
///
/// The same holds for `-shm`, whose bytes carry the locks of the write-ahead log: only `lstat` inspects it. SQLite takes no
/// lock on `-wal` and `-journal`.
package struct DatabaseFile: ~Copyable {
  let path: FilePath
  let identity: FileIdentity
  private let descriptor: Int32

  /// The file at `path`, in a folder checked before; nil if there is none.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/denied`` unless it is this user's private file.
  static func existing(_ path: FilePath) throws(StoreError) -> DatabaseFile? {
    try OpenDatabaseFiles.shared.take(path)
  }

  static func created(_ path: FilePath) throws(StoreError) -> DatabaseFile {
    let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let descriptor = path.withPlatformString { coffer_open($0, flags, 0o600) }
    guard descriptor >= 0 else {
      guard errno != EEXIST else {
        throw StoreError(.alreadyExists, "something is already there", place: path.string, cure: "choose another path")
      }
      throw StoreError(errno: errno, "create the file", place: path)
    }
    return try OpenDatabaseFiles.shared.adopt(descriptor, path)
  }

  fileprivate init(path: FilePath, identity: FileIdentity, descriptor: Int32) {
    self.path = path
    self.identity = identity
    self.descriptor = descriptor
  }

  deinit { OpenDatabaseFiles.shared.release(identity) }

  borrowing func header() throws(StoreError) -> DatabaseHeader {
    try withUnsafeTemporaryAllocation(byteCount: DatabaseHeader.byteCount, alignment: 8) { head throws(StoreError) in
      let count = pread(descriptor, head.baseAddress, head.count, 0)
      guard count >= 0 else { throw StoreError(errno: errno, "read the file", place: path) }
      return try DatabaseHeader(UnsafeRawBufferPointer(rebasing: head[..<count]), file: path)
    }
  }

  borrowing func isInPlace() throws(StoreError) -> Bool { try Stat.ofLink(path)?.identity == identity }
}

/// All connections to a file share one descriptor.
private final class OpenDatabaseFiles: Sendable {
  static let shared = OpenDatabaseFiles()

  private struct Entry {
    var descriptors: [Int32]
    var holders = 1
    let process = getpid()
  }
  private let entries = Mutex<[FileIdentity: Entry]>([:])

  func take(_ path: FilePath) throws(StoreError) -> DatabaseFile? {
    try entries.withLock { entries throws(StoreError) in
      guard let identity = try TrustedPath.privateFile(path)?.identity else { return nil }
      if var entry = entries[identity] {
        // The fork copied SQLite's list of open files. SQLite takes the parent's locks for this process's, which holds none,
        // so a log could be removed under a new connection (sqlite.org/howtocorrupt.html, 2.6).
        guard entry.process == getpid() else {
          throw StoreError(
            .afterFork, "the vault was open in the process that this one was forked from", place: path.string,
            cure: "open vaults after the fork, or start the child with exec")
        }
        entry.holders += 1
        entries[identity] = entry
        return DatabaseFile(path: path, identity: identity, descriptor: entry.descriptors[0])
      }
      // O_NONBLOCK: opening a named pipe must not wait for a writer.
      let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
      let descriptor = path.withPlatformString { coffer_open($0, flags, 0) }
      guard descriptor >= 0 else { throw StoreError(errno: errno, "open the file", place: path) }
      let opened = try Self.identity(of: descriptor, path)
      guard opened == identity else {
        // If the new file is also open, closing this descriptor would drop its locks.
        if entries[opened]?.descriptors.append(descriptor) == nil { close(descriptor) }
        throw StoreError(.busy, "the file was replaced while it was opened", place: path.string, cure: "try again")
      }
      entries[identity] = Entry(descriptors: [descriptor])
      return DatabaseFile(path: path, identity: identity, descriptor: descriptor)
    }
  }

  func adopt(_ descriptor: Int32, _ path: FilePath) throws(StoreError) -> DatabaseFile {
    let identity = try Self.identity(of: descriptor, path)
    entries.withLock { $0[identity] = Entry(descriptors: [descriptor]) }
    return DatabaseFile(path: path, identity: identity, descriptor: descriptor)
  }

  func release(_ identity: FileIdentity) {
    entries.withLock { entries in
      // SQLite's list of open files survives in a forked child, whose connections must still be refused.
      guard var entry = entries[identity], entry.process == getpid() else { return }
      entries[identity] = nil
      entry.holders -= 1
      guard entry.holders == 0 else { return entries[identity] = entry }
      for descriptor in entry.descriptors { close(descriptor) }
    }
  }

  private static func identity(of descriptor: Int32, _ path: FilePath) throws(StoreError) -> FileIdentity {
    do throws(Errno) {
      return try Stat(FileDescriptor(rawValue: descriptor)).identity
    } catch {
      throw StoreError(errno: error.rawValue, "look at the file", place: path)
    }
  }
}

/// The fields of an SQLite file's first 100 bytes that decide whether SQLite may open it.
///
/// Source: SQLite, "Database File Format", 1.3. These fields never change, even if the log has a newer page 1.
package struct DatabaseHeader {
  static let byteCount = 100
  private static let magic: StaticString = "SQLite format 3\0"
  private static let pageBytes = 16
  private static let versions = 18..<20
  private static let applicationOffset = 68
  /// "PVLT", the application id in bytes 68 to 71 of the file.
  static let applicationID: Int32 = 0x5056_4C54
  /// 64 GiB at 4 096 bytes each. Up to this number only a tree's page begins as one: see ``PageCheck``.
  static let mostPages = (1 << 24) - 1

  /// If so, a rollback journal beside the file is foreign.
  let usesWriteAheadLog: Bool
  let mostBytes: Int

  /// - Parameter head: fewer than 100 bytes if the file ended there.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/notAVault``; ``/CofferPlatform/StoreError/Kind/damaged`` for a vault's
  ///   damaged header.
  package init(_ head: UnsafeRawBufferPointer, file: FilePath) throws(StoreError) {
    guard !head.isEmpty else {
      throw StoreError(
        .notAVault, "the file is empty", place: file.string, cure: "restore a backup, or remove it and create a vault")
    }
    let isSQLite = head.starts(with: Self.magicBytes)
    guard head.count == Self.byteCount else {
      throw isSQLite
        ? Self.damaged("only the first \(head.count) bytes of the vault are left", file)
        : Self.notAVault("the file is not an SQLite database", file)
    }
    let application = Int32(bigEndian: head.loadUnaligned(fromByteOffset: Self.applicationOffset, as: Int32.self))
    guard isSQLite else {
      throw application == Self.applicationID
        ? StoreError(
          .notAVault, "the file's first bytes are overwritten; the rest shows that it was a vault",
          place: file.string, cure: "restore a backup")
        : Self.notAVault("the file is not an SQLite database", file)
    }
    guard application == Self.applicationID else { throw Self.notAVault("the file is another program's SQLite database", file) }
    // 1: rollback journal, 2: write-ahead log. SQLite silently takes a greater write version as "read only".
    guard head[Self.versions].allSatisfy({ $0 == 1 || $0 == 2 }) else {
      throw Self.damaged("the vault has an unknown file format version", file)
    }
    usesWriteAheadLog = head[Self.versions].contains(2)
    // 1 stands for 65 536, too large for two bytes. SQLite rejects invalid sizes, so they count as the minimum.
    let pageBytes = Int(UInt16(bigEndian: head.loadUnaligned(fromByteOffset: Self.pageBytes, as: UInt16.self)))
    mostBytes = Self.mostPages * (pageBytes == 1 ? 65_536 : max(512, pageBytes))
  }

  private static var magicBytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: magic.utf8Start, count: magic.utf8CodeUnitCount)
  }

  private static func notAVault(_ what: String, _ file: FilePath) -> StoreError {
    StoreError(.notAVault, what, place: file.string, cure: "give the path of a vault, or create one elsewhere")
  }

  private static func damaged(_ what: String, _ file: FilePath) -> StoreError {
    StoreError(.damaged, what, place: file.string, cure: "restore a backup")
  }
}
