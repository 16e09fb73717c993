package import CofferPlatform
internal import CofferVaultFormat
package import SystemPackage

/// Copies a closed database file, byte by byte. SQLite opens files only in a vault's private folder: elsewhere, others could
/// plant a journal that it would trust.
package enum PrivateCopy {
  private static let chunk = 1 << 20

  /// Copies `source`, our private file, to `target`, in any folder. The copy is private, durable, and complete or absent:
  /// except after an error of ``OpenFolder/synchronize()``, a failure leaves nothing behind.
  static func publish(_ source: FilePath, as target: FilePath) throws(StoreError) {
    let draft = try Draft(beside: target)
    // Opened first, so an unusable folder fails before there is a copy.
    let folder = try OpenFolder(of: target, SystemCalls())
    try copy(source, to: draft.path)
    try give(draft.path, target, folder)
  }

  /// Durably renames `source`, our file on the same file system.
  package static func name(_ source: FilePath, as target: FilePath) throws(StoreError) {
    let folder = try OpenFolder(of: target, SystemCalls())
    try makeDurable(source, for: target)
    try give(source, target, folder)
  }

  /// Durably replaces `target` by `source`, our file on the same file system. Except after an error of
  /// ``OpenFolder/synchronize()``, a failure leaves `target` unchanged.
  package static func exchange(_ target: FilePath, for source: FilePath) throws(StoreError) {
    let folder = try OpenFolder(of: target, SystemCalls())
    try makeDurable(source, for: target)
    let code = SystemCalls().rename(source.string, target.string)
    guard code == 0 else { throw StoreError(errno: -code, "replace the file", place: target) }
    try folder.synchronize()
  }

  private static func makeDurable(_ source: FilePath, for target: FilePath) throws(StoreError) {
    let file = source.withPlatformString { coffer_open($0, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0) }
    guard file >= 0 else { throw StoreError(errno: errno, "open the copy", place: target) }
    defer { close(file) }
    guard fsync(file) == 0 else { throw StoreError(errno: errno, "make the copy durable", place: target) }
  }

  private static func give(_ draft: FilePath, _ target: FilePath, _ folder: borrowing OpenFolder) throws(StoreError) {
    let code = NewName.give(draft, target)
    guard code != EEXIST else {
      throw StoreError(
        .alreadyExists, "something is already there", place: target.string, cure: "choose another path; nothing is replaced")
    }
    guard code == 0 else { throw StoreError(errno: code, "name the copy", place: target) }
    try folder.synchronize()
  }

  /// Copies the vault `source` from any folder to a new name in a private folder.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/inUse`` with a write-ahead log, because the file is then incomplete;
  ///   ``/CofferPlatform/StoreError/Kind/damaged`` for more bytes than a vault can have: a sparse file could fill the disk.
  package static func take(_ source: FilePath, as target: FilePath) throws(StoreError) {
    guard try SideFiles.logBytes(beside: source) == 0 else {
      throw StoreError(
        .inUse, "there is a write-ahead log beside the file: the vault is in use, and the file does not hold all of it",
        place: source.string, cure: "make a backup of that vault with LockedVault.backup, and give that", remedy: .giveBackup)
    }
    try copy(source, to: target) { (file, size) throws(StoreError) in try checkIsVault(file, size, source) }
  }

  private static func checkIsVault(_ file: Int32, _ size: Int, _ source: FilePath) throws(StoreError) {
    let byteCount = DatabaseHeader.byteCount
    let header = try withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 8) {
      head throws(StoreError) -> DatabaseHeader in
      let count = SystemCalls().read(file, head, 0)
      guard count >= 0 else { throw StoreError(errno: Int32(-count), "read the file", place: source) }
      return try DatabaseHeader(UnsafeRawBufferPointer(rebasing: head[..<count]), file: source)
    }
    guard size <= header.mostBytes else {
      throw StoreError(
        .damaged, "the file has \(size) bytes, and a vault \(header.mostBytes) at most", place: source.string,
        cure: "give the path of a vault's backup")
    }
  }

  /// - Parameter check: called before the copy, with the open file and its size.
  private static func copy(
    _ source: FilePath, to target: FilePath, check: (Int32, Int) throws(StoreError) -> Void = { (_, _) throws(StoreError) in }
  ) throws(StoreError) {
    let from = source.withPlatformString { coffer_open($0, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0) }
    guard from >= 0 else {
      guard errno != ENOENT else {
        throw StoreError(.io(ENOENT), "the file does not exist", place: source.string, cure: "check the path")
      }
      throw StoreError(errno: errno, "open the file", place: source)
    }
    defer { close(from) }
    let status = try FileStatus(of: from, place: source)
    guard status.isRegular else {
      throw StoreError(.notAVault, "it is not a regular file", place: source.string, cure: "give the path of a vault's backup")
    }
    try check(from, status.size)
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let to = target.withPlatformString { coffer_open($0, flags, 0o600) }
    guard to >= 0 else { throw StoreError(errno: errno, "create the file", place: target) }
    defer { close(to) }
    try move(from, to, source, target)
    guard fsync(to) == 0 else { throw StoreError(errno: errno, "make the copy durable", place: target) }
  }

  private static func move(_ from: Int32, _ to: Int32, _ source: FilePath, _ target: FilePath) throws(StoreError) {
    let calls = SystemCalls()
    var offset = 0
    var bytes = [UInt8](repeating: 0, count: chunk)
    while true {
      let got = bytes.withUnsafeMutableBytes { calls.read(from, $0, offset) }
      guard got >= 0 else { throw StoreError(errno: Int32(-got), "read the file", place: source) }
      guard got > 0 else { return }
      var done = 0
      while done < got {
        let put = bytes.span.bytes.withUnsafeBytes { calls.write(to, $0.part(done..<got), offset + done) }
        guard put > 0 else { throw StoreError(errno: put == 0 ? EIO : Int32(-put), "write the copy", place: target) }
        done += put
      }
      offset += got
    }
  }
}
