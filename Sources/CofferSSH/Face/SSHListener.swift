internal import CofferAgent
internal import CofferClient
package import CofferPlatform
package import SystemPackage

/// A socket on which programs ask for keys.
package struct SSHListener: ~Copyable {
  package let path: FilePath
  let descriptor: Int32
  /// The file that this listener has made.
  private let file: FileStatus?

  /// As many as the agent of OpenSSH lets wait.
  private static let backlog: Int32 = 128
  /// Milliseconds for a stopped agent to take a connection.
  private static let patience: Int32 = 2000

  /// Listens at `path`, whose missing folders are made for this user alone. A socket without a listener is replaced.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/alreadyExists`` if a program listens there, or for a file of another kind;
  ///   ``/CofferPlatform/StoreError/Kind/denied`` if other users can replace it; `.io`.
  package init(at path: FilePath) throws(StoreError) {
    guard let name = path.lastName else {
      throw StoreError(.refused, "the path names no file", place: path.string, cure: "give the path of a socket")
    }
    if try FileStatus(at: path.folder) == nil { _ = try TrustedPath.makePrivateFolder(path.folder) }
    let folder = try TrustedPath.resolve(path.folder)
    let socket = folder.appending(name)
    try TrustedPath.checkParents(of: socket)
    // Another process of this user may find the same socket without a listener.
    let turn = folder.withPlatformString { coffer_open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) }
    guard turn >= 0 else { throw StoreError(errno: errno, "open the folder", place: folder) }
    defer { close(turn) }
    // A program that can open a folder can hold its lock.
    if try FileStatus(of: turn, place: folder).permissions & 0o077 == 0 {
      try FileLock.acquire(turn, SystemCalls(), place: folder) { nil }
    }
    try Self.removeStale(socket)
    let descriptor = socket.withPlatformString { coffer_local_listen($0, Self.backlog) }
    guard descriptor >= 0 else { throw StoreError(errno: errno, "listen for programs", place: socket) }
    do throws(StoreError) {
      guard socket.withPlatformString({ chmod($0, 0o600) }) == 0 else {
        throw StoreError(errno: errno, "close the socket to other users", place: socket)
      }
      file = try FileStatus(ofLinkAt: socket)
    } catch {
      close(descriptor)
      throw error
    }
    (self.path, self.descriptor) = (socket, descriptor)
  }

  private static func removeStale(_ socket: FilePath) throws(StoreError) {
    guard let there = try FileStatus(ofLinkAt: socket) else { return }
    guard there.mode & UInt32(S_IFMT) == UInt32(S_IFSOCK) else {
      throw StoreError(.alreadyExists, "a file is there, and no socket", place: socket.string, cure: "choose another path")
    }
    let probe = socket.withPlatformString { coffer_local_connect($0, patience) }
    if probe >= 0 { close(probe) }
    guard probe < 0, errno == ECONNREFUSED else {
      throw StoreError(
        .alreadyExists, "an agent of ssh listens there", place: socket.string,
        cure: "end it, or choose another path with --socket")
    }
    guard socket.withPlatformString({ unlink($0) }) == 0 || errno == ENOENT else {
      throw StoreError(errno: errno, "remove a stale socket", place: socket)
    }
  }

  /// The first descriptor that a service manager passes: sd_listen_fds(3).
  package static let firstPassed: Int32 = 3

  /// Takes a listening socket from a service manager, which keeps its file.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/io(_:)`` if `descriptor` is no listening local socket.
  package init(passed descriptor: Int32, path: FilePath) throws(StoreError) {
    var listens: Int32 = 0, size = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0, listens != 0,
      fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0, fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0
    else {
      throw StoreError(
        .io(errno), "descriptor \(descriptor) is no socket that listens", place: path.string, cure: "check the socket's unit")
    }
    (self.path, self.descriptor, file) = (path, descriptor, nil)
  }

  /// Removes the name, unless it names another socket by now.
  func removeName() {
    do throws(StoreError) {
      guard let file, let there = try FileStatus(ofLinkAt: path), there.isSameFile(as: file) else { return }
      _ = path.withPlatformString { unlink($0) }
    } catch { return }  // The name is gone already.
  }

  deinit { close(descriptor) }
}
