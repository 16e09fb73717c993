internal import Coffer
internal import CofferPlatform

/// A file with secrets in the clear, because a program wants it so.
enum SecretOutputFile {
  /// Makes `content` the file at `path`, for its owner alone, in one step. A pipe or a device is written through.
  ///
  /// - Throws: `.denied` for a link to a file, which one step can only replace.
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
    let descriptor = coffer_open(path, O_WRONLY | O_CLOEXEC, 0)
    guard descriptor >= 0 else { throw StoreError(errno: errno, "open the output", place: FilePath(path)) }
    defer { close(descriptor) }
    try content.withUnsafeBytes { (raw) throws(Failure) in try Output.write(raw, to: descriptor) }
  }
}
