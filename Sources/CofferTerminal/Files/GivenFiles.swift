package import Coffer
internal import CofferPlatform
package import FoundationEssentials
package import SystemPackage

package enum FileFacts {
  /// Whether nothing is there for sure: an inaccessible file may exist.
  package static func isAbsent(_ path: FilePath) -> Bool {
    path.withPlatformString { access($0, F_OK) } != 0 && [ENOENT, ENOTDIR].contains(errno)
  }
  package static func exists(_ path: FilePath) -> Bool { path.withPlatformString { access($0, F_OK) } == 0 }
}

/// Files without secrets, named on the command line.
package enum PlainFile {
  /// The content of `path`, or of standard input for `-`.
  ///
  /// - Throws: `.tooLarge` past `limit` bytes, so that reading `/dev/zero` ends.
  package static func read(_ path: String, limit: Int) throws -> Data {
    let isInput = path == "-"
    if !isInput { try GivenPath.check(path) }
    let place = FilePath(isInput ? "standard input" : path)
    let descriptor = isInput ? STDIN_FILENO : coffer_open(path, O_RDONLY | O_CLOEXEC, 0)
    guard descriptor >= 0 else {
      guard errno != ENOENT else { throw StoreError(.io(ENOENT), "the file does not exist", place: path, cure: "check the path") }
      throw StoreError(errno: errno, "open the file", place: place)
    }
    defer { if !isInput { close(descriptor) } }
    return try content(of: descriptor, limit: limit, place)
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

  /// Replaces the content of a file, or of a link's target, in one step. Writes directly to a pipe, a device or a descriptor
  /// of this process.
  ///
  /// - Throws: `.denied` for a link that a user other than this one or root may have made.
  package static func write(_ bytes: RawSpan, to path: String) throws {
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
    // The file may have been replaced since the check, and a regular file is only written in one step.
    guard try isGiven || !FileStatus(of: descriptor, place: place).isRegular else {
      throw StoreError(.busy, "a file just replaced a pipe or a device", place: path, cure: "try again")
    }
    try bytes.withUnsafeBytes { (raw) throws(Failure) in try Output.write(raw, to: descriptor) }
  }
}

/// A file with plain secrets, for a program that needs it.
package enum SecretOutputFile {
  /// Writes `content` to a file for its owner alone, in one step, or directly to a pipe or a device.
  ///
  /// - Throws: `.denied` for a link to a file, which one step can only replace, and for a pipe or a device of another user.
  package static func write(_ content: borrowing SecretBytes, to path: String) throws {
    try GivenPath.check(path)
    var link = stat()
    var facts = stat()
    let isThere = lstat(path, &link) == 0
    let leadsToFile = stat(path, &facts) != 0 || facts.st_mode & S_IFMT == S_IFREG
    if isThere, link.st_mode & S_IFMT == S_IFLNK, leadsToFile {
      throw StoreError(.denied, "the output is a symbolic link", place: path, cure: "give the path of the file it points to")
    }
    guard isThere, !leadsToFile else {
      return try content.withBytes { (bytes) throws(StoreError) in
        try AtomicFile(FilePath(path)).replace(with: bytes, mode: 0o600)
      }
    }
    let isGiven = GivenPath.descriptor(of: path) != nil
    // Another user may have made the pipe to read it.
    guard isGiven || mayWrite(facts.st_mode, owner: facts.st_uid, user: geteuid()) else { throw foreign(path) }
    let descriptor = coffer_open(path, O_WRONLY | O_CLOEXEC, 0)
    guard descriptor >= 0 else { throw StoreError(errno: errno, "open the output", place: FilePath(path)) }
    defer { close(descriptor) }
    // It may have been replaced meanwhile.
    guard fstat(descriptor, &facts) == 0 else { throw StoreError(errno: errno, "look at the output", place: FilePath(path)) }
    guard isGiven || mayWrite(facts.st_mode, owner: facts.st_uid, user: geteuid()) else { throw foreign(path) }
    try content.withUnsafeBytes { (raw) throws(Failure) in try Output.write(raw, to: descriptor) }
  }

  /// Whether `user` may write secrets directly to a pipe or device of `owner`: their own or root's, such as /dev/null. A
  /// regular file would not be written in one step.
  package static func mayWrite(_ mode: mode_t, owner: uid_t, user: uid_t) -> Bool {
    mode & S_IFMT != S_IFREG && (owner == user || owner == 0)
  }

  private static func foreign(_ path: String) -> StoreError {
    StoreError(
      .denied, "the output is not a file and belongs to another user, who could read it", place: path,
      cure: "a pipe of your own, or the path of a file")
  }
}
