package import CofferMemory
package import CofferPlatform
internal import CofferVaultFormat
package import SystemPackage

/// Reads secrets from files and descriptors straight into guarded memory, past the buffers of the language and the C
/// library.
package enum SecretFile {
  /// In bytes: the limit of a vault.
  package static let largestPassphrase = 1024
  /// In bytes: a photo fits, a disk image does not.
  package static let largestKey = KeyFile.largest
  /// In bytes: a recovery code with its comment lines.
  package static let largestToken = 4096
  /// In bytes: an identity with the maximum number of invitations.
  package static let largestIdentity = 16_384

  /// The content of the file at `path`. A file that others can read is noted in the log `coffer`. Waits for a named pipe:
  /// see open(2).
  ///
  /// - Parameter warning: whether the mode shows who can read the file. With an access list, the group's bits are the list's
  ///   mask.
  /// - Throws: `.io(ENOENT)` if there is none, `.denied`, and the errors of ``read(_:limit:what:)``.
  package static func content(of path: FilePath, limit: Int, what: String, warning: Bool = true) throws(StoreError) -> SecretBytes
  {
    let descriptor = coffer_open(path.string, O_RDONLY | O_CLOEXEC, 0)
    guard descriptor >= 0 else {
      guard errno != ENOENT else {
        throw StoreError(.io(ENOENT), "\(what) does not exist", place: path.string, cure: "check the path")
      }
      throw StoreError(errno: errno, "open \(what)", place: path)
    }
    defer { close(descriptor) }
    var facts = stat()
    if warning, fstat(descriptor, &facts) == 0 { warn(path, facts) }
    return try read(descriptor, limit: limit, what: what, place: path.string)
  }

  package static func warn(ofFileAt path: FilePath) {
    var facts = stat()
    if path.withPlatformString({ stat($0, &facts) }) == 0 { warn(path, facts) }
  }

  private static func warn(_ path: FilePath, _ facts: stat) {
    guard facts.st_mode & S_IFMT == S_IFREG, facts.st_mode & 0o077 != 0 else { return }
    Notices.warn("\(path) can be read by other users; run chmod 600")
  }

  /// Everything that `descriptor` delivers.
  ///
  /// - Throws: `.tooLarge` past `limit` bytes, which ends `/dev/zero` too; `.io` if it is not readable.
  package static func read(_ descriptor: Int32, limit: Int, what: String, place: String) throws(StoreError) -> SecretBytes {
    // The minimum first: a file may claim the largest possible size, and the sum would overflow.
    var buffer = try empty(min(limit, expectedSize(descriptor)) + 1)
    var count = 0
    while true {
      let capacity = buffer.count
      let got = buffer.withUnsafeMutableBytes { readOnce(descriptor, $0.baseAddress.map { $0 + count }, capacity - count) }
      guard got >= 0 else { throw StoreError(errno: errno, "read \(what)", place: FilePath(place)) }
      count += got
      guard got > 0 else { return try first(count, of: buffer) }
      guard count == capacity else { continue }
      guard count <= limit else {
        throw StoreError(
          .tooLarge(limit: limit), "\(what) is larger than \(limit) bytes", place: place, cure: "store a smaller value")
      }
      buffer = try grown(buffer, to: min(limit + 1, capacity * 2))
    }
  }

  private static func first(_ count: Int, of bytes: borrowing SecretBytes) throws(StoreError) -> SecretBytes {
    do { return try bytes.prefix(count) } catch { throw StoreError(memory: error) }
  }

  private static let firstGuess = 4096

  private static func expectedSize(_ descriptor: Int32) -> Int {
    var facts = stat()
    guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return firstGuess }
    return max(1, Int(facts.st_size))
  }

  private static func empty(_ count: Int) throws(StoreError) -> SecretBytes {
    do { return try SecretBytes(zeros: count) } catch { throw StoreError(memory: error) }
  }

  private static func grown(_ bytes: borrowing SecretBytes, to capacity: Int) throws(StoreError) -> SecretBytes {
    var larger = try empty(capacity)
    bytes.withUnsafeBytes { old in larger.withUnsafeMutableBytes { $0.copyMemory(from: old) } }
    return larger
  }

  /// `read(2)`, repeated after a signal.
  package static func readOnce(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    var got: Int
    repeat {
      got = systemRead(descriptor, buffer, count)
    } while got < 0 && (errno == EINTR || (errno == EAGAIN && isWaitedFor(descriptor)))
    return got
  }

  // The descriptor's opener may have made it non-blocking; a secret is worth waiting for.
  private static func isWaitedFor(_ descriptor: Int32) -> Bool {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&waiting, 1, -1) >= 0 || errno == EINTR
  }
}
