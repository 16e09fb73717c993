internal import CofferFormats
internal import CofferMemory
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault
internal import SystemPackage

/// A file of another program, open until its secrets are elsewhere and its old bytes on the disk are overwritten.
struct ScrubbedFile: ~Copyable {
  /// The file itself, behind any symbolic link.
  let path: FilePath
  let text: SecretBytes
  private let status: FileStatus
  private let descriptor: Int32

  /// The limit in bytes: more than a thousand entries.
  private static let largest = 1 << 20

  /// - Throws: `.denied` for another user's file, a read-only file, and anything but a file; `.tooLarge`.
  static func open(_ given: FilePath) throws -> ScrubbedFile {
    let path = try target(of: given)
    let descriptor = coffer_open(path.string, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0)
    guard descriptor >= 0 else { throw StoreError(errno: errno, "open the file to write it", place: path) }
    do {
      let status = try FileStatus(of: descriptor, place: path)
      guard status.isRegular, status.owner == geteuid() else {
        throw StoreError(.denied, "it does not belong to this user", place: path.string, cure: "find out who created it")
      }
      let text = try SecretFile.read(descriptor, limit: largest, what: "the file", place: path.string)
      return ScrubbedFile(path: path, text: text, status: status, descriptor: descriptor)
    } catch {
      close(descriptor)
      throw error
    }
  }

  deinit { close(descriptor) }

  private static func target(of path: FilePath) throws(StoreError) -> FilePath {
    guard let found = GivenPath.realPath(path) else { throw StoreError(errno: errno, "find the file", place: path) }
    return FilePath(found)
  }

  /// Replaces the file by one without `cuts`, in one step, and then overwrites the old one.
  ///
  /// - Returns: whether the old bytes were overwritten: not if the file has another name, which may be meant to keep them.
  /// - Throws: `.conflict` if another program wrote the file in the meantime, which stays as it is.
  func replace(_ cuts: [ImportedEntry.Cut]) throws -> Bool {
    let rest = try remainder(cuts.sorted { $0.range.lowerBound < $1.range.lowerBound })
    try rest.withUnsafeBytes { raw in
      try AtomicFile(path).replace(with: raw.bytes, mode: status.permissions, like: status) { (_) throws(StoreError) in
        try checkUnchanged()
      }
    }
    return try overwritten()
  }

  private func remainder(_ cuts: [ImportedEntry.Cut]) throws -> SecretBytes {
    try text.withUnsafeBytes { raw in
      try SecretBytes.written { put in
        var at = 0
        for cut in cuts {
          for byte in raw[at..<max(at, cut.range.lowerBound)] { put(byte) }
          for byte in cut.stub.utf8 { put(byte) }
          at = max(at, cut.range.upperBound)
        }
        for byte in raw[at...] { put(byte) }
      }
    }
  }

  private func checkUnchanged() throws(StoreError) {
    let isThere = try FileStatus(at: path).map { $0.isSameFile(as: status) } ?? false
    lseek(descriptor, 0, SEEK_SET)
    let now = try SecretFile.read(descriptor, limit: Self.largest, what: "the file", place: path.string)
    guard isThere, now.isEqual(to: text) else {
      throw StoreError(
        .conflict, "another program wrote the file meanwhile", place: path.string,
        cure: "coffer doctor --fix again; the entries read so far are in the vault; the file is as that program left it")
    }
  }

  private func overwritten() throws -> Bool {
    var facts = stat()
    guard fstat(descriptor, &facts) == 0, facts.st_nlink == 0 else { return false }
    let zeros = [UInt8](repeating: 0, count: text.count)
    var at = 0
    while at < zeros.count {
      let count = zeros.withUnsafeBytes { pwrite(descriptor, $0.baseAddress.map { $0 + at }, zeros.count - at, off_t(at)) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      at += count
    }
    return fsync(descriptor) == 0
  }
}
