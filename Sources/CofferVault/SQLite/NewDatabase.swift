internal import CofferStorage
internal import SystemPackage

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Makes a database file that is there whole or not at all: it is written under another name in the same folder, and gets its own
/// when it is complete and durable. A process that dies before leaves a hidden file that is in nobody's way.
struct NewDatabase {
  private let target: FilePath
  private let draft: FilePath

  /// A draft for `path`, whose folder is made where it is missing.
  ///
  /// - Throws: ``StoreError/Kind/alreadyExists`` when something stands there, or a side file of what stood there.
  init(at path: FilePath) throws(StoreError) {
    target = try VaultPlace(path).made()
    guard try Stat.ofLink(target) == nil else { throw Self.taken(target) }
    try SideFiles.checkAbsent(beside: target)
    draft = NewName.draft(beside: target, "new")
  }

  /// Lets `fill` write the draft, then gives it its name. Its last state is in the file alone, ready for a write-ahead log
  /// where the file system allows one.
  func make(
    _ options: Connection.Options, _ fill: (Connection) throws(StoreError) -> Void
  ) throws(StoreError) -> FilePath {
    do throws(StoreError) {
      let connection = try Connection(DatabaseFile.created(draft), options)
      defer { connection.close() }
      try connection.execute("PRAGMA synchronous=EXTRA")
      try fill(connection)
      if try !NetworkFileSystem.holds(draft) { try connection.execute("PRAGMA journal_mode=WAL") }
    } catch {
      discard()
      throw error
    }
    do throws(StoreError) { try name() } catch {
      discard()
      throw error
    }
    try TrustedPath.synchronise(target.removingLastComponent())
    return target
  }

  private func name() throws(StoreError) {
    let code = NewName.give(draft, target)
    guard code != EEXIST else { throw Self.taken(target) }
    guard code == 0 else { throw StoreError(errno: code, "name the new file", place: target) }
  }

  /// Removes what a failed attempt left. Only names that this value made up are touched.
  private func discard() {
    for path in [draft] + SideFiles.suffixes.map({ draft.appending(suffix: $0) }) {
      _ = path.withPlatformString { unlink($0) }
    }
  }

  private static func taken(_ path: FilePath) -> StoreError {
    StoreError(.alreadyExists, "something stands there already", place: path.string, cure: "open it, or choose another path")
  }
}
