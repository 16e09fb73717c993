internal import CofferPlatform
internal import SystemPackage

/// A user's turn to run Argon2id: ten shells unlocking at once would take ten times its memory, and the kernel would kill
/// one (cryptsetup added such a lock for the same reason).
///
/// Without a folder, or after the wait, the caller continues without the lock.
enum PassphraseTurn {
  /// The time of some 60 unlocks. A holder that takes longer is stopped, not working.
  static let patience = Duration.seconds(30)
  private static let pause: UInt64 = 5_000_000
  private static let name: FilePath.Component = "argon2.lock"

  /// - Parameter folder: created if missing; nil takes no turns.
  static func take<Result: ~Copyable>(
    in folder: FilePath?, patience: Duration = patience, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let descriptor = folder.flatMap { waited(in: $0, patience) }
    // Closing the file releases its lock.
    defer { if let descriptor { close(descriptor) } }
    try Waiting.checkGoesOn(at: folder?.string ?? "")
    return try body()
  }

  private static func waited(in folder: FilePath, _ patience: Duration) -> Int32? {
    do throws(StoreError) {
      let descriptor = try open(folder)
      wait(for: descriptor, patience, folder)
      return descriptor
    } catch {
      VaultNotices.say("several unlocks may run at once, as their lock file cannot be used: \(error.facts)")
      return nil
    }
  }

  private static func open(_ folder: FilePath) throws(StoreError) -> Int32 {
    let path = try TrustedPath.makePrivateFolder(folder).appending(name)
    let opened = path.withPlatformString { coffer_open($0, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600) }
    guard opened >= 0 else { throw StoreError(errno: errno, "open the lock file", place: path) }
    return opened
  }

  private static func wait(for descriptor: Int32, _ patience: Duration, _ folder: FilePath) {
    let deadline = LockDeadline(after: patience)
    while coffer_ofd_lock(descriptor, true) != 0, errno == EAGAIN || errno == EACCES || errno == EINTR {
      guard !Waiting.isOver else { return }
      guard !deadline.isOver else {
        VaultNotices.say(
          "another unlock has held \(folder.appending(name)) for \(patience.components.seconds) s; going on without it")
        return
      }
      DetachedThread.sleep(pause)
    }
  }
}
