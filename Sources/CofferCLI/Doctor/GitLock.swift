internal import Coffer
internal import CofferPlatform
internal import CofferTerminal
internal import SystemPackage

/// The lock that git's `store` holds from reading its file to replacing it. Under the lock no line of git's is lost, and no
/// removed line comes back. Signals that would leave the lock behind wait meanwhile.
///
/// Source: `lockfile.h` and `builtin/credential-store.c` of github.com/git/git.
struct GitLock: ~Copyable {
  private let file: FilePath
  private let signals: HeldSignals

  private init(_ file: FilePath, _ signals: consuming HeldSignals) {
    self.file = file
    self.signals = signals
  }

  /// Locks the file at `path`, which is no symbolic link: git follows one first.
  ///
  /// - Throws: `.conflict` if git has the lock; `.io`, `.denied` if none can be made.
  static func take(_ path: FilePath) throws -> GitLock {
    let signals = HeldSignals([SIGINT, SIGTERM, SIGHUP, SIGQUIT])
    let file = FilePath(path.string + ".lock")
    let descriptor = coffer_open(file.string, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      guard errno == EEXIST else { throw StoreError(errno: errno, "make git's lock", place: file) }
      throw StoreError(
        .conflict, "git is writing to the file", place: path.string,
        cure: "coffer doctor --fix again; where no git runs, one that was killed left \(file.string): remove it first")
    }
    close(descriptor)
    return GitLock(file, signals)
  }

  consuming func end() {}

  deinit { file.withPlatformString { _ = unlink($0) } }
}
