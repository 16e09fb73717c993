internal import CCofferSQLite
package import CofferPlatform
package import SystemPackage

/// The files that SQLite can reach through one connection: the database and its side files.
///
/// A rollback journal may end in the name of a *super-journal*, any file, which SQLite reads and deletes during rollback
/// (sqlite.org/atomiccommit.html, 5). ``SideFiles`` rejects such a journal, but anyone with write access to the folder can
/// swap it after the check. So each connection has its own virtual file system (sqlite.org/vfs.html), which knows no other
/// names. Its pages go through ``PageCheck``.
package final class ConnectionFiles {
  let name: UnsafeMutablePointer<CChar>
  /// SQLite asked for a file outside the vault, which only a journal can have named.
  package private(set) var wasAskedForAnotherFile = false
  /// The identities of the log and its shared memory when SQLite opened them; nil without an open log.
  private var log: [String: FileIdentity?]?

  private let base: UnsafeMutablePointer<sqlite3_vfs>
  private let system: UnsafeMutablePointer<sqlite3_vfs>
  private let database: String
  /// One for each of ``kinds``, in their order.
  private let methods: UnsafeMutablePointer<CheckedMethods>

  /// - Parameters:
  ///   - path: absolute and without links.
  ///   - fileSystem: the virtual file system below; nil for the system's files.
  package init(of path: FilePath, over fileSystem: String?) throws(StoreError) {
    guard let base = sqlite3_vfs_find(fileSystem) else {
      throw StoreError(
        .unsupported, "SQLite has no such virtual file system", place: path.string, cure: "name one that is registered")
    }
    self.base = base
    database = path.string
    methods = .allocate(capacity: Self.kinds.count)
    for (place, kind) in Self.kinds.enumerated() {
      (methods + place).initialize(to: CheckedMethods(isUnchecked: !kind.hasPages))
    }
    system = .allocate(capacity: 1)
    let unique = "coffer-\(UInt(bitPattern: system))"
    name = .allocate(capacity: unique.utf8.count + 1)
    unique.withCString { name.initialize(from: $0, count: unique.utf8.count + 1) }
    system.initialize(to: sqlite3_vfs())
    fill()
    let code = sqlite3_vfs_register(system, 0)
    guard code == SQLITE_OK else { throw StoreError(sqlite: code, "prepare the files", on: nil, place: path) }
  }

  /// Must be unused. Otherwise its memory stays: an unclosable or forked connection still points there.
  func close() {
    sqlite3_vfs_unregister(system)
    system.deallocate()
    name.deallocate()
    methods.deallocate()
  }

  /// Whether the open log still has its name: nobody reads commits in a removed log. Called within a transaction.
  func isLogInPlace() throws(StoreError) -> Bool {
    guard let log else { return true }
    for suffix in ["-wal", "-shm"] {
      let found = try Stat.ofLink(FilePath(database + suffix))?.identity
      guard let known = log[suffix] else {
        self.log?.updateValue(found, forKey: suffix)
        continue
      }
      guard known == found else { return false }
    }
    return true
  }

  /// Turns off the check of pages for copying the file, which interprets no page.
  func readsPagesUnchecked(_ isUnchecked: Bool) {
    for kind in Self.kinds.indices where Self.kinds[kind].hasPages { methods[kind].isUnchecked = isUnchecked }
  }

  private func fill() {
    system.pointee.iVersion = min(2, base.pointee.iVersion)
    system.pointee.szOsFile = base.pointee.szOsFile
    system.pointee.mxPathname = base.pointee.mxPathname
    system.pointee.zName = UnsafePointer(name)
    system.pointee.pAppData = Unmanaged.passUnretained(self).toOpaque()
    system.pointee.xOpen = { system, name, file, flags, given in
      ConnectionFiles.of(system).open(name, file, flags, given)
    }
    system.pointee.xDelete = { system, name, syncsFolder in ConnectionFiles.of(system).delete(name, syncsFolder) }
    system.pointee.xAccess = { system, name, flags, found in ConnectionFiles.of(system).access(name, flags, found) }
    system.pointee.xFullPathname = { system, name, count, out in
      let base = ConnectionFiles.of(system).base
      return base.pointee.xFullPathname(base, name, count, out)
    }
    system.pointee.xRandomness = { system, count, out in
      let base = ConnectionFiles.of(system).base
      return base.pointee.xRandomness(base, count, out)
    }
    system.pointee.xSleep = { system, microseconds in
      let base = ConnectionFiles.of(system).base
      return base.pointee.xSleep(base, microseconds)
    }
    system.pointee.xCurrentTime = { system, out in
      let base = ConnectionFiles.of(system).base
      return base.pointee.xCurrentTime(base, out)
    }
    system.pointee.xGetLastError = { system, count, out in
      let base = ConnectionFiles.of(system).base
      return base.pointee.xGetLastError(base, count, out)
    }
    guard system.pointee.iVersion >= 2 else { return }
    system.pointee.xCurrentTimeInt64 = { system, out in
      let base = ConnectionFiles.of(system).base
      return base.pointee.xCurrentTimeInt64(base, out)
    }
  }

  private static func of(_ system: UnsafeMutablePointer<sqlite3_vfs>?) -> ConnectionFiles {
    guard let context = system?.pointee.pAppData else { preconditionFailure("SQLite passes what was registered") }
    return Unmanaged<ConnectionFiles>.fromOpaque(context).takeUnretainedValue()
  }
}

