package import CofferPlatform
package import CofferStorage
package import SystemPackage

/// Checks rows for type and length only, because their content is sealed. Used from one thread at a time, like its
/// ``Connection``.
package final class VaultDatabase: VaultRows {
  package let connection: Connection
  private var statements = [Statement?](repeating: nil, count: Query.allCases.count)
  private var schemaVersion: Int64
  /// The last state written in the current or last write transaction.
  var writtenState: [UInt8]?
  /// The state before it, if the file commits through a rollback journal.
  private var stateBefore: [UInt8]?
  private var hasSwept = false

  /// Absolute and without symbolic links, so one vault has one path.
  package var path: FilePath { connection.path }
  package let place: VaultPlace

  package var isUnwritableFile: Bool { connection.options.access == .readOnly }

  /// Opens the vault at `path` after all outside checks: folder, file, side files, kind of file, tables.
  ///
  /// - Throws: ``/CofferPlatform/StoreError`` `.noVault`, `.notAVault`, `.damaged`, `.tampered`, `.newerFormat`, `.denied`,
  ///   `.busy`, `.readOnly` (unless the options say read only), `.io`.
  package static func open(
    _ path: FilePath, _ options: Connection.Options = .init()
  ) throws(StoreError) -> sending VaultDatabase {
    let place = try VaultFile(path)
    guard let resolved = try place.existing(), let file = try DatabaseFile.existing(resolved) else {
      throw StoreError(
        .noVault, "there is no vault", place: path.string,
        cure: "create one with Places.createVault(newKeyFileAt:), or give the path of another",
        remedy: .makeVault)
    }
    try SideFiles.check(beside: resolved, usesWriteAheadLog: file.header().usesWriteAheadLog)
    return try VaultDatabase(Connection(file, options))
  }

  /// Opens an unwritable vault read only.
  ///
  /// - Parameter isBrief: whether it is closed soon: on a full disk without room for SQLite's shared memory, others wait
  ///   until then.
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

  /// Opens this user's file in a folder unsafe for SQLite's files, if nothing is beside it.
  ///
  /// - Throws: `error` if this does not help.
  private static func openFile(
    _ path: FilePath, besideWhich error: StoreError
  ) throws(StoreError) -> sending VaultDatabase {
    // Nothing can be inspected below a path that is no folder: that was the reason.
    guard let resolved = try VaultFile(path).found(), try FileStatus(at: resolved) != nil,
      try SideFiles.first(beside: resolved) == nil, let file = try DatabaseFile.existing(resolved)
    else { throw error }
    return try VaultDatabase(Connection(file, .init(access: .readOnly, openFolder: error)))
  }

  package init(_ connection: Connection) throws(StoreError) {
    self.connection = connection
    place = connection.options.isMirror ? .mirror(connection.path) : .file(connection.path)
    schemaVersion = try connection.read { () throws(StoreError) in try SchemaCheck.run(on: connection) }
    try connection.settleDurability()
    _ = try connection.files.isLogInPlace()
  }

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

  /// - Throws: ``/CofferPlatform/StoreError/Kind/moved`` if the log is gone; `.outcomeUnknown` if it disappeared meanwhile.
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
    // The commit is made; an error from here on must not deny that.
    let isInPlace: Bool
    do throws(StoreError) {
      isInPlace = if try connection.files.isLogInPlace() { try connection.file.isInPlace() } else { false }
    } catch {
      throw StoreError(
        .outcomeUnknown, "the change was made, but whether the vault is still in its place is unknown",
        place: path.string,
        cure: "check what is stored before you try again", underlying: error)
    }
    guard isInPlace else {
      throw Self.moved(.outcomeUnknown, "the vault was moved away or replaced while the change was made durable", path)
    }
  }

  private static func moved(_ kind: StoreError.Kind, _ what: String, _ path: FilePath) -> StoreError {
    StoreError(kind, what, place: path.string, cure: "find out what copied files here, then open the vault again")
  }

  package func flush() throws(StoreError) { try connection.flush() }

  package func rollBack() { connection.rollBack() }

  /// Removes sealed copies left by killed commands, perhaps under an old key.
  private func sweepOnce() {
    guard !hasSwept else { return }
    hasSwept = true
    Draft.sweep(path.folder)
  }

  /// Whether the last write took effect although its commit failed. Each commit of items writes a new state.
  func hasWritten(since before: [UInt8]?) throws(StoreError) -> Bool? {
    let now = try stateBytes()
    if let writtenState, now == writtenState { return true }
    // An unpublished change in the log is not in effect, and never will be.
    if connection.usesWriteAheadLog { return false }
    // An unchanged state says nothing about a transaction that wrote none.
    return writtenState != nil && now == before ? false : nil
  }

  package func dataVersion() throws(StoreError) -> Int64 { try connection.dataVersion() }

  /// Rechecks changed tables. Only a VACUUM may have changed them.
  package func recheckSchema() throws(StoreError) {
    guard try connection.number("PRAGMA schema_version") != schemaVersion else { return }
    schemaVersion = try SchemaCheck.run(on: connection)
  }

  /// Costs one `lstat`; a commit also checks the log. A refresh makes a new file and leaves an open mirror valid.
  package func isInPlace() throws(StoreError) -> Bool {
    if connection.options.isMirror { true } else { try connection.file.isInPlace() }
  }

  package func expect(_ rows: ExpectedRows) {}
  package func accompany(with companion: (any CompanionWrites)?) {}

  func statement(_ query: Query) throws(StoreError) -> Statement {
    if let statement = statements[query.rawValue] { return statement }
    let statement = try Statement(query.sql, on: connection)
    statements[query.rawValue] = statement
    return statement
  }
}

extension VaultDatabase {
  /// Creates a vault file at `path`; `fill` writes its first rows in the transaction that makes the tables.
  ///
  /// The file appears once complete and durable. On any error except those of ``OpenFolder/synchronize()``, nothing is left
  /// behind.
  package static func create(
    at path: FilePath, _ options: Connection.Options = .init(), fill: (VaultDatabase) throws(StoreError) -> Void
  ) throws(StoreError) -> sending VaultDatabase {
    let made = try NewDatabase(at: path).make(options) { connection throws(StoreError) in
      // The system's SQLite may have other defaults.
      for pragma in ["page_size=4096", "auto_vacuum=NONE", "encoding='UTF-8'"] { try connection.execute("PRAGMA \(pragma)") }
      // A draft whose commit failed is discarded anyway.
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

  /// For a closed vault not yet in use. If it cannot be removed, it stays whole.
  package static func remove(_ path: FilePath) {
    // The vault first: side files without it would pass for a part of the next one.
    guard path.withPlatformString({ unlink($0) }) == 0 else { return }
    for suffix in SideFiles.suffixes { _ = path.appending(suffix: suffix).withPlatformString { unlink($0) } }
  }
}
