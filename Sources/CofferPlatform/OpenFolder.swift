package import SystemPackage

/// A folder held open, so that what is done to its names can be made durable by a step that can hardly fail any more.
package struct OpenFolder: ~Copyable {
  private let descriptor: Int32
  private let path: FilePath
  private let calls: SystemCalls

  /// The folder that `file` stands in.
  ///
  /// - Throws: ``StoreError`` `.denied` where it may not be read, `.io` where it is not there.
  package init(of file: FilePath, _ calls: SystemCalls) throws(StoreError) {
    path = file.folder
    self.calls = calls
    descriptor = calls.open(path.string, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    guard descriptor >= 0 else { throw StoreError(errno: -descriptor, "open the folder", place: path) }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Makes a rename, a creation or a deletion in it durable.
  ///
  /// - Throws: ``StoreError/Kind/io(_:)`` of a disk that fails. The names are changed then, and a power loss may undo that.
  package borrowing func synchronize() throws(StoreError) {
    let result = calls.synchronize(descriptor)
    // Some file systems cannot synchronize a folder and say so; they order renames by themselves.
    guard result != 0, result != -EINVAL else { return }
    throw StoreError(
      .io(-result), "what was changed in the folder may be lost with the power", place: path.string,
      cure: "check the disk: the change is made, and whether it is durable is not known", underlying: Errno(rawValue: -result))
  }
}
