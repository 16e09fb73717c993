internal import Coffer
internal import CofferMemory
internal import CofferPlatform
internal import FoundationEssentials
internal import SystemPackage

/// A file, a link or a folder that `coffer install` puts somewhere.
struct InstalledFile {
  enum Content {
    case bytes(Data, mode: UInt32)
    /// A link to a name in the same folder.
    case link(String)
  }

  let path: FilePath
  let content: Content

  /// What tells this content from another.
  func mark() throws -> String {
    switch content {
    case .bytes(let data, _): try Self.mark(of: data)
    case .link(let target): "link:\(target)"
    }
  }

  /// The mark of what stands at `path`; nil where nothing does, empty for what no install makes.
  static func mark(at path: FilePath) throws -> String? {
    var facts = stat()
    guard path.withPlatformString({ lstat($0, &facts) }) == 0 else {
      guard [ENOENT, ENOTDIR].contains(errno) else { throw StoreError(errno: errno, "look at the file", place: path) }
      return nil
    }
    switch facts.st_mode & S_IFMT {
    case S_IFLNK: return "link:" + (try FileManager.default.destinationOfSymbolicLink(atPath: path.string))
    case S_IFREG: return try mark(of: Data(contentsOf: URL(filePath: path.string), options: .alwaysMapped))
    default: return ""
    }
  }

  private static func mark(of data: Data) throws -> String {
    do { return try data.withUnsafeBytes { bytes in try SecretDigest.sha256.digits(ofPublic: bytes) } } catch let error
      as SecretMemoryError
    { throw StoreError(memory: error) }
  }

  /// Whether the regular file at `path` is a coffer, of whatever version: a program in machine code that knows the name by which docker
  /// starts it. It is read, and never started: it may be anybody's.
  static func isCoffer(at path: FilePath) throws -> Bool {
    let program = try Data(contentsOf: URL(filePath: path.string), options: .alwaysMapped)
    guard program.count <= largestProgram else { return false }
    return program.withUnsafeBytes { raw in magics.contains { raw.starts(with: $0) } && raw.holds("docker-credential-coffer") }
  }

  /// Bytes of a coffer, at most: some four times what a build has with all that a debugger reads.
  private static let largestProgram = 256 << 20
  /// What a program begins with. Source: elf(5), and `mach-o/loader.h` for a system of 64 bits.
  private static let magics: [[UInt8]] = [[0x7F, 0x45, 0x4C, 0x46], [0xCF, 0xFA, 0xED, 0xFE]]

  func write() throws {
    switch content {
    case .bytes(let data, let mode): try AtomicFile(path).replace(with: data.bytes, mode: mode)
    case .link(let target): try link(to: target)
    }
  }

  private func link(to target: String) throws {
    let draft = path.removingLastComponent().appending(".\(path.lastComponent?.string ?? "").\(getpid())")
    let code = draft.withPlatformString { from in
      unlink(from)
      return symlink(target, from) == 0 && path.withPlatformString { rename(from, $0) } == 0 ? 0 : errno
    }
    guard code == 0 else { throw StoreError(errno: code, "make the link", place: path) }
  }
}

extension UnsafeRawBufferPointer {
  /// Whether `word`, which is not empty, stands somewhere in the bytes.
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

/// What stands below a prefix because `coffer install` put it there: the file `lib/coffer/installed`, a mark and a path a line.
struct InstallRecord {
  private(set) var marks: [String: Set<String>] = [:]
  private(set) var folders: Set<String> = []
  let file: FilePath

  /// No install writes more.
  private static let largest = 1 << 20

  /// The record below `prefix`; an empty one where there is none.
  init(prefix: FilePath) throws {
    file = prefix.appending("lib").appending("coffer").appending("installed")
    guard !FileFacts.isAbsent(file) else { return }
    for line in String(decoding: try PlainFile.read(file.string, limit: Self.largest), as: UTF8.self).split(separator: "\n") {
      guard let blank = line.firstIndex(of: " ") else { continue }
      let path = String(line[blank...].dropFirst())
      if line[..<blank] == "folder" { folders.insert(path) } else { marks[path, default: []].insert(String(line[..<blank])) }
    }
  }

  var isEmpty: Bool { marks.isEmpty }

  func has(_ mark: String, at path: FilePath) -> Bool { marks[path.string]?.contains(mark) ?? false }

  /// Says that `files` are about to be written: whichever content an interrupted install leaves is known then.
  mutating func add(_ files: [InstalledFile]) throws {
    for file in files { marks[file.path.string, default: []].insert(try file.mark()) }
  }

  /// Says that `files` are written.
  mutating func settle(_ files: [InstalledFile]) throws {
    for file in files { marks[file.path.string] = [try file.mark()] }
  }

  /// Makes the folder at `path` and those above it, open to read for everyone, as programs are, whatever this process's mask is.
  mutating func makeFolders(_ path: FilePath) throws {
    if FileFacts.exists(path) { return }
    try makeFolders(path.folder)
    let code = path.withPlatformString { mkdir($0, 0o755) == 0 && chmod($0, 0o755) == 0 ? 0 : errno }
    guard code == 0 || code == EEXIST else { throw StoreError(errno: code, "make the folder", place: path) }
    if code == 0 { folders.insert(path.string) }
  }

  mutating func write() throws {
    try makeFolders(file.folder)
    let lines = marks.sorted { $0.key < $1.key }.flatMap { path, marks in marks.sorted().map { "\($0) \(path)" } }
    let text = (lines + folders.sorted().map { "folder \($0)" }).map { $0 + "\n" }.joined()
    try AtomicFile(file).replace(with: text.utf8Span.span.bytes, mode: 0o644)
  }
}
