internal import CCofferSQLite
package import CofferPlatform
internal import SystemPackage

/// A connection to a database file, with all of SQLite's defenses on.
///
/// Not `Sendable`: SQLite runs without its own mutexes (`SQLITE_OPEN_NOMUTEX`). Not for use in a forked child.
package final class Connection {
  package enum Access {
    case readWrite
    /// Also works on a read-only medium.
    case readOnly
  }

  package struct Options {
    var access = Access.readWrite
    /// Milliseconds to wait for another process's lock: enough to rotate a large vault.
    var busyMilliseconds: Int32 = 30_000
    /// Locks all others out. SQLite then needs no shared memory, which a full disk may lack.
    var isAlone = false
    /// Nobody writes to a mirror, and a refresh may replace it any time. An open mirror does not change, and SQLite keeps
    /// nothing beside it that would pass for a part of the next file.
    var isMirror = false
    /// The error for a folder in which others may make files. Nothing beside the file is read, and a write throws this.
    var openFolder: StoreError?
    /// The virtual file system below ``ConnectionFiles``; nil for the system's files.
    var fileSystem: String?
  }

  let file: DatabaseFile
  let files: ConnectionFiles
  let handle: OpaquePointer
  let options: Options
  let limit: StepLimit
  package private(set) var isOpen = true
  private let process = getpid()
  private var verbs: [OpaquePointer] = []
  private var pauses = LockPauses(), deadline = LockDeadline.ofCall(.zero)
  package var usesWriteAheadLog = false

  var path: FilePath { file.path }
  var place: String { path.string }

  /// The side files must have been checked.
  package init(_ file: consuming DatabaseFile, _ options: Options = Options()) throws(StoreError) {
    files = try ConnectionFiles(of: file.path, over: options.fileSystem)
    handle = try Self.open(file.path, options, files)
    limit = StepLimit(handle, of: file.path)
    self.file = file
    self.options = options
    // From here on a throw runs deinit, which closes.
    guard try self.file.isInPlace() else {
      throw StoreError(.busy, "the file was replaced while it was opened", place: place, cure: "try again")
    }
    try harden()
    for verb in Verb.allCases { verbs.append(try prepare(verb.sql)) }
  }

  deinit { close() }

  /// Ends every statement and the connection. Statements still held then throw ``/CofferPlatform/StoreError/Kind/closed``.
  func close() {
    guard isOpen else { return }
    isOpen = false
    // A forked child's handle is the parent's. Closing it could empty and remove a log that the parent still writes.
    guard getpid() == process else { return }
    while let statement = sqlite3_next_stmt(handle, nil) { sqlite3_finalize(statement) }
    limit.end(handle)
    // A removed log goes with its descriptor. SQLite would copy it over later writes of others, and remove theirs.
    if !isLogInPlace { _ = coffer_sqlite3_db_config_switch(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nil) }
    // A connection with an unfinished copy cannot be closed, and still uses its files.
    if sqlite3_close(handle) == SQLITE_OK { files.close() }
  }

  /// False also if that is unknown.
  private var isLogInPlace: Bool {
    do throws(StoreError) { return try files.isLogInPlace() } catch { return false }
  }

  /// Waits for locks like the rest of Coffer. SQLite's own pauses last up to 100 ms, too long for a cancelled call.
  func waitAsUsual() {
    sqlite3_busy_handler(
      handle,
      { context, count in
        guard let context else { return 0 }
        return Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue().pause(isFirst: count == 0) ? 1 : 0
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  private func pause(isFirst: Bool) -> Bool {
    if isFirst { (pauses, deadline) = (LockPauses(), .ofCall(.milliseconds(Int64(options.busyMilliseconds)))) }
    return pauses.sleep(until: deadline)
  }

  func prepare(_ sql: String) throws(StoreError) -> OpaquePointer {
    try checkOpen()
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    guard code == SQLITE_OK, let statement else { throw failure(code, "prepare a statement") }
    return statement
  }

  func perform(_ verb: Verb) throws(StoreError) {
    try checkOpen()
    let code = step(verb)
    guard code == SQLITE_DONE else { throw failure(code, verb.doing) }
  }

  func step(_ verb: Verb) -> Int32 {
    guard isOpen else { return SQLITE_MISUSE }
    let statement = verbs[verb.rawValue]
    let code = sqlite3_step(statement)
    sqlite3_reset(statement)
    return code
  }

  /// Changes after a commit by any other connection, never after this one's.
  func dataVersion() throws(StoreError) -> Int64 {
    try checkOpen()
    let statement = verbs[Verb.dataVersion.rawValue]
    defer { sqlite3_reset(statement) }
    let code = sqlite3_step(statement)
    guard code == SQLITE_ROW else { throw failure(code, Verb.dataVersion.doing) }
    return sqlite3_column_int64(statement, 0)
  }

  /// Changes whenever a commit outdates the cached pages. Runs no statement, so it works while the whole file is being
  /// replaced (sqlite.org/c3ref/c_fcntl_begin_atomic_write.html).
  package func pagerVersion() throws(StoreError) -> UInt32 {
    try checkOpen()
    var version: UInt32 = 0
    let code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_DATA_VERSION, &version)
    guard code == SQLITE_OK else { throw failure(code, Verb.dataVersion.doing) }
    return version
  }

  func failure(_ code: Int32, _ doing: String) -> StoreError {
    if files.wasAskedForAnotherFile { return SideFiles.namesAnotherFile(path) }
    if code & 0xff == SQLITE_BUSY, let refusal = Waiting.refusal(at: place) { return refusal }
    guard code & 0xff != SQLITE_INTERRUPT else {
      return StoreError(
        .damaged, "could not \(doing): its pages lead back to each other, as they hold more rows than a file of this size can",
        place: place, cure: "copy the items to a new vault with UnlockedVault.export, or restore a backup",
        remedy: .copyItems)
    }
    return StoreError(sqlite: code, doing, on: handle, place: path)
  }

  @inline(__always)
  func checkOpen() throws(StoreError) {
    guard isOpen else {
      throw StoreError(.closed, "the vault was closed", place: place, cure: "open it again")
    }
  }

  private static func open(
    _ path: FilePath, _ options: Options, _ files: ConnectionFiles
  ) throws(StoreError) -> OpaquePointer {
    do throws(StoreError) { return try openHandle(path, options, files) } catch {
      files.close()
      throw error
    }
  }

  private static func openHandle(
    _ path: FilePath, _ options: Options, _ files: ConnectionFiles
  ) throws(StoreError) -> OpaquePointer {
    try checkLibrary(path)
    // The plain result codes do not distinguish a full disk from a broken one.
    var flags = SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    flags |= options.access == .readWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
    var name = path.string
    if options.isMirror || options.openFolder != nil {
      name = ReadOnlyMedium.immutable(path)
      flags |= SQLITE_OPEN_URI
    } else if try ReadOnlyMedium.holds(path) {
      guard options.access == .readOnly else { throw ReadOnlyMedium.cannotWrite(path) }
      name = try ReadOnlyMedium.address(of: path)
      flags |= SQLITE_OPEN_URI
    }
    var handle: OpaquePointer?
    let code = sqlite3_open_v2(name, &handle, flags, files.name)
    guard code == SQLITE_OK, let handle else {
      let error = StoreError(sqlite: code, "open the database", on: handle, place: path)
      sqlite3_close(handle)
      throw error
    }
    return handle
  }

  /// SQLite 3.37 (November 2021) added STRICT tables and extended codes at opening.
  private static func checkLibrary(_ path: FilePath) throws(StoreError) {
    guard sqlite3_threadsafe() != 0, sqlite3_libversion_number() >= 3_037_000 else {
      throw StoreError(
        .unsupported, "this SQLite is older than 3.37 or was built without threads", place: path.string,
        cure: "install a newer SQLite")
    }
  }
}