extension ConnectionFiles {
  fileprivate static let kinds: [(flag: Int32, suffix: String, hasPages: Bool)] = [
    (SQLITE_OPEN_MAIN_DB, "", true), (SQLITE_OPEN_MAIN_JOURNAL, "-journal", false), (SQLITE_OPEN_WAL, "-wal", true),
  ]

  fileprivate func open(
    _ name: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32,
    _ given: UnsafeMutablePointer<Int32>?
  ) -> Int32 {
    file?.pointee.pMethods = nil
    let kind = Self.kinds.firstIndex { flags & $0.flag != 0 }
    if let name {
      guard let kind, isNamed(name, Self.kinds[kind].suffix) else { return refuse() }
    }
    // A file without a name is a temporary one that a statement needs to undo itself. Nobody else can name it.
    let code = base.pointee.xOpen(base, name, file, flags, given)
    guard code == SQLITE_OK, let kind, let file else { return code }
    file.pointee.pMethods = CheckedMethods.put(over: file.pointee.pMethods, at: methods + kind)
    if flags & SQLITE_OPEN_WAL != 0 { log = ["-wal": identity(of: name)] }
    return code
  }

  fileprivate func delete(_ name: UnsafePointer<CChar>?, _ syncsFolder: Int32) -> Int32 {
    guard isSideFile(name) else { return refuse() }
    if let name, isNamed(name, "-wal") { log = nil }
    return base.pointee.xDelete(base, name, syncsFolder)
  }

  private func identity(of name: UnsafePointer<CChar>?) -> FileIdentity? {
    guard let name else { return nil }
    do throws(StoreError) { return try Stat.ofLink(FilePath(platformString: name))?.identity } catch { return nil }
  }

  fileprivate func access(_ name: UnsafePointer<CChar>?, _ flags: Int32, _ found: UnsafeMutablePointer<Int32>?) -> Int32 {
    guard isSideFile(name) else { return refuse() }
    return base.pointee.xAccess(base, name, flags, found)
  }

  private func refuse() -> Int32 {
    wasAskedForAnotherFile = true
    return SQLITE_CORRUPT
  }

  private func isSideFile(_ name: UnsafePointer<CChar>?) -> Bool {
    guard let name else { return false }
    return SideFiles.suffixes.contains { isNamed(name, $0) }
  }

  private func isNamed(_ name: UnsafePointer<CChar>, _ suffix: String) -> Bool {
    let count = database.utf8.count
    return database.withCString { strncmp($0, name, count) } == 0 && suffix.withCString { strcmp($0, name + count) } == 0
  }
}
