internal import Synchronization
package import SystemPackage

/// Reports when files of a folder may have changed: written, replaced, renamed, made or removed, by any process of this
/// machine.
///
/// It watches the folder and not the files: a file replaced by rename is another inode, and a missing one has none. It
/// reports neither changes by other machines to a remote file system nor stores into a shared mapping.
package enum DirectoryWatch {
  /// The notice of a watch. It does not say what happened, so that later changes cannot mislead its receiver, which looks.
  package enum Notice: Sendable {
    /// One of the files may have changed, or the system lost events.
    case changed
    /// The folder was removed or moved away: no more notices come.
    case lost
  }

  /// Calls `receive` on a thread that all watches share, on which it must not wait, until the subscription is cancelled or
  /// released.
  ///
  /// - Parameter names: the files of `folder` that count. Events of others cost a few microseconds each.
  /// - Throws: ``StoreError/Kind/io(_:)`` at the system's limits, `.notFound` if there is no such folder, `.denied`.
  package static func start(
    _ folder: FilePath, names: Set<String>, _ receive: @escaping @Sendable (Notice) -> Void
  ) throws(StoreError) -> Subscription {
    #if canImport(Darwin)
      try FolderSource.start(folder, names: names, receive)
    #else
      try Inotify.watch(folder, Inotify.Watcher(names: names, receive: receive))
    #endif
  }

  static func failure(_ code: Int32, _ folder: FilePath) -> StoreError {
    let error = StoreError(errno: code, "watch the folder", place: folder)
    let cure: String
    switch Errno(rawValue: code) {
    case .noSpace: cure = "raise the number of watches: sysctl fs.inotify.max_user_watches"
    case .tooManyOpenFiles: cure = "raise fs.inotify.max_user_instances, or this process's limit on open files"
    case .noSuchFileOrDirectory, .notDirectory:
      return StoreError(.notFound, error.what, place: error.place, cure: "make the folder first", underlying: error.underlying)
    default: return error
    }
    return StoreError(.io(code), error.what, place: error.place, cure: cure, underlying: error.underlying)
  }
}

/// Keeps something running until it is cancelled or released.
public final class Subscription: Sendable {
  private let onCancel: Mutex<(@Sendable () -> Void)?>

  /// Runs `onCancel` once: at the first ``cancel()``, else on release.
  public init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = Mutex(onCancel) }

  /// Ends it. A delivery that has begun on another thread is completed.
  public func cancel() { onCancel.withLock { $0.take() }?() }

  deinit { cancel() }
}
