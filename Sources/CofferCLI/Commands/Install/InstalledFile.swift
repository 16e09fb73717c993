internal import CofferPlatform
internal import CofferTerminal
internal import FoundationEssentials
internal import SystemPackage

/// Written by `coffer install`.
struct InstalledFile {
  enum Content {
    /// The running program.
    case program
    /// A link to `coffer` in the same folder.
    case link
    /// A manual page or a completion script.
    case text(String)
  }

  let path: FilePath
  let content: Content

  /// Whether the file there is of any version of Coffer; nil if nothing is there. A link is not followed.
  func isCoffers() throws -> Bool? {
    guard let status = try FileStatus(ofLinkAt: path) else { return nil }
    if case .link = content {
      guard status.mode & UInt32(S_IFMT) == UInt32(S_IFLNK) else { return false }
      return try FilePath(FileManager.default.destinationOfSymbolicLink(atPath: path.string)).lastComponent?.string == "coffer"
    }
    guard status.isRegular else { return false }
    let data = try Data(contentsOf: URL(filePath: path.string), options: .alwaysMapped)
    if case .program = content { return Self.isProgram(data) }
    let start = String(decoding: data.prefix(Self.longestFirstLine).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    // The title of a manual page names its program and version.
    return start.contains(start.hasPrefix(".TH ") ? "\"coffer " : "coffer")
  }

  /// In bytes: more than any that install writes.
  private static let longestFirstLine = 256

  /// Whether it is machine code that contains the name by which docker starts it. It is never started, as its origin is
  /// unknown.
  private static func isProgram(_ data: Data) -> Bool {
    guard data.count <= largestProgram else { return false }
    return data.withUnsafeBytes { raw in magics.contains { raw.starts(with: $0) } && raw.holds("docker-credential-coffer") }
  }

  /// The largest coffer in bytes: about four times a build with full debug information.
  private static let largestProgram = 256 << 20
  /// Source: elf(5), and `mach-o/loader.h` for a 64-bit system.
  private static let magics: [[UInt8]] = [[0x7F, 0x45, 0x4C, 0x46], [0xCF, 0xFA, 0xED, 0xFE]]

  func write() throws {
    switch content {
    case .program:
      let data = try Data(contentsOf: URL(filePath: SecondProcess.executable), options: .alwaysMapped)
      try AtomicFile(path).replace(with: data.bytes, mode: 0o755)
    case .link: try link()
    case .text(let text): try AtomicFile(path).replace(with: text.utf8Span.span.bytes, mode: 0o644)
    }
  }

  private func link() throws {
    let draft = path.folder.appending(".\(path.lastComponent?.string ?? "").\(getpid())")
    let code = draft.withPlatformString { from in
      unlink(from)
      return symlink("coffer", from) == 0 && path.withPlatformString { rename(from, $0) } == 0 ? 0 : errno
    }
    guard code == 0 else { throw StoreError(errno: code, "make the link", place: path) }
  }

  func remove() throws {
    guard path.withPlatformString({ unlink($0) }) == 0 || errno == ENOENT else {
      throw StoreError(errno: errno, "remove the file", place: path)
    }
  }

  /// Folders readable by everyone, as programs are, under any mask.
  static func makeFolders(_ path: FilePath) throws {
    if FileFacts.exists(path) { return }
    try makeFolders(path.folder)
    let code = path.withPlatformString { mkdir($0, 0o755) == 0 && chmod($0, 0o755) == 0 ? 0 : errno }
    guard code == 0 || code == EEXIST else { throw StoreError(errno: code, "make the folder", place: path) }
  }
}

extension UnsafeRawBufferPointer {
  fileprivate func holds(_ word: StaticString) -> Bool {
    var rest = self
    while rest.count >= word.utf8CodeUnitCount, let start = rest.baseAddress,
      let found = memchr(start, Int32(word.utf8Start.pointee), rest.count - word.utf8CodeUnitCount + 1)
    {
      if memcmp(found, word.utf8Start, word.utf8CodeUnitCount) == 0 { return true }
      rest = UnsafeRawBufferPointer(rebasing: rest[(start.distance(to: UnsafeRawPointer(found)) + 1)...])
    }
    return false
  }
}
