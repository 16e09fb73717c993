internal import Coffer
internal import CofferPlatform
internal import SystemPackage

/// Paths from the command line that may lead to a descriptor of this process, as `/dev/fd/3` does.
enum GivenPath {
  /// Refuses a path to a descriptor that was not open when the program started: by now the number may be that of a file of its own, which
  /// must be neither read as a value nor written as an output.
  ///
  /// - Throws: a usage failure, as for the number itself.
  static func check(_ path: String) throws(Failure) {
    guard let descriptor = descriptor(of: path), !Hardening.wasGiven(descriptor) else { return }
    throw .usage("descriptor \(descriptor), to which \(path) leads, is not open", try: "N<FILE or N>FILE in the shell")
  }

  /// The number that `path` leads to, through whatever links; nil for any other path.
  static func descriptor(of path: String) -> Int32? {
    var path = FilePath(path)
    // As many links as the kernel follows: path_resolution(7).
    for _ in 0..<40 {
      if let folder = realPath(path.folder), isOfDescriptors(folder) {
        return path.lastComponent.flatMap { Int32($0.string) }
      }
      guard let target = linkTarget(path) else { return nil }
      path = target.isAbsolute ? target : path.folder.pushing(target)
    }
    return nil
  }

  /// `/proc/self/fd`, or that of a thread, under the names that the links of proc(5) lead to.
  private static func isOfDescriptors(_ folder: String) -> Bool {
    folder == "/dev/fd" || folder == "/proc/\(getpid())/fd"
      || folder.hasPrefix("/proc/\(getpid())/task/") && folder.hasSuffix("/fd")
  }

  private static func realPath(_ path: FilePath) -> String? {
    path.withPlatformString { path in
      guard let found = realpath(path, nil) else { return nil }
      defer { free(found) }
      return String(cString: found)
    }
  }

  private static func linkTarget(_ path: FilePath) -> FilePath? {
    let bytes = withUnsafeTemporaryAllocation(byteCount: Int(PATH_MAX) + 1, alignment: 1) { buffer -> [CChar]? in
      let room = buffer.bindMemory(to: CChar.self)
      guard let start = room.baseAddress else { return nil }
      let count = path.withPlatformString { readlink($0, start, Int(PATH_MAX)) }
      return count > 0 ? Array(room[..<count]) + [0] : nil
    }
    return bytes.flatMap { bytes in bytes.withUnsafeBufferPointer { $0.baseAddress.map { FilePath(platformString: $0) } } }
  }
}
