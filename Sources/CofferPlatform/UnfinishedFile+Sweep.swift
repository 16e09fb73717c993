internal import FoundationEssentials
package import SystemPackage

// What processes that died left under the name that a file has before it takes the place of another.
extension UnfinishedFile {
  static let suffix = ".coffer-unfinished"

  /// Removes what dead processes of this user left in `folder`. One that cannot be removed stays: `doctor` tells of it.
  static func sweep(_ folder: FilePath, _ calls: SystemCalls) {
    // While the lock is held, so that nobody else takes the name for dead at the same time.
    for path in names(in: folder) { whileAbandoned(path, calls) { _ = calls.unlink(path.string) } }
  }

  /// The files of this user in `folder` that no process works on any more.
  static func abandoned(in folder: FilePath) -> [FilePath] {
    var found: [FilePath] = []
    for path in names(in: folder) { whileAbandoned(path, SystemCalls()) { found.append(path) } }
    return found
  }

  private static func names(in folder: FilePath) -> [FilePath] {
    let entries: [String]
    do { entries = try FileManager.default.contentsOfDirectory(atPath: folder.string) } catch { return [] }
    return entries.filter { $0.hasPrefix(".") && $0.hasSuffix(suffix) }.sorted().map { folder.appending($0) }
  }

  /// Runs `body` with the lock of the file at `path`, where its maker does not hold it. Without locks nobody can tell, and it is not run.
  private static func whileAbandoned(_ path: FilePath, _ calls: SystemCalls, _ body: () -> Void) {
    let descriptor = calls.open(path.string, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var facts = stat()
    guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_uid == geteuid(),
      calls.lock(descriptor, LOCK_EX | LOCK_NB) == 0, isStill(descriptor, path)
    else { return }
    body()
  }

  /// Whether `path` names the open file.
  static func isStill(_ descriptor: Int32, _ path: FilePath) -> Bool {
    var opened = stat(), named = stat()
    guard fstat(descriptor, &opened) == 0, path.withPlatformString({ lstat($0, &named) }) == 0 else { return false }
    return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino
  }
}

extension AtomicFile {
  /// The files in `folder` that commands of this user were about to put in the place of others when they died. Nothing is changed.
  package static func abandoned(in folder: FilePath) -> [FilePath] { UnfinishedFile.abandoned(in: folder) }
}
