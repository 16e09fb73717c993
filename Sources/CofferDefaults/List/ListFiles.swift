internal import CofferPlatform
internal import SystemPackage

/// A domain's property list and the hidden files beside it. Links are resolved first: a linked list stays a link, and all its
/// names lead to one journal.
struct ListFiles: Sendable {
  let list: FilePath
  let folder: FilePath
  let journal: FilePath
  let lastGood: FilePath
  let foldLock: FilePath

  private let name: String

  /// - Parameter makingFolder: whether to make a missing folder, with mode 0700. If nobody may make it, there is nothing to
  ///   read.
  init(resolving path: FilePath, makingFolder: Bool = true) throws(StoreError) {
    let (folder, name) = try Self.end(of: path, makingFolder)
    self.init(name, in: folder)
  }

  /// Called ten times a second, so it builds few paths.
  func areReached(from path: FilePath) throws(StoreError) -> Bool {
    let (folder, name) = try Self.end(of: path, false)
    return name == self.name && folder == self.folder
  }

  private static func end(of path: FilePath, _ makingFolder: Bool) throws(StoreError) -> (folder: FilePath, name: String) {
    var target = path
    for _ in 0..<mostLinks {
      guard let link = try link(at: target) else {
        let folder = try realFolder(target.folder, making: makingFolder)
        guard let name = target.lastName else { break }
        return (folder, name)
      }
      target = target.parent.pushing(link)
    }
    throw StoreError(.denied, "too many symbolic links", place: path.string, cure: "replace the links by the real file")
  }

  static let journalSuffix = ".coffer"

  /// The kernel's own limit on links in one path.
  private static let mostLinks = 40

  private init(_ name: String, in folder: FilePath) {
    self.folder = folder
    self.name = name
    list = folder.appending(name)
    journal = folder.appending(".\(name)\(Self.journalSuffix)")
    lastGood = folder.appending(".\(name).last-good")
    foldLock = folder.appending(".\(name).coffer-fold")
  }

  /// Only the holder of the right to fold uses it.
  func draft(of journal: FileStatus) -> FilePath {
    folder.appending("." + String(journal.inode, radix: 36) + Self.draftSuffix)
  }

  static let draftSuffix = ".coffer-next"

  private static func link(at path: FilePath) throws(StoreError) -> FilePath? {
    let (link, code) = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer -> (FilePath?, Int32) in
      let count = path.withPlatformString { name in buffer.baseAddress.map { readlink(name, $0, buffer.count) } ?? 0 }
      guard count >= 0 else { return (nil, errno) }
      guard let target = String(validating: UnsafeRawBufferPointer(buffer)[..<count], as: UTF8.self) else { return (nil, EILSEQ) }
      return (FilePath(target), 0)
    }
    guard code != EILSEQ else { throw unreadable(path, "the link leads to a name that is not UTF-8") }
    guard code != 0, code != EINVAL, code != ENOENT, code != ENOTDIR else { return link }
    throw StoreError(errno: code, "read the link", place: path)
  }

  private static func realFolder(_ folder: FilePath, making: Bool) throws(StoreError) -> FilePath {
    if try FileStatus(at: folder) == nil {
      guard making, try make(folder) else { return folder }
    }
    let resolved = folder.withPlatformString { realpath($0, nil) }
    guard let resolved else { throw StoreError(errno: errno, "resolve the folder", place: folder) }
    defer { free(resolved) }
    guard let path = String(validatingCString: resolved) else { throw unreadable(folder, "the folder's real name is not UTF-8") }
    return FilePath(path)
  }

  /// A repaired name would lead to another folder or to none, and values would seem gone.
  private static func unreadable(_ path: FilePath, _ what: String) -> StoreError {
    StoreError(
      .invalidName, what, place: path.string,
      cure: "rename it, or name a folder that has a name in UTF-8")
  }

  /// False if this user may not make the folder. Another process may make it meanwhile.
  private static func make(_ folder: FilePath) throws(StoreError) -> Bool {
    let parent = folder.parent
    if !parent.isEmpty, parent != folder, try FileStatus(at: parent) == nil { guard try make(parent) else { return false } }
    let code = folder.withPlatformString { mkdir($0, 0o700) == 0 ? 0 : errno }
    if [EACCES, EPERM, EROFS].contains(code) { return false }
    guard code == 0 || code == EEXIST else { throw StoreError(errno: code, "make the folder", place: folder) }
    return true
  }

  /// A list that this process may not write stays unchanged, even if the folder would allow its replacement.
  func isWritable() throws(StoreError) -> Bool {
    guard try FileStatus(at: list) != nil else { return try FileStatus(at: folder) != nil }
    return list.withPlatformString { access($0, W_OK) } == 0
  }
}
