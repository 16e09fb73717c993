package import SystemPackage

/// An exclusive lock of an open file and not of a thread, so that it may be held across an `await`. It ends with this object
/// and with the process.
///
/// Source: fcntl(2), "Open file description locks".
package final class DescriptorLock: Sendable {
  private let descriptor: Int32
  private let owner = getpid()

  private init(descriptor: Int32) { self.descriptor = descriptor }

  /// A child that another thread is starting has a copy of the descriptor until its exec, which a close would wait for. A
  /// forked child that drops this object must not take the lock from its parent.
  deinit {
    if getpid() == owner { release() }
    close(descriptor)
  }

  /// Releases the lock even if others still hold this object.
  package func release() { _ = coffer_ofd_unlock(descriptor) }

  /// The lock of `path`, which is made if missing, unless `making` is false; nil while this or another process holds it.
  ///
  /// - Throws: ``StoreError`` `.denied`, `.readOnly`, `.noSpace`, `.io`.
  package static func take(_ path: FilePath, making: Bool = true) throws(StoreError) -> DescriptorLock? {
    let flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | (making ? O_CREAT : 0)
    let descriptor = path.withPlatformString { coffer_open($0, flags, 0o600) }
    guard descriptor >= 0 else { throw StoreError(errno: errno, "open the lock file", place: path) }
    let lock = DescriptorLock(descriptor: descriptor)
    guard coffer_ofd_lock(descriptor, true) == 0 else {
      guard errno == EAGAIN || errno == EACCES || errno == EINTR else {
        throw StoreError(errno: errno, "lock the file", place: path)
      }
      return nil
    }
    // A cleanup may have removed the file before it was locked: others then lock a new one.
    return lock.isStill(path) ? lock : nil
  }

  /// Whether `path` still names the locked file, so that others find it.
  package func isStill(_ path: FilePath) -> Bool { UnfinishedFile.isStill(descriptor, path) }
}
