internal import Coffer
internal import CofferPlatform
internal import CofferVault
internal import FoundationEssentials
internal import SystemPackage

/// Paths from the command line that may lead to a descriptor of this process, as `/dev/fd/3` does.
enum GivenPath {
  /// Refuses a path to a descriptor that was not open when the program started: by now the number may be that of a file of its
  /// own, which must be neither read as a value nor written as an output.
  ///
  /// - Throws: a usage failure, as for the number itself.
  static func check(_ path: String) throws(Failure) {
    guard let descriptor = descriptor(of: path), !Hardening.wasGiven(descriptor) else { return }
    throw .usage("descriptor \(descriptor), to which \(path) leads, is not open", try: "N<FILE or N>FILE in the shell")
  }

  /// Refuses the place of a server where a file belongs. Only its scheme is repeated: the rest may hold a password.
  static func checkIsFile(_ path: String) throws(Failure) {
    guard VaultPlace(path).url != nil else { return }
    throw .usage("a file belongs there, and \(path.prefix { $0 != ":" })://… is a place on a server", try: "the path of a file")
  }

  /// The number that `path` leads to, through whatever links; nil for any other path.
  static func descriptor(of path: String) -> Int32? {
    var path = FilePath(path)
    for _ in 0..<mostLinks {
      if let folder = realPath(path.folder), isOfDescriptors(folder) {
        return path.lastComponent.flatMap { Int32($0.string) }
      }
      guard let target = linkTarget(path) else { return nil }
      path = target.isAbsolute ? target : path.folder.pushing(target)
    }
    return nil
  }

  /// What `path` leads to, through links that nobody but this user and root can have led there; `path` itself where it is no
  /// link.
  ///
  /// - Throws: `.denied` for a link of another user, and for one that others could put another in the place of.
  static func throughOwnLinks(_ path: FilePath) throws(StoreError) -> FilePath {
    var path = path
    for _ in 0..<mostLinks {
      guard linkTarget(path) != nil, let name = path.lastComponent else { return path }
      let folder = try TrustedPath.resolve(path.folder)
      let link = folder.appending(name)
      try TrustedPath.checkParents(of: link)
      // Asked now, when only they could still change it.
      guard let status = try FileStatus(ofLinkAt: link), let target = linkTarget(link) else { return link }
      guard status.owner == geteuid() || status.owner == 0 else {
        throw StoreError(
          .denied, "the symbolic link belongs to user \(status.owner), who decides where it leads", place: link.string,
          cure: "give the path of the file that it points to")
      }
      path = target.isAbsolute ? target : folder.pushing(target)
    }
    throw StoreError(errno: ELOOP, "follow the links", place: path)
  }

  /// As many links as the kernel follows: path_resolution(7).
  private static let mostLinks = 40

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

/// Questions about files that need no error.
enum FileFacts {
  /// Whether there is surely nothing: what cannot be looked at may be there.
  static func isAbsent(_ path: FilePath) -> Bool {
    path.withPlatformString { access($0, F_OK) } != 0 && [ENOENT, ENOTDIR].contains(errno)
  }
  static func exists(_ path: FilePath) -> Bool { path.withPlatformString { access($0, F_OK) } == 0 }
}

/// Files that hold no secret, named on the command line.
enum PlainFile {
  /// The content of the file at `path`, or of standard input for `-`.
  ///
  /// - Throws: `.tooLarge` past `limit` bytes, so that `/dev/zero` ends too.
  static func read(_ path: String, limit: Int) throws -> Data {
    let isInput = path == "-"
    if !isInput { try GivenPath.check(path) }
    let place = FilePath(isInput ? "standard input" : path)
    let descriptor = isInput ? STDIN_FILENO : coffer_open(path, O_RDONLY | O_CLOEXEC, 0)
    guard descriptor >= 0 else {
      guard errno != ENOENT else { throw StoreError(.io(ENOENT), "the file is not there", place: path, cure: "check the path") }
      throw StoreError(errno: errno, "open the file", place: place)
    }
    defer { if !isInput { close(descriptor) } }
    return try content(of: descriptor, limit: limit, place)
  }

  /// The content of the file at `path`, which nobody but this user and root can have written; nil where nothing is there.
  ///
  /// - Parameter name: what it is called in an error.
  /// - Throws: `.denied` for one that another user owns or could write, and for a link; `.tooLarge` past `limit` bytes.
  static func readOwn(_ path: FilePath, as name: String, limit: Int) throws -> Data? {
    // Another one's pipe is not waited at.
    let descriptor = path.withPlatformString { coffer_open($0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0) }
    guard descriptor >= 0 else {
      let code = errno
      guard code != ENOENT, code != ENOTDIR else { return nil }
      guard code != ELOOP else { throw denied("the \(name) is a symbolic link", path, "put the file itself in its place") }
      throw StoreError(errno: code, "open the \(name)", place: path)
    }
    defer { close(descriptor) }
    // Of what is open, and not of what stands at the path by then.
    let status = try FileStatus(of: descriptor, place: path)
    guard status.isRegular else { throw denied("the \(name) is no file", path, "remove what stands in its place") }
    guard status.owner == geteuid() || status.owner == 0 else {
      throw denied("the \(name) belongs to user \(status.owner), who decides what it says", path, "run it as that user")
    }
    guard status.permissions & 0o022 == 0 else {
      throw denied(
        "the \(name) can be written by others than its owner", path, "if you trust what it says, run chmod go-w \(path.quoted)")
    }
    return try content(of: descriptor, limit: limit, path)
  }

