package import CofferPlatform
package import SystemPackage

/// The files beside a database that SQLite trusts, whoever put them there.
///
/// Checked before SQLite opens the database, because it acts on them at the first read: a journal that names a super-journal
/// makes it delete that file, even for a vault without a journal. ``ConnectionFiles`` stops files that appear later.
package enum SideFiles {
  static let suffixes = ["-journal", "-wal", "-shm"]
  /// These bytes end a journal that names a super-journal, and begin every journal (file format, 3).
  private static let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
  /// SQLite zeros this many bytes of a journal that it keeps, to end a transaction.
  private static let journalHeader = 28

  /// - Throws: ``/CofferPlatform/StoreError/Kind/denied`` for a file that is not this user's private one;
  ///   ``/CofferPlatform/StoreError/Kind/tampered`` for a journal that Coffer cannot have left: it never attaches a second
  ///   database, and so never makes a super-journal.
  static func check(beside file: FilePath, usesWriteAheadLog: Bool) throws(StoreError) {
    for suffix in suffixes {
      // Another connection's close removes them.
      let side = file.appending(suffix: suffix)
      guard try TrustedPath.privatePassingFile(side) != nil, suffix == "-journal" else { continue }
      try checkJournal(side, usesWriteAheadLog: usesWriteAheadLog)
    }
  }

  /// SQLite would replay a left-over log into a new database of the same name.
  static func checkAbsent(beside file: FilePath) throws(StoreError) {
    guard let side = try first(beside: file) else { return }
    throw StoreError(
      .alreadyExists, "a side file of an earlier database is left", place: side.string,
      cure: "move it away together with its vault, or choose another path")
  }

  /// Beside a replaced `mirror`, SQLite would take another vault's file for a part of the new one.
  package static func checkAbsent(besideMirror mirror: FilePath) throws(StoreError) {
    guard let side = try first(beside: mirror) else { return }
    throw StoreError(
      .inUse, "a mirror has no such file beside it: a program has it open as a vault, or had", place: side.string,
      cure: "end that program; if the file stays, move it away, and read the mirror as a mirror from then on")
  }

  static func first(beside file: FilePath) throws(StoreError) -> FilePath? {
    for suffix in suffixes {
      let side = file.appending(suffix: suffix)
      if try Stat.ofLink(side) != nil { return side }
    }
    return nil
  }

  /// 0 if there is none.
  static func logBytes(beside file: FilePath) throws(StoreError) -> Int64 {
    try Stat.ofLink(file.appending(suffix: "-wal"))?.size ?? 0
  }

  private static func checkJournal(_ journal: FilePath, usesWriteAheadLog: Bool) throws(StoreError) {
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    let descriptor = journal.withPlatformString { coffer_open($0, flags, 0) }
    guard descriptor >= 0 else {
      guard errno != ENOENT else { return }  // Its transaction ended meanwhile.
      throw StoreError(errno: errno, "open the journal", place: journal)
    }
    defer { close(descriptor) }
    let size = Int(lseek(descriptor, 0, SEEK_END))
    guard try read(descriptor, magic.count, at: max(0, size - magic.count), journal) != magic else {
      throw namesAnotherFile(of: journal)
    }
    guard usesWriteAheadLog else { return }
    guard try read(descriptor, journalHeader, at: 0, journal).allSatisfy({ $0 == 0 }) else {
      throw tampered("a vault with a write-ahead log has no journal", journal)
    }
  }

  private static func read(
    _ descriptor: Int32, _ count: Int, at offset: Int, _ path: FilePath
  ) throws(StoreError) -> [UInt8] {
    var found = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      found = pread(descriptor, buffer.baseAddress, count, off_t(offset))
      initialized = max(0, found)
    }
    guard found >= 0 else { throw StoreError(errno: errno, "read the journal", place: path) }
    return bytes
  }

  /// SQLite never opened that file.
  static func namesAnotherFile(_ file: FilePath) -> StoreError { namesAnotherFile(of: file.appending(suffix: "-journal")) }

  private static func namesAnotherFile(of journal: FilePath) -> StoreError {
    tampered("the journal would make SQLite delete the file that it names", journal)
  }

  private static func tampered(_ what: String, _ journal: FilePath) -> StoreError {
    StoreError(
      .tampered, what, place: journal.string, cure: "move it away, find out who put it there, and check the vault with verify")
  }
}
