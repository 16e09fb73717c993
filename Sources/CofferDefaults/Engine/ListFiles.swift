internal import CofferPlatform
internal import CofferStorage
internal import SystemPackage

/// The property list of a domain and the hidden files beside it. Links are resolved first, so that a linked list stays a link
/// and all who reach the list by different names meet at one journal.
struct ListFiles: Sendable {
  /// The real file.
  let list: FilePath
  let folder: FilePath
  let journal: FilePath
  let lastGood: FilePath
  /// The next list, while it is written. The journal's lock makes it one writer's.
  let next: FilePath

  /// The files of the list that `path` leads to.
  ///
  /// - Parameter makingFolder: whether a folder that is missing is made, with mode 0700. It stays missing where nobody may make
  ///   it: there is nothing to read then. One that is there is left as it is.
  init(resolving path: FilePath, makingFolder: Bool = true) throws(StoreError) {
    var target = path
    for _ in 0..<Self.mostLinks {
      guard let link = try Self.link(at: target) else {
        let folder = try Self.realFolder(target.folder, making: makingFolder)
        guard let name = target.lastName else { break }
        self.init(name, in: folder)
        return
      }
      target = target.parent.pushing(link)
    }
    throw StoreError(.denied, "too many symbolic links", place: path.string, cure: "replace the links by the real file")
  }

  /// What the journal's name adds to the list's; a dot stands in front of it.
  static let journalSuffix = ".coffer"

  /// The kernel's own limit on links in one path.
  private static let mostLinks = 40

  private init(_ name: String, in folder: FilePath) {
    self.folder = folder
    list = folder.appending(name)
    journal = folder.appending(".\(name)\(Self.journalSuffix)")
    lastGood = folder.appending(".\(name).last-good")
    next = folder.appending(".\(name).coffer-next")
  }

  private static func link(at path: FilePath) throws(StoreError) -> FilePath? {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = path.withPlatformString { readlink($0, &buffer, buffer.count) }
    guard count >= 0 else {
      if errno == EINVAL || errno == ENOENT || errno == ENOTDIR { return nil }
      throw StoreError(errno: errno, "read the link", place: path)
    }
    return FilePath(String(decoding: buffer[..<count].lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self))
  }

  private static func realFolder(_ folder: FilePath, making: Bool) throws(StoreError) -> FilePath {
    if try FileStatus(at: folder) == nil {
      guard making, try make(folder) else { return folder }
    }
    let resolved = folder.withPlatformString { realpath($0, nil) }
    guard let resolved else { throw StoreError(errno: errno, "resolve the folder", place: folder) }
    defer { free(resolved) }
    return FilePath(String(cString: resolved))
  }

  /// Makes `folder` and what is missing above it; false where this user may not. Another process doing the same at the same time
  /// is no error.
  private static func make(_ folder: FilePath) throws(StoreError) -> Bool {
    let parent = folder.parent
    if !parent.isEmpty, parent != folder, try FileStatus(at: parent) == nil { guard try make(parent) else { return false } }
    let code = folder.withPlatformString { mkdir($0, 0o700) == 0 ? 0 : errno }
    if [EACCES, EPERM, EROFS].contains(code) { return false }
    guard code == 0 || code == EEXIST else { throw StoreError(errno: code, "make the folder", place: folder) }
    return true
  }

  /// Whether this process may replace the list: a list it may not write is left alone, even where the folder would allow it.
  func isWritable() throws(StoreError) -> Bool {
    guard try FileStatus(at: list) != nil else { return try FileStatus(at: folder) != nil }
    return list.withPlatformString { access($0, W_OK) } == 0
  }
}