  private static func denied(_ what: String, _ path: FilePath, _ cure: String) -> StoreError {
    StoreError(.denied, what, place: path.string, cure: cure)
  }

  private static func content(of descriptor: Int32, limit: Int, _ place: FilePath) throws -> Data {
    var data = Data()
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = chunk.withUnsafeMutableBytes { SecretReader.readOnce(descriptor, $0.baseAddress, $0.count) }
      guard count >= 0 else { throw StoreError(errno: errno, "read the file", place: place) }
      guard count > 0 else { return data }
      data.append(contentsOf: chunk.prefix(count))
      guard data.count <= limit else {
        throw StoreError(
          .tooLarge(limit: limit), "the file is over \(limit) bytes", place: place.string,
          cure: "give a smaller one; nothing was changed")
      }
    }
  }

  /// Makes `bytes` the content of the file at `path`, in one step; where that is a link, of the file that it leads to. A pipe, a
  /// device or a descriptor of this process is written through.
  ///
  /// - Throws: `.denied` for a link that another user than this one or root can have led there.
  static func write(_ bytes: RawSpan, to path: String) throws {
    try GivenPath.check(path)
    let isGiven = GivenPath.descriptor(of: path) != nil
    let place = FilePath(path)
    let file = isGiven ? place : try GivenPath.throughOwnLinks(place)
    let there = try FileStatus(at: place)
    if !isGiven, there?.isRegular ?? true {
      return try AtomicFile(file).replace(with: bytes, mode: there.map { $0.permissions & 0o777 } ?? 0o600)
    }
    let descriptor = coffer_open(path, O_WRONLY | (isGiven ? O_TRUNC : 0) | O_CLOEXEC, 0)
    guard descriptor >= 0 else { throw StoreError(errno: errno, "open the file", place: place) }
    defer { close(descriptor) }
    // What was looked at may have been replaced since, and a file is written in one step or not at all.
    guard try isGiven || !FileStatus(of: descriptor, place: place).isRegular else {
      throw StoreError(.busy, "a file took the place of a pipe or a device just now", place: path, cure: "try again")
    }
    try bytes.withUnsafeBytes { (raw) throws(Failure) in try Output.write(raw, to: descriptor) }
  }
}

/// A file with secrets in the clear, because a program wants it so.
enum SecretOutputFile {
  /// Makes `content` the file at `path`, for its owner alone, in one step. A pipe or a device is written through.
  ///
  /// - Throws: `.denied` for a link to a file, which one step can only replace, and for a pipe or a device of another user.
  static func write(_ content: borrowing SecretBytes, to path: String) throws {
    try GivenPath.check(path)
    var link = stat()
    var facts = stat()
    let isThere = lstat(path, &link) == 0
    let leadsToFile = stat(path, &facts) != 0 || facts.st_mode & S_IFMT == S_IFREG
    if isThere, link.st_mode & S_IFMT == S_IFLNK, leadsToFile {
      throw StoreError(
        .denied, "the output is a symbolic link", place: path, cure: "give the path of the file that it points to")
    }
    guard isThere, !leadsToFile else {
      return try content.withBytes { (bytes) throws(StoreError) in
        try AtomicFile(FilePath(path)).replace(with: bytes, mode: 0o600)
      }
    }
    let isGiven = GivenPath.descriptor(of: path) != nil
    // Another user's pipe is not waited at: whoever made it may have done so to read there.
    guard isGiven || mayWrite(facts.st_mode, owner: facts.st_uid, user: geteuid()) else { throw foreign(path) }
    let descriptor = coffer_open(path, O_WRONLY | O_CLOEXEC, 0)
    guard descriptor >= 0 else { throw StoreError(errno: errno, "open the output", place: FilePath(path)) }
    defer { close(descriptor) }
    // What was looked at may have been replaced since.
    guard fstat(descriptor, &facts) == 0 else { throw StoreError(errno: errno, "look at the output", place: FilePath(path)) }
    guard isGiven || mayWrite(facts.st_mode, owner: facts.st_uid, user: geteuid()) else { throw foreign(path) }
    try content.withUnsafeBytes { (raw) throws(Failure) in try Output.write(raw, to: descriptor) }
  }

  /// Whether `user` may write secrets through what is no file in one step and belongs to `owner`: into a pipe or a device of
  /// their own or of root, such as /dev/null. A file that has come there meanwhile would be written without a step.
  static func mayWrite(_ mode: mode_t, owner: uid_t, user: uid_t) -> Bool {
    mode & S_IFMT != S_IFREG && (owner == user || owner == 0)
  }

  private static func foreign(_ path: String) -> StoreError {
    StoreError(
      .denied, "the output is no file, and belongs to another user, who could read there", place: path,
      cure: "a pipe of your own, or the path of a file")
  }
}
