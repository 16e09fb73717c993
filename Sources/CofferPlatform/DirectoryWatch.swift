internal import Synchronization
package import SystemPackage

/// Reports possible changes of a folder's files by any process of this machine.
///
/// It watches the folder and not the files: a file replaced by rename is another inode, and a missing one has none. Changes
/// by other machines to a remote file system and stores into a shared mapping are not reported.
package enum DirectoryWatch {
  /// A notice. It does not say what happened: its receiver looks, and later changes cannot mislead it.
  package enum Notice: Sendable {
    /// One of the files may have changed, or the system lost events.
    case changed
    /// The folder was removed or moved away: no more notices come.
    case lost
  }

  /// Calls `receive` on a thread shared by all watches, on which it must not wait, until the subscription is canceled or
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

/// Keeps something running until it is canceled or released.
public final class Subscription: Sendable {
  private let onCancel: Mutex<(@Sendable () -> Void)?>

  /// Runs `onCancel` once: at the first ``cancel()``, else on release.
  public init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = Mutex(onCancel) }

  /// Ends it. A delivery that has begun on another thread is completed.
  public func cancel() { onCancel.withLock { $0.take() }?() }

  deinit { cancel() }
}
