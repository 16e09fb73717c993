package import Coffer
internal import CofferPlatform
internal import FoundationEssentials
package import SystemPackage

/// A secret as a nameless, immutable file in memory, which is gone once no process has it open. Source: memfd_create(2). Its
/// pages may be swapped out, like those of any program that reads the secret.
package final class MemoryFile {
  package let descriptor: Int32

  /// - Parameter floor: the least descriptor, above those of targets.
  package init(_ secret: borrowing SecretBytes, above floor: Int32) throws {
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

/// A private folder in memory for an editor. Editors put copies beside the edited file: these are wiped with it.
package final class MemoryFolder {
  package static let prefix = "coffer-edit-"
  /// Magic numbers of statfs(2): tmpfs and ramfs.
  private static let inMemory: Set<Int64> = [0x0102_1994, 0x8584_58F6]

  package let path: FilePath
  /// Holds the folder's lock: its maker lives.
  private let descriptor: Int32

  /// Wipes the folders of killed makers, and makes one.
  ///
  /// - Throws: `.refused` if no file system is in memory.
  package init(_ places: Places) throws {
    for folder in Self.abandoned(places) { Self.wipe(folder) }
    guard let parent = Self.parents(places).first(where: Self.isInMemory) else {
      throw StoreError(
        .refused, "there is no in-memory file system to edit on, and secrets are not written to disk",
        cure: "set XDG_RUNTIME_DIR to a folder on tmpfs; or store the new value with coffer set")
    }
    var name = Array(parent.appending(Self.prefix + "XXXXXX").string.utf8CString)
    guard mkdtemp(&name) != nil else { throw StoreError(errno: errno, "make a folder to edit in", place: parent) }
    path = FilePath(platformString: name)
    descriptor = path.withPlatformString { coffer_open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) }
    // Before anything is in it. Another command that looks at it holds the lock for a moment.
    guard descriptor >= 0, flock(descriptor, LOCK_EX) == 0 else {
      throw StoreError(errno: errno, "lock the folder to edit in", place: path)
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Folders with content that this user's dead makers have left.
  package static func abandoned(_ places: Places) -> [FilePath] {
    Set(parents(places)).flatMap { parent -> [FilePath] in
      do {
        return try FileManager.default.contentsOfDirectory(atPath: parent.string).filter { $0.hasPrefix(prefix) }
          .map { parent.appending($0) }.filter(isAbandoned)
      } catch { return [] }
    }
  }

  private static func isAbandoned(_ folder: FilePath) -> Bool {
    let descriptor = folder.withPlatformString { coffer_open($0, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0) }
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var facts = stat()
    guard fstat(descriptor, &facts) == 0, facts.st_uid == geteuid(), flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      return false
    }
    do { return try !FileManager.default.contentsOfDirectory(atPath: folder.string).isEmpty } catch { return false }
  }

  static func parents(_ places: Places) -> [FilePath] {
    [places.run, ProcessEnvironment.value("XDG_RUNTIME_DIR").map { FilePath($0) }, FilePath("/dev/shm")].compactMap(\.self)
  }

  private static func isInMemory(_ folder: FilePath) -> Bool {
    let descriptor = folder.withPlatformString { coffer_open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) }
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    let isWritable = folder.withPlatformString { access($0, W_OK) } == 0
    return isWritable && inMemory.contains(coffer_filesystem_type(descriptor))
  }

  package func wipe() { Self.wipe(path) }

  private static func wipe(_ path: FilePath) {
    do {
      for file in try FileManager.default.subpathsOfDirectory(atPath: path.string) { Self.overwrite(path.appending(file)) }
      try FileManager.default.removeItem(atPath: path.string)
    } catch {
      Output.message("coffer: note: \(path) could not be removed; its content was overwritten")
    }
  }

  private static func overwrite(_ file: FilePath) {
    let descriptor = file.withPlatformString { coffer_open($0, O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0) }
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var facts = stat()
    guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_size > 0 else { return }
    let zeros = [UInt8](repeating: 0, count: Int(facts.st_size))
    zeros.span.bytes.withUnsafeBytes { raw in do throws(Failure) { try Output.write(raw, to: descriptor) } catch {} }
  }
}
