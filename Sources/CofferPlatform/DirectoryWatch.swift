internal import Synchronization
package import SystemPackage

/// Tells when files of a folder may have changed: written, replaced, renamed, made or removed, by any process of this machine.
///
/// The folder is watched and not the files: a file that is replaced by rename is another inode, and one that is not there yet has
/// none. Changes made on other machines to a remote file system are not told, nor are stores into a shared mapping.
package enum DirectoryWatch {
  /// The notice of a watch. It never says what happened, so that its receiver looks, and cannot be misled by later changes.
  package enum Notice: Sendable {
    /// One of the files may have changed, or the system lost count of what did.
    case changed
    /// The folder was removed or moved away: nothing more comes.
    case lost
  }

  /// Calls `receive` on a thread of all watches, on which it must not wait, until the subscription is cancelled or released.
  ///
  /// - Parameter names: the files of `folder` that count. The others' events cost a few microseconds each.
  /// - Throws: ``StoreError/Kind/io(_:)`` where the system's limits are reached, `.notFound` where there is no such folder,
  ///   `.denied`.
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

/// Keeps something going until it is cancelled or released.
public final class Subscription: Sendable {
  private let onCancel: Mutex<(@Sendable () -> Void)?>

  /// Runs `onCancel` once: at the first ``cancel()``, else when this is released.
  public init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = Mutex(onCancel) }

  /// Ends it. A delivery that has begun on another thread goes on to its end.
  public func cancel() { onCancel.withLock { $0.take() }?() }

  deinit { cancel() }
}
