internal import Coffer
internal import CofferVault
internal import CofferPlatform

/// Reads secrets from descriptors straight into guarded memory: no buffer of the language or of the C library sees them.
enum SecretReader {
  /// Bytes of a passphrase, at most: what a vault takes.
  static let largestPassphrase = 1024
  /// Bytes of a key file beside a passphrase, at most: a photo fits, a disk image does not.
  static let largestKeyFile = 1 << 20
  /// Bytes of a recovery code or an identity with its comment lines, at most.
  static let largestToken = 4096
  /// Bytes of a value, at most: what a vault takes.
  static let largestValue = VaultItem.largestValue

  /// Everything that `descriptor` delivers, whose number the command line names. A number that was not open when the program started may by
  /// now be that of a file of its own, such as the vault, which must not become a value.
  static func given(_ descriptor: Int32, limit: Int, what: String, place: String) throws -> SecretBytes {
    guard Hardening.wasGiven(descriptor) else { throw notOpen(descriptor) }
    return try read(descriptor, limit: limit, what: what, place: place)
  }

  private static func notOpen(_ descriptor: Int32) -> Failure {
    .usage("descriptor \(descriptor) is not open for reading", try: "N<FILE in the shell")
  }

  /// Everything that `descriptor` delivers.
  ///
  /// - Throws: `.tooLarge` as a usage failure past `limit` bytes, so that `/dev/zero` ends too.
  static func read(_ descriptor: Int32, limit: Int, what: String, place: String) throws -> SecretBytes {
    var buffer = try SecretBytes(zeros: min(limit + 1, expectedSize(descriptor) + 1))
    var count = 0
    while true {
      let capacity = buffer.count
      let got = buffer.withUnsafeMutableBytes { readOnce(descriptor, $0.baseAddress.map { $0 + count }, capacity - count) }
      guard got >= 0 else {
        if errno == EBADF { throw notOpen(descriptor) }
        throw Failure(StoreError(errno: errno, "read \(what)", place: FilePath(place)))
      }
      count += got
      guard got > 0 else { return try buffer.prefix(count) }
      guard count == capacity else { continue }
      guard count <= limit else {
        throw Failure(
          StoreError(
            .tooLarge(limit: limit), "\(what) is larger than \(limit) bytes", place: place, cure: "store something smaller"))
      }
      buffer = try grown(buffer, to: min(limit + 1, capacity * 2))
    }
  }

  /// The content of the file at `path`. The owner is told of a file that others can read.
  static func file(_ path: String, limit: Int, what: String, context: Context) throws -> SecretBytes {
    try GivenPath.check(path)
    let descriptor = coffer_open(path, O_RDONLY | O_CLOEXEC, 0)
    guard descriptor >= 0 else {
      guard errno != ENOENT else {
        throw Failure(StoreError(.io(ENOENT), "\(what) is not there", place: path, cure: "check the path"))
      }
      throw Failure(StoreError(errno: errno, "open \(what)", place: FilePath(path)))
    }
    defer { close(descriptor) }
    var facts = stat()
    if fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_mode & 0o077 != 0 {
      context.note("\(path) can be read by other users; chmod 600 closes it")
    }
    return try read(descriptor, limit: limit, what: what, place: path)
  }

  private static let firstGuess = 4096

  private static func expectedSize(_ descriptor: Int32) -> Int {
    var facts = stat()
    guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return firstGuess }
    return max(1, Int(facts.st_size))
  }

  private static func grown(_ bytes: borrowing SecretBytes, to capacity: Int) throws -> SecretBytes {
    var larger = try SecretBytes(zeros: capacity)
    bytes.withUnsafeBytes { old in larger.withUnsafeMutableBytes { $0.copyMemory(from: old) } }
    return larger
  }

  /// `read(2)`, again when a signal came in between.
  static func readOnce(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    var got: Int
    repeat {
      got = systemRead(descriptor, buffer, count)
    } while got < 0 && (errno == EINTR || (errno == EAGAIN && isWaitedFor(descriptor)))
    return got
  }

  // Whoever opened the descriptor may have made it non-blocking; a secret is worth waiting for.
  private static func isWaitedFor(_ descriptor: Int32) -> Bool {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&waiting, 1, -1) >= 0 || errno == EINTR
  }
}

/// Standard input serves one purpose in a command: what is read twice is empty the second time, and an empty passphrase or
/// value would be the result.
final class StandardInput {
  private var owner: String?

  /// Reserves standard input for `what`, before anything is read from it.
  func claim(for what: String) throws(Failure) {
    if let owner {
      throw .usage("both \(owner) and \(what) would come from standard input", try: "a file or a descriptor for one of them")
    }
    owner = what
  }
}
