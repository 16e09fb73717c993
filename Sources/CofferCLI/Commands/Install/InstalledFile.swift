internal import Coffer
internal import CofferMemory
internal import CofferPlatform
internal import CofferTerminal
internal import FoundationEssentials
internal import SystemPackage

/// Written by `coffer install`.
struct InstalledFile {
  enum Content {
    case bytes(Data, mode: UInt32)
    /// A link to a name in the same folder.
    case link(String)
  }

  let path: FilePath
  let content: Content

  /// An identifier of this content.
  func mark() throws -> String {
    switch content {
    case .bytes(let data, _): try Self.mark(of: data)
    case .link(let target): "link:\(target)"
    }
  }

  /// Nil if there is no file, empty for a kind of file that no install makes.
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

  /// Whether the regular file at `path` is any version of coffer: machine code that contains the name by which docker starts
  /// it. It is never started, as its origin is unknown.
  static func isCoffer(at path: FilePath) throws -> Bool {
    let program = try Data(contentsOf: URL(filePath: path.string), options: .alwaysMapped)
    guard program.count <= largestProgram else { return false }
    return program.withUnsafeBytes { raw in magics.contains { raw.starts(with: $0) } && raw.holds("docker-credential-coffer") }
  }

  /// The largest coffer in bytes: about four times a build with full debug information.
  private static let largestProgram = 256 << 20
  /// Source: elf(5), and `mach-o/loader.h` for a 64-bit system.
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

/// The files that `coffer install` put below a prefix. `lib/coffer/installed` has a mark and a path per line.
///
/// Paths are relative to the prefix, so that the record in a copy of the prefix names the files of the copy.
struct InstallRecord {
  private(set) var marks: [FilePath: Set<String>] = [:]
  private(set) var folders: Set<FilePath> = []
  let file: FilePath
  private let prefix: FilePath

  /// No install writes more.
  private static let largest = 1 << 20
  private static let folder = "folder"

  /// The record below `prefix`; empty if there is none.
  ///
  /// - Throws: `.denied` if another user, except root, can have written it; `.damaged` for a path outside the prefix.
  init(prefix: FilePath) throws {
    self.prefix = prefix
    file = prefix.appending("lib").appending("coffer").appending("installed")
    guard let content = try PlainFile.readOwn(file, as: "record of the install", limit: Self.largest) else { return }
    let lines = content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() where !line.isEmpty {
      guard let blank = line.firstIndex(of: UInt8(ascii: " ")), blank > line.startIndex,
        case let mark = String(decoding: line[..<blank], as: UTF8.self),
        let path = place(named: line[(blank + 1)...], isFolder: mark == Self.folder)
      else {
        throw StoreError(
          .damaged, "line \(index + 1): no hash and path below the prefix", place: file.string,
          cure: "move the file away, and coffer install --replace writes another")
      }
      if mark == Self.folder { folders.insert(path) } else { marks[path, default: []].insert(mark) }
    }
  }

  /// Nil if it leads out of the prefix, or if no install writes it.
  private func place(named name: Data, isFolder: Bool) -> FilePath? {
    if isFolder, name.elementsEqual(Self.itself.utf8) { return prefix }
    let names = name.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    // The system ends a path at a NUL.
    let leadsDown = names.allSatisfy { name in
      !name.isEmpty && !name.elementsEqual(".".utf8) && !name.elementsEqual("..".utf8) && !name.contains(0)
    }
    return leadsDown ? prefix.appending(String(decoding: name, as: UTF8.self)) : nil
  }

  /// Install may have made the prefix itself.
  private static let itself = "."

  private func name(of path: FilePath) -> String? {
    var name = path
    guard name.removePrefix(prefix) else { return nil }
    return name.isEmpty ? Self.itself : name.string
  }

  var isEmpty: Bool { marks.isEmpty }

  func has(_ mark: String, at path: FilePath) -> Bool { marks[path]?.contains(mark) ?? false }

  /// Refuses any change if a link on the way to a file leads out of the prefix: a copy of a prefix would lead to the
  /// original, and nothing could be removed. `files` are to come; `outcome` and `otherwise` are words of the error.
  func checkWays(to files: [InstalledFile] = [], _ outcome: String, otherwise: String) throws {
    guard !FileFacts.isAbsent(prefix) else { return }
    let root = try TrustedPath.resolve(prefix)
    let paths = Set(files.map(\.path) + marks.keys + folders).subtracting([prefix]).sorted { $0.string < $1.string }
    for path in [file] + paths {
      // A missing folder will be below its parents' targets.
      var folder = path.folder
      while FileFacts.isAbsent(folder), folder != prefix { folder = folder.folder }
      guard try TrustedPath.resolve(folder).starts(with: root) else {
        throw StoreError(
          .refused, "a symbolic link in the path leads out of the prefix; \(outcome)", place: path.string,
          cure: "replace the link with a folder, or \(otherwise)")
      }
    }
  }

  /// Before `files` are written, so that any content of an interrupted install is known.
  mutating func add(_ files: [InstalledFile]) throws {
    for file in files { marks[file.path, default: []].insert(try file.mark()) }
  }

  mutating func settle(_ files: [InstalledFile]) throws { for file in files { marks[file.path] = [try file.mark()] } }

  /// The folders are readable by everyone, as programs are, under any mask.
  mutating func makeFolders(_ path: FilePath) throws {
    if FileFacts.exists(path) { return }
    try makeFolders(path.folder)
    let code = path.withPlatformString { mkdir($0, 0o755) == 0 && chmod($0, 0o755) == 0 ? 0 : errno }
    guard code == 0 || code == EEXIST else { throw StoreError(errno: code, "make the folder", place: path) }
    if code == 0, path.starts(with: prefix) { folders.insert(path) }
  }

  mutating func write() throws {
    try makeFolders(file.folder)
    var lines: [String] = []
    for (path, marks) in marks.sorted(by: { $0.key.string < $1.key.string }) {
      guard let place = name(of: path) else { continue }
      lines += marks.sorted().map { "\($0) \(place)\n" }
    }
    lines += folders.compactMap { name(of: $0) }.sorted().map { "\(Self.folder) \($0)\n" }
    let text = lines.joined()
    try AtomicFile(file).replace(with: text.utf8Span.span.bytes, mode: 0o644)
  }
}
