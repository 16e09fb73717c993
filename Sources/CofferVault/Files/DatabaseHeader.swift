internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

/// The first 100 bytes of an SQLite file, as far as they decide whether SQLite should be let near it.
///
/// Source: SQLite, "Database File Format", 1.3. In a vault that uses a write-ahead log, page 1 may have a newer copy in the log;
/// the fields read here are written when a vault is made and never change.
struct DatabaseHeader {
  static let byteCount = 100
  private static let magic: StaticString = "SQLite format 3\0"
  private static let versions = 18..<20
  private static let applicationID = 68

  /// Whether the file says that it uses a write-ahead log, so that a rollback journal beside it is nobody's.
  let usesWriteAheadLog: Bool

  /// Reads what was found at the head of `file`; fewer than 100 bytes when the file ended there.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/notAVault`` for another kind of file, ``/CofferPlatform/StoreError/Kind/damaged`` for what was a vault once.
  init(_ head: UnsafeRawBufferPointer, file: FilePath) throws(StoreError) {
    guard !head.isEmpty else {
      throw StoreError(
        .notAVault, "the file is empty", place: file.string, cure: "restore a backup, or remove it and create a vault")
    }
    let isSQLite = head.prefix(Self.magic.utf8CodeUnitCount).elementsEqual(Self.magicBytes.prefix(head.count))
    guard head.count == Self.byteCount else {
      throw isSQLite
        ? Self.damaged("only the first \(head.count) bytes of the vault are left", file)
        : Self.notAVault("the file is no SQLite database", file)
    }
    let application = Int32(bigEndian: head.loadUnaligned(fromByteOffset: Self.applicationID, as: Int32.self))
    guard isSQLite else {
      throw application == Schema.applicationID
        ? Self.damaged("the first bytes of the vault are overwritten", file)
        : Self.notAVault("the file is no SQLite database", file)
    }
    guard application == Schema.applicationID else { throw Self.notAVault("the file is another program's SQLite database", file) }
    // 1: rollback journal, 2: write-ahead log. SQLite takes a greater write version as "read only", silently.
    guard head[Self.versions].allSatisfy({ $0 == 1 || $0 == 2 }) else {
      throw Self.damaged("the vault's file format version is none that exists", file)
    }
    usesWriteAheadLog = head[Self.versions].contains(2)
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
