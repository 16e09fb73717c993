package import CofferPlatform
package import CofferStorage
internal import CofferVaultFormat
package import SystemPackage

/// The file of a vault: its tables, row by row, checked for type and length but not for meaning. The content of the rows is
/// sealed, and this knows no key.
///
/// Used from one thread at a time, like the ``Connection`` it owns.
package final class VaultDatabase: VaultRows {
  package let connection: Connection
  private var statements = [Statement?](repeating: nil, count: Query.allCases.count)
  private var schemaVersion: Int64
  /// The state that the write transaction under way, or the last one, has put.
  var writtenState: [UInt8]?
  /// The state before it, where the file commits through a rollback journal.
  private var stateBefore: [UInt8]?
  private var hasSwept = false

  /// The resolved path: absolute, without symbolic links. Whatever name led here, one vault has one.
  package var path: FilePath { connection.path }
  package let place: VaultPlace

  package var isUnwritableFile: Bool { connection.options.access == .readOnly }

  /// Opens the vault at `path` once everything that can be checked from outside is as it should be: folder, file, side files,
  /// kind of file, tables.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.noVault`, `.notAVault`, `.damaged`, `.tampered`, `.newerFormat`, `.denied`,
  ///   `.busy`, `.readOnly` (the file cannot be written and `options` do not say read only), `.io`.
  package static func open(
    _ path: FilePath, _ options: Connection.Options = .init()
  ) throws(StoreError) -> sending VaultDatabase {
    let place = try VaultFile(path)
    guard let resolved = try place.existing(), let file = try DatabaseFile.existing(resolved) else {
      throw StoreError(
        .noVault, "there is no vault", place: path.string,
        cure: "make one with UnlockedVault.create, or give the path of another",
        remedy: .makeVault)
    }
    try SideFiles.check(beside: resolved, usesWriteAheadLog: file.header().usesWriteAheadLog)
    return try VaultDatabase(Connection(file, options))
  }

  /// Opens the vault at `path`, to be read alone where it cannot be written: every write then throws
  /// ``/CofferPlatform/StoreError/Kind/readOnly``.
  ///
  /// - Parameter isBrief: whether it is closed soon. On a full disk others are then kept waiting meanwhile, as there is no room
  ///   for the memory that SQLite shares with them.
  package static func openToRead(_ path: FilePath, isBrief: Bool = true) throws(StoreError) -> sending VaultDatabase {
    do throws(StoreError) { return try open(path) } catch {
      switch error.kind {
      case .readOnly: return try open(path, .init(access: .readOnly))
      case .denied: return try openFile(path, besideWhich: error)
      case .noSpace where isBrief: return try open(path, .init(isAlone: true))
      case .noSpace:
        throw StoreError(
          .noSpace, "there is no room for the 32 KiB beside the vault that SQLite shares between its users", place: path.string,
          cure: "free some space on that file system and try again; nothing was changed", underlying: error.underlying)
      default: throw error
      }
    }
  }

  /// Opens the file alone, where it is this user's and nothing stands beside it, in a folder that is not to be trusted with a
  /// file of SQLite's.
  ///
  /// - Throws: `error` where this does not help.
  private static func openFile(
    _ path: FilePath, besideWhich error: StoreError
  ) throws(StoreError) -> sending VaultDatabase {
    // Below a path that is no folder nothing can be inspected: that was the reason.
    guard let resolved = try VaultFile(path).found(), try FileStatus(at: resolved) != nil,
      try SideFiles.first(beside: resolved) == nil, let file = try DatabaseFile.existing(resolved)
    else { throw error }
    return try VaultDatabase(Connection(file, .init(access: .readOnly, openFolder: error)))
  }

  /// Over a connection to a file with a vault's tables, which are checked here.
  package init(_ connection: Connection) throws(StoreError) {
    self.connection = connection
    place = connection.options.isMirror ? .mirror(connection.path) : .file(connection.path)
    schemaVersion = try connection.read { () throws(StoreError) in try SchemaCheck.run(on: connection) }
    try connection.settleDurability()
    _ = try connection.files.isLogInPlace()
  }

  /// Over a connection to a file whose tables were made in the transaction that is under way.
  package init(creatingOn connection: Connection) {
    self.connection = connection
    place = .file(connection.path)
    schemaVersion = 0
  }

  package var logRows: any LogRows { DatabaseLog(database: self) }
  package var outcomeRows: any OutcomeRows { DatabaseOutcomes(database: self) }

  package func close() { connection.close() }

  package func discard() {
    close()
    Self.remove(path)
  }

  package func beginReading() throws(StoreError) { try connection.begin(.begin) }

  package func endReading() throws(StoreError) { try connection.end() }

  package func beginWriting() throws(StoreError) {
    try place.checkIsNoMirror()
    if let error = connection.options.openFolder { throw error }
    (writtenState, stateBefore) = (nil, nil)
    try connection.begin(.beginWriting)
    sweepOnce()
    guard !connection.usesWriteAheadLog else { return }
    do throws(StoreError) { stateBefore = try stateBytes() } catch {
      rollBack()
      throw error
    }
  }

  /// - Throws: ``/CofferPlatform/StoreError/Kind/moved`` where the log is gone; `.outcomeUnknown` where it went meanwhile.
  package func commit() throws(StoreError) {
    do throws(StoreError) {
      guard try connection.files.isLogInPlace() else {
        throw Self.moved(.moved, "the vault's write-ahead log was removed or replaced under this program", path)
      }
    } catch {
      rollBack()
      throw error
    }
    try connection.commit { () throws(StoreError) in try hasWritten(since: stateBefore) }
    // The commit is made: an error from here on must not say that nothing was changed.
    let isInPlace: Bool
    do throws(StoreError) {
      isInPlace = if try connection.files.isLogInPlace() { try connection.file.isInPlace() } else { false }
    } catch {
      throw StoreError(
        .outcomeUnknown, "the change was made, and whether the vault is still in its place could not be looked at",
        place: path.string,
        cure: "look at what is stored before you try again", underlying: error)
    }
    guard isInPlace else {
      throw Self.moved(.outcomeUnknown, "the vault was moved away or replaced while the change was made durable", path)
    }
  }

  private static func moved(_ kind: StoreError.Kind, _ what: String, _ path: FilePath) -> StoreError {
    StoreError(kind, what, place: path.string, cure: "find out what copied files here, and open the vault again")
  }

  package func flush() throws(StoreError) { try connection.flush() }

  package func rollBack() { connection.rollBack() }

  /// Removes what killed commands left beside the vault: sealed copies, perhaps under a key that was changed since.
  private func sweepOnce() {
    guard !hasSwept else { return }
    hasSwept = true
    Draft.sweep(path.folder)
  }

  /// Whether the last write is in effect although its commit failed. Each commit of items puts a state that never was before.
  func hasWritten(since before: [UInt8]?) throws(StoreError) -> Bool? {
    let now = try stateBytes()
    if let writtenState, now == writtenState { return true }
    // An unpublished change in the log is not in effect, and with the asking transaction it never will be.
    if connection.usesWriteAheadLog { return false }
    // A state that is still the one before tells nothing of a transaction that put none.
    return writtenState != nil && now == before ? false : nil
  }

  package func dataVersion() throws(StoreError) -> Int64 { try connection.dataVersion() }

  /// Checks the tables again if they were changed since, which only a VACUUM may have done.
  package func recheckSchema() throws(StoreError) {
    guard try connection.number("PRAGMA schema_version") != schemaVersion else { return }
    schemaVersion = try SchemaCheck.run(on: connection)
  }

  /// Costs one `lstat`; a commit looks at the log, too. A mirror that was refreshed is a file of its own, and the one that is
  /// open as good as it was.
  package func isInPlace() throws(StoreError) -> Bool {
    if connection.options.isMirror { true } else { try connection.file.isInPlace() }
  }

  /// SQLite finds each row where it is asked for.
  package func expect(_ rows: ExpectedRows) {}
  package func accompany(with companion: (any CompanionWrites)?) {}

  /// The kept statement of `query`.
  func statement(_ query: Query) throws(StoreError) -> Statement {
    if let statement = statements[query.rawValue] { return statement }
    let statement = try Statement(query.sql, on: connection)
    statements[query.rawValue] = statement
    return statement
  }
}

