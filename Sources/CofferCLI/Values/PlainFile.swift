internal import Coffer
internal import CofferPlatform
internal import FoundationEssentials

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

  /// Makes `bytes` the content of the file at `path`. A pipe, a device or a link is written through, and not replaced.
  static func write(_ bytes: RawSpan, to path: String) throws {
    try GivenPath.check(path)
    var facts = stat()
    let isThere = lstat(path, &facts) == 0
    if !isThere || facts.st_mode & S_IFMT == S_IFREG {
      let mode = isThere ? UInt32(facts.st_mode & 0o777) : 0o600
      return try AtomicFile(FilePath(path)).replace(with: bytes, mode: mode)
    }
    let descriptor = coffer_open(path, O_WRONLY | O_TRUNC | O_CLOEXEC, 0)
    guard descriptor >= 0 else { throw StoreError(errno: errno, "open the file", place: FilePath(path)) }
    defer { close(descriptor) }
    try bytes.withUnsafeBytes { (raw) throws(Failure) in try Output.write(raw, to: descriptor) }
  }
}
