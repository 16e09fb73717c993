internal import CofferPlatform
internal import CofferVault
package import SystemPackage

/// Paths from the command line, which may lead to a descriptor of this process, such as `/dev/fd/3`.
package enum GivenPath {
  /// Refuses a place on a server, a path that names a folder, and one to a descriptor that was not open when the program
  /// started: it may now be the program's own file, which must be neither read as a value nor written as an output.
  ///
  /// - Throws: a usage failure, as for the number itself.
  package static func check(_ path: String) throws(Failure) {
    try checkIsOnNoServer(path, "file")
    try checkNamesNoFolder(path)
    guard let descriptor = descriptor(of: path), !Hardening.wasGiven(descriptor) else { return }
    throw .usage("\(path) leads to descriptor \(descriptor), which is not open", try: "N<FILE or N>FILE in the shell")
  }

  /// Refuses a server's place, and one of PostgreSQL that lacks its slashes. Only its scheme is repeated: the rest may hold a
  /// password.
  package static func checkIsOnNoServer(_ path: String, _ kind: String) throws(Failure) {
    let isNear = ["postgresql:", "postgres:"].contains(where: path.hasPrefix)
    guard VaultPlace(path).url != nil || isNear else { return }
    throw .usage(
      "a \(kind) is needed, and \(path.prefix { $0 != ":" })://… is a place on a server", try: "the path of a \(kind)")
  }

  /// Refuses a path with a slash at its end, which `FilePath` drops: a new file would get the folder's name.
  package static func checkNamesNoFolder(_ path: String) throws(Failure) {
    guard path.hasSuffix("/") else { return }
    throw .usage("a file is needed, and \(path) names a folder", try: "the path of a file")
  }

  /// The number that `path` leads to, through any links; nil for other paths.
  package static func descriptor(of path: String) -> Int32? {
    var path = FilePath(path)
    for _ in 0..<mostLinks {
      if let folder = realPath(path.folder), isOfDescriptors(folder) { return path.lastComponent.flatMap { Int32($0.string) } }
      guard let target = linkTarget(path) else { return nil }
      path = target.isAbsolute ? target : path.folder.pushing(target)
    }
    return nil
  }

  /// The target of `path` through links that only this user and root can have made; `path` itself if it is no link.
  ///
  /// - Throws: `.denied` for a link of another user, or one that others could replace.
  static func throughOwnLinks(_ path: FilePath) throws(StoreError) -> FilePath {
    var path = path
    for _ in 0..<mostLinks {
      guard linkTarget(path) != nil, let name = path.lastComponent else { return path }
      let folder = try TrustedPath.resolve(path.folder)
      let link = folder.appending(name)
      try TrustedPath.checkParents(of: link)
      // Asked now, when only this user and root could still change it.
      guard let status = try FileStatus(ofLinkAt: link), let target = linkTarget(link) else { return link }
      guard status.owner == geteuid() || status.owner == 0 else {
        throw StoreError(
          .denied, "the symbolic link belongs to user \(status.owner), who controls where it leads", place: link.string,
          cure: "give the path of the file it points to")
      }
      path = target.isAbsolute ? target : folder.pushing(target)
    }
    throw StoreError(errno: ELOOP, "follow the links", place: path)
  }

  /// The kernel's limit: path_resolution(7).
  private static let mostLinks = 40

  /// `/proc/self/fd`, or that of a thread, as the links of proc(5) resolve.
  private static func isOfDescriptors(_ folder: String) -> Bool {
    folder == "/dev/fd" || folder == "/proc/\(getpid())/fd"
      || folder.hasPrefix("/proc/\(getpid())/task/") && folder.hasSuffix("/fd")
  }

  package static func realPath(_ path: FilePath) -> String? {
    path.withPlatformString { path in
      guard let found = realpath(path, nil) else { return nil }
      defer { free(found) }
      return String(cString: found)
    }
  }

  private static func linkTarget(_ path: FilePath) -> FilePath? {
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    let count = path.withPlatformString { readlink($0, &bytes, Int(PATH_MAX)) }
    return count > 0 ? FilePath(platformString: bytes) : nil
  }
}
