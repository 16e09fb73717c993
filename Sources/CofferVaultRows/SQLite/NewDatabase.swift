internal import CofferPlatform
internal import SystemPackage

/// Makes a complete database file or none, under another name in the folder until it is complete and durable. A process that
/// dies earlier leaves a hidden, harmless file.
struct NewDatabase: ~Copyable {
  private let target: FilePath
  private let draft: Draft

  /// Creates the folder if it is missing.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/alreadyExists`` also for a left-over side file.
  init(at path: FilePath) throws(StoreError) {
    let target = try VaultFile(path).made()
    guard try Stat.ofLink(target) == nil else { throw Self.taken(target) }
    try SideFiles.checkAbsent(beside: target)
    let draft = try Draft(beside: target)
    self.target = target
    self.draft = draft
  }

  /// Lets `fill` write the draft, then gives it its name. The file alone then holds all content, ready for a write-ahead log
  /// if the file system allows one.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/io(_:)`` also if the named file may not survive a power loss; after any
  ///   other error nothing is left behind.
  func make(
    _ options: Connection.Options, _ fill: (Connection) throws(StoreError) -> Void
  ) throws(StoreError) -> FilePath {
    // Opened first, so an unusable folder fails before there is a file.
    let folder = try OpenFolder(of: target, SystemCalls())
    try fillDraft(options, fill)
    try name()
    try folder.synchronize()
    return target
  }

  private func fillDraft(
    _ options: Connection.Options, _ fill: (Connection) throws(StoreError) -> Void
  ) throws(StoreError) {
    let connection = try Connection(DatabaseFile.created(draft.path), options)
    defer { connection.close() }
    try connection.execute("PRAGMA synchronous=EXTRA")
    try fill(connection)
    if try !NetworkFileSystem.holds(draft.path) { try connection.execute("PRAGMA journal_mode=WAL") }
  }

  private func name() throws(StoreError) {
    let code = NewName.give(draft.path, target)
    guard code != EEXIST else { throw Self.taken(target) }
    guard code == 0 else { throw StoreError(errno: code, "name the new file", place: target) }
  }

  private static func taken(_ path: FilePath) -> StoreError {
    StoreError(.alreadyExists, "something is already there", place: path.string, cure: "open it, or choose another path")
  }
}
