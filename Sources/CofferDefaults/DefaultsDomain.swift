public import CofferPlatform
internal import CofferStorage
internal import FoundationEssentials
internal import Synchronization
public import SystemPackage

/// A named set of preferences and its property list.
///
/// The list is where `UserDefaults` keeps it on Linux: `$XDG_CONFIG_HOME/<domain>.plist`, or `~/.config/<domain>.plist` if that
/// variable is unset, empty or relative (XDG Base Directory Specification 0.8).
public struct DefaultsDomain: Sendable, Hashable {
  /// One path component, for example `com.example.app`.
  public let name: String
  /// The folder of the list.
  public let folder: FilePath
  /// The property list.
  public var file: FilePath { folder.appending(name + Self.suffix) }

  /// The most bytes of UTF-8 in a name: file names end at 255 bytes, and hidden files beside the list need room.
  public static let longestName = 200
  static let suffix = ".plist"

  /// A domain in `folder`, or in the user's configuration folder.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/invalidName`` when `name` is empty, `.` or `..`, holds a slash or a control
  ///   character, or is longer than ``longestName``; ``/CofferPlatform/StoreError/Kind/notFound`` without any folder;
  ///   ``/CofferPlatform/StoreError/Kind/denied`` when the folder is another user's.
  public init(_ name: String, in folder: FilePath? = nil) throws(StoreError) {
    self.name = try Self.check(name)
    if let folder { self.folder = folder } else { self.folder = try Self.configurationFolder() }
  }

  /// The domains in `folder` or the user's configuration folder, by name, even those with values only in the journal. Leaves
  /// no trace.
  ///
  /// - Throws: `StoreError` `.denied` or `.io` when the folder cannot be read. A missing folder holds none.
  public static func list(in folder: FilePath? = nil) throws(StoreError) -> [DefaultsDomain] {
    let place: FilePath
    if let folder { place = folder } else { place = try configurationFolder() }
    guard try FileStatus(at: place) != nil else { return [] }
    let names: [String]
    do { names = try FileManager.default.contentsOfDirectory(atPath: place.string) } catch {
      throw StoreError(
        .denied, "could not list the folder", place: place.string, cure: "check its owner and mode", underlying: error)
    }
    let lists = Set(names.compactMap { domain(of: $0, between: "", suffix) })
    let journals = Set(names.compactMap { domain(of: $0, between: ".", suffix + ListFiles.journalSuffix) })
    var domains: [DefaultsDomain] = []
    for name in lists.union(journals).sorted() {
      let domain = try DefaultsDomain(name, in: place)
      if lists.contains(name) || domain.mayHaveValues { domains.append(domain) }
    }
    return domains
  }

  /// Nil for another program's file, whose name cannot name a domain.
  private static func domain(of file: String, between prefix: String, _ suffix: String) -> String? {
    guard file.hasPrefix(prefix), file.hasSuffix(suffix), file.hasPrefix(".") == prefix.hasPrefix(".") else { return nil }
    let name = String(file.dropFirst(prefix.count).dropLast(suffix.count))
    return refusal(of: name) == nil ? name : nil
  }

  /// True for an unreadable domain: reading it throws the reason.
  private var mayHaveValues: Bool {
    do throws(StoreError) {
      return try !DefaultsStore.open(domain: name, in: folder, access: .readOnly).names().isEmpty
    } catch { return true }
  }

  static func configurationFolder(
    _ variable: (String) throws(StoreError) -> String? = EnvironmentVariable.text
  ) throws(StoreError) -> FilePath {
    if let folder = try variable("XDG_CONFIG_HOME"), folder.hasPrefix("/") { return try ours(FilePath(folder)) }
    let home = try variable("HOME") ?? FileManager.default.homeDirectoryForCurrentUser.path
    guard home.hasPrefix("/") else {
      throw StoreError(
        .notFound, "this user has no home folder", cure: "set HOME or XDG_CONFIG_HOME to an absolute path, or give a folder")
    }
    return try ours(FilePath(home).appending(".config"))
  }

  private static func ours(_ folder: FilePath) throws(StoreError) -> FilePath {
    try TrustedPath.checkOwner(ofWayTo: folder)
    return folder
  }

  static func check(_ name: String) throws(StoreError) -> String {
    guard let refusal = refusal(of: name) else { return name }
    throw StoreError(
      .invalidName, refusal,
      cure: "use one path component of 1 to \(longestName) bytes without control characters, such as com.example.app")
  }

  private static func refusal(of name: String) -> String? {
    if name.isEmpty { return "the domain name is empty" }
    if name == "." || name == ".." { return "the domain name '\(name)' is a folder" }
    if name.utf8.count > longestName { return "the domain name has \(name.utf8.count) bytes" }
    if name.utf8.contains(UInt8(ascii: "/")) { return "the domain name contains a slash" }
    let isControl = { (scalar: Unicode.Scalar) in scalar.properties.generalCategory == .control }
    return name.unicodeScalars.contains(where: isControl) ? "the domain name contains a control character" : nil
  }
}

extension DefaultsDomain {
  /// Removes every value, the property list and the files beside it. Copies of damaged lists stay.
  ///
  /// Programs that have the domain open find it empty, and may write it again. A link to the list stays a link.
  ///
  /// - Throws: `StoreError` `.readOnly`, `.busy`, `.denied`, `.damaged`; `.pending` while the outcome of a transaction is
  ///   unknown.
  public func remove() throws(StoreError) {
    guard try FileStatus(at: folder) != nil else { return }
    let files = try ListFiles(resolving: file)
    let found = try [FileStatus(at: files.list), FileStatus(at: files.journal)]
    guard found.contains(where: { $0 != nil }) else { return }
    var options = EngineOptions()
    options.foldsWhenIdle = false
    try EngineLease(file, options).engine.removeDomain()
  }
}

extension DefaultsEngine {
  func removeDomain() throws(StoreError) {
    // The domain is empty from here on, even if the removal of its files is interrupted.
    try removeAll(prefix: "")
    try foldingAlone { (journal) throws(StoreError) in
      guard try !Relocation(engine: self).hasMoved(journal) else { throw journal.overtaken }
      _ = try writable(journal) { (state) throws(StoreError) in
        for name in state.batches.undecidedNames { try state.batches.checkDecided(name, files.list) }
      }
      // Without the list, a power loss must find the domain empty.
      try journal.synchronize()
      for path in [files.list, files.lastGood] { try remove(path) }
      try AtomicFile.synchronizeFolder(of: files.list, calls)
      try journal.synchronize()
      PreparedBatches(engine: self).forgetFinished()
      // A writer that waits for this lock must not write into a nameless file. The mark comes first, so that every reader of
      // the word knows.
      try journal.memory.mark(.removed)
      try state.withLock { (state) throws(StoreError) in
        (state.seen, state.last) = try journal.beginEpoch(
          after: state.seen, from: JournalMark(end: state.seen.end, last: state.last), list: .none, foldedFrom: nil,
          survivors: [], writer: writer)
        state.start = state.seen.end
        state.begin(with: ListContent(values: [:], encoding: .xml, fingerprint: .none, isSettled: true))
        state.nextLook = 0
      }
      try remove(files.journal)
      try remove(files.foldLock)
    }
  }

  private func remove(_ path: FilePath) throws(StoreError) {
    let result = calls.unlink(path.string)
    guard result == 0 || result == -ENOENT else { throw StoreError(errno: -result, "remove the file", place: path) }
  }
}
