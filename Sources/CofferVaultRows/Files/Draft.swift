package import CofferPlatform
internal import FoundationEssentials
package import SystemPackage

/// A hidden name beside a new file, removed with its side files when this value dies.
///
/// A locked file beside it shows that its maker lives. The next draft in the folder, or the next write to the vault there,
/// removes the remains of a killed process. The database itself is not locked: closing a descriptor of it would drop SQLite's
/// locks (sqlite.org/howtocorrupt.html, 2.2).
package struct Draft: ~Copyable {
  private static let suffix = ".coffer-draft"
  private static let lockSuffix = "-lock"
  /// The lock is last, because it protects the others.
  private static let suffixes = ["", "-new"] + SideFiles.suffixes + [lockSuffix]

  package let path: FilePath
  private let lock: DescriptorLock

  package init(beside target: FilePath) throws(StoreError) {
    Self.sweep(target.folder)
    (path, lock) = try Self.name(beside: target)
  }

  private static func name(beside target: FilePath) throws(StoreError) -> (FilePath, DescriptorLock) {
    while true {
      let tag = String(UInt64.random(in: .min ... .max), radix: 36)
      let path = target.parent.appending(".\(target.lastName ?? "").\(tag)\(suffix)")
      // Nil if another process swept the folder before the lock was taken.
      do throws(StoreError) {
        if let lock = try DescriptorLock.take(path.appending(suffix: lockSuffix)) { return (path, lock) }
      } catch { throw error.beside(target) }
    }
  }

  deinit { Self.remove(path) }

  /// The name of a file that is written first and then replaces the draft.
  package var next: FilePath { path.appending(suffix: "-new") }

  /// The database's name in a folder draft, and the prefix of all files beside it.
  package static let nameInFolder = "coffer-draft.sqlite"

  /// Removes the drafts of dead processes. `doctor` reports those that cannot be removed.
  package static func sweep(_ folder: FilePath) {
    for draft in names(in: folder) {
      // Held during the removal, so no other process takes the files for dead.
      guard let lock = taken(draft, making: true) else { continue }
      remove(draft)
      lock.release()
    }
  }

  package static func abandoned(in folder: FilePath) -> [FilePath] {
    names(in: folder).filter { !isThere($0.appending(suffix: lockSuffix)) || taken($0, making: false) != nil }
  }

  private static func names(in folder: FilePath) -> [FilePath] {
    let entries: [String]
    do { entries = try FileManager.default.contentsOfDirectory(atPath: folder.string) } catch { return [] }
    let names = entries.compactMap { entry -> String? in
      guard entry.utf8.first == UInt8(ascii: "."), let end = suffixes.first(where: { entry.hasSuffix(suffix + $0) }) else {
        return nil
      }
      return String(entry.dropLast(end.count))
    }
    return Set(names).sorted().map { folder.appending($0) }
  }

  /// Nil while the maker of `draft` lives, or if locks are unavailable.
  private static func taken(_ draft: FilePath, making: Bool) -> DescriptorLock? {
    do throws(StoreError) {
      return try DescriptorLock.take(draft.appending(suffix: lockSuffix), making: making)
    } catch { return nil }
  }

  private static func isThere(_ path: FilePath) -> Bool {
    var facts = stat()
    return path.withPlatformString { lstat($0, &facts) } == 0
  }

  private static func remove(_ draft: FilePath) {
    // Strings, because parsing and joining a path costs more than all the rest.
    let name = draft.string
    for suffix in suffixes {
      let code = unlink(name + suffix) == 0 ? 0 : errno
      // unlink(2) of a folder: EISDIR on Linux, EPERM elsewhere.
      if suffix.isEmpty, code == EISDIR || code == EPERM { removeFolder(name) }
    }
  }

  /// Removes nothing of another name or owner, and works by descriptor, because others may have put files into a shared
  /// folder.
  private static func removeFolder(_ name: String) {
    let descriptor = name.withPlatformString { coffer_open($0, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0) }
    guard descriptor >= 0 else { return }
    // `closedir` also closes the descriptor.
    guard let folder = fdopendir(descriptor) else {
      close(descriptor)
      return
    }
    defer { closedir(folder) }
    var facts = stat()
    guard fstat(descriptor, &facts) == 0, facts.st_uid == geteuid() else { return }
    while let entry = readdir(folder) {
      withUnsafePointer(to: &entry.pointee.d_name) { field in
        field.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: field.pointee)) { name in
          guard strstr(name, nameInFolder) != nil else { return }
          unlinkat(descriptor, name, 0)
        }
      }
    }
    rmdir(name)
  }
}
