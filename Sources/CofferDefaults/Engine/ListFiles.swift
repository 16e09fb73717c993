internal import CofferStorage
internal import SystemPackage

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// The property list of a domain and the hidden files beside it. Links are resolved first, so that a linked list stays a link
/// and all who reach the list by different names meet at one journal.
struct ListFiles: Sendable {
  /// The real file.
  let list: FilePath
  var folder: FilePath { list.removingLastComponent() }
  var journal: FilePath { beside(".coffer") }
  var lastGood: FilePath { beside(".last-good") }
  /// The next list, while it is written. The journal's lock makes it one writer's.
  var next: FilePath { beside(".coffer-next") }

  /// The files of the list that `path` leads to.
  ///
  /// - Parameter makingFolder: whether a folder that is missing is made, with mode 0700; one that is there is left as it is.
  init(resolving path: FilePath, makingFolder: Bool = true) throws(StoreError) {
    var target = path
    for _ in 0..<Self.mostLinks {
      guard let link = try Self.link(at: target) else {
        let folder = try Self.realFolder(target.removingLastComponent(), making: makingFolder)
        guard let name = target.lastComponent else { break }
        list = folder.appending(name)
        return
      }
      target = target.removingLastComponent().pushing(link)
    }
    throw StoreError(.denied, "too many symbolic links", place: path.string, cure: "replace the links by the real file")
  }

  /// The kernel's own limit on links in one path.
  private static let mostLinks = 40

  private func beside(_ suffix: String) -> FilePath { folder.appending(".\(list.lastComponent?.string ?? "")\(suffix)") }

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
      guard making else { return folder }
      try make(folder)
    }
    let resolved = folder.withPlatformString { realpath($0, nil) }
    guard let resolved else { throw StoreError(errno: errno, "resolve the folder", place: folder) }
    defer { free(resolved) }
    return FilePath(String(cString: resolved))
  }

  /// Makes `folder` and what is missing above it. Another process doing the same at the same time is no error.
  private static func make(_ folder: FilePath) throws(StoreError) {
    let parent = folder.removingLastComponent()
    if !parent.isEmpty, parent != folder, try FileStatus(at: parent) == nil { try make(parent) }
    let code = folder.withPlatformString { mkdir($0, 0o700) == 0 ? 0 : errno }
    guard code == 0 || code == EEXIST else { throw StoreError(errno: code, "make the folder", place: folder) }
  }

  /// Whether this process may replace the list: a list it may not write is left alone, even where the folder would allow it.
  func isWritable() throws(StoreError) -> Bool {
    guard try FileStatus(at: list) != nil else { return true }
    return list.withPlatformString { access($0, W_OK) } == 0
  }
}