// A new file.
extension VaultDatabase {
  /// Creates a vault file at `path`, whose first rows `fill` writes in the transaction that makes the tables.
  ///
  /// The file appears under its name once it is complete and durable; when this throws, nothing is left behind, but for what
  /// ``OpenFolder/synchronize()`` throws.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.alreadyExists`, `.denied`, `.noSpace`, `.readOnly`, `.io`, and what `fill`
  ///   throws.
  package static func create(
    at path: FilePath, _ options: Connection.Options = .init(), fill: (VaultDatabase) throws(StoreError) -> Void
  ) throws(StoreError) -> sending VaultDatabase {
    let made = try NewDatabase(at: path).make(options) { connection throws(StoreError) in
      // The builder of the system's SQLite may have chosen other defaults than those that the format says.
      for pragma in ["page_size=4096", "auto_vacuum=NONE", "encoding='UTF-8'"] { try connection.execute("PRAGMA \(pragma)") }
      // A draft whose commit failed is thrown away, whatever became of it.
      try connection.write {
        () throws(StoreError) in
        try Schema.create(on: connection)
        try fill(VaultDatabase(creatingOn: connection))
      } wasMade: { () throws(StoreError) in
        false
      }
    }
    do throws(StoreError) { return try open(made, options) } catch {
      remove(made)
      throw error
    }
  }

  /// Removes the vault that was made at `path` just now and that nobody knows of yet, once it is closed. Where it cannot be
  /// removed it stays, whole.
  package static func remove(_ path: FilePath) {
    // The vault first: side files without it would be taken for a part of the next one.
    guard path.withPlatformString({ unlink($0) }) == 0 else { return }
    for suffix in SideFiles.suffixes { _ = path.appending(suffix: suffix).withPlatformString { unlink($0) } }
  }
}
