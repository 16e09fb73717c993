internal import Coffer
internal import CofferPlatform

/// A secret as a file that is in memory alone: it has no name, nobody can change it, and it is gone with the last process that has
/// it open. Source: memfd_create(2). Its pages may be swapped out, as those of any program that reads the secret may.
final class MemoryFile {
  let descriptor: Int32

  /// - Parameter floor: the lowest number that the descriptor may have, so that it is in no target's way.
  init(_ secret: borrowing SecretBytes, above floor: Int32) throws {
    let made = coffer_memory_file("coffer")
    guard made >= 0 else { throw StoreError(errno: errno, "make a file in memory", place: "memory") }
    descriptor = fcntl(made, F_DUPFD_CLOEXEC, floor)
    let moved = errno
    close(made)
    guard descriptor >= 0 else { throw StoreError(errno: moved, "make a file in memory", place: "memory") }
    try secret.withUnsafeBytes { (raw) throws(Failure) in try Output.write(raw, to: descriptor) }
    guard coffer_seal_memory_file(descriptor) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
      throw StoreError(errno: errno, "seal a file in memory", place: "memory")
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }
}
