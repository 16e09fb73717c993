internal import Coffer
internal import CofferMemory
internal import CofferPlatform
internal import SystemPackage

/// Hashes of leaked passwords on this machine, as Have I Been Pwned gives them out: one file of all, `HASH:COUNT` a line in the
/// order of the hashes, or a folder of ranges, a file for each five digits with `REST:COUNT` lines. Nothing is asked of any
/// server.
///
/// Source: "Pwned Passwords", SHA-1, ordered by hash; and the answers of its range API.
struct LeakedHashes {
  private static let digits = 40
  private static let prefixDigits = 5
  /// Bytes of a line, at most: the digits, a colon and a count.
  fileprivate static let longestLine = 128
  /// Bytes of a range's file, at most: the largest of 2024 had 80 KB.
  private static let largestRange = 4 << 20

  private let kind: Kind
  private let place: String

  private enum Kind {
    case sorted(SortedLines)
    case ranges(FilePath, suffix: String)
  }

  /// - Throws: `.damaged` for what is neither of the two; `.io`.
  init(_ path: String) throws {
    try GivenPath.check(path)
    place = path
    var facts = stat()
    guard stat(path, &facts) == 0 else { throw StoreError(errno: errno, "look at the leaked hashes", place: FilePath(path)) }
    if facts.st_mode & S_IFMT == S_IFDIR {
      let folder = FilePath(path)
      // The first range and the last one, and how the files are named.
      guard
        let suffix = ["", ".txt"].first(where: { suffix in
          ["00000", "FFFFF"].allSatisfy { FileFacts.exists(folder.appending($0 + suffix)) }
        })
      else { throw Self.unknown(path, "the folder has no files 00000 to FFFFF") }
      kind = .ranges(folder, suffix: suffix)
    } else {
      guard facts.st_mode & S_IFMT == S_IFREG else { throw Self.unknown(path, "it is no file that can be searched") }
      let lines = try SortedLines(path, bytes: Int(facts.st_size))
      try lines.check { Self.unknown(path, $0) }
      kind = .sorted(lines)
    }
  }

  /// How often `password` was seen in leaks; 0 where it was not.
  func count(_ password: borrowing SecretBytes) throws -> Int {
    let hash = try Self.hex(SecretDigest.sha1.hash(password))
    switch kind {
    case .sorted(let lines): return try lines.count(hash) { Self.unknown(place, $0) }
    case .ranges(let folder, let suffix): return try count(hash, in: folder, suffix)
    }
  }

  private func count(_ hash: borrowing SecretBytes, in folder: FilePath, _ suffix: String) throws -> Int {
    // The name of the file says five digits of the hash: it goes into no error.
    let name = hash.withUnsafeBytes { String(decoding: $0.prefix(Self.prefixDigits), as: UTF8.self) }
    let descriptor = coffer_open(folder.appending(name + suffix).string, O_RDONLY | O_CLOEXEC, 0)
    guard descriptor >= 0 else {
      throw StoreError(
        .io(errno), "a range that is needed is not in the folder, or cannot be read", place: place, cure: "download all ranges")
    }
    defer { close(descriptor) }
    let text = try SecretReader.read(descriptor, limit: Self.largestRange, what: "a range", place: place)
    let rest = try hash.suffix(Self.digits - Self.prefixDigits)
    return try rest.withUnsafeBytes { wanted in
      try text.withUnsafeBytes { raw in
        for line in raw.split(separator: 0x0A) {
          guard let entry = HashLine(UnsafeRawBufferPointer(rebasing: line), digits: wanted.count) else {
            throw Self.unknown(place, "a line of a range is not REST:COUNT")
          }
          if entry.order(wanted) == 0 { return entry.count }
        }
        return 0
      }
    }
  }

  private static func hex(_ digest: borrowing SecretBytes) throws -> SecretBytes {
    let digits: StaticString = "0123456789ABCDEF"
    var text = try SecretBytes(zeros: digest.count * 2)
    text.withUnsafeMutableBytes { out in
      digest.withUnsafeBytes { raw in
        for (index, byte) in raw.enumerated() {
          out[2 * index] = digits.utf8Start[Int(byte >> 4)]
          out[2 * index + 1] = digits.utf8Start[Int(byte & 15)]
        }
      }
    }
    return text
  }

  private static func unknown(_ place: String, _ why: String) -> StoreError {
    StoreError(
      .damaged, "these are no leaked hashes: \(why)", place: place,
      cure: "Have I Been Pwned's SHA-1 list, ordered by hash and unpacked, or a folder of its ranges")
  }
}

/// `HASH:COUNT`, with or without a carriage return at the end.
struct HashLine {
  private let hash: UnsafeRawBufferPointer
  let count: Int

  /// Nil for anything else.
  init?(_ line: UnsafeRawBufferPointer, digits: Int) {
    var line = line
    if line.last == 0x0D { line = UnsafeRawBufferPointer(rebasing: line.dropLast()) }
    guard line.count > digits + 1, line.count <= digits + 20, line[digits] == UInt8(ascii: ":"),
      line.prefix(digits).allSatisfy(Self.isHex)
    else { return nil }
    // Nineteen digits may be more than an integer holds. A sign is no digit.
    let text = line[(digits + 1)...]
    guard text.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }), let count = Int(String(decoding: text, as: UTF8.self))
    else { return nil }
    (hash, self.count) = (UnsafeRawBufferPointer(rebasing: line[..<digits]), count)
  }

  /// Below 0 where this hash comes before `other`, which is in capitals.
  func order(_ other: UnsafeRawBufferPointer) -> Int {
    for (mine, its) in zip(hash, other) where Self.capital(mine) != Self.capital(its) {
      return Int(Self.capital(mine)) - Int(Self.capital(its))
    }
    return 0
  }
  func order(_ other: HashLine) -> Int { order(other.hash) }

  private static func capital(_ byte: UInt8) -> UInt8 { UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte ? byte - 0x20 : byte }
  private static func isHex(_ byte: UInt8) -> Bool {
    UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "F") ~= capital(byte)
  }
}

/// A file of lines in order, of any size: some 35 short reads find one among a thousand million.
private final class SortedLines {
  private let descriptor: Int32
  private let bytes: Int
  private static let digits = 40
  /// Places of the file that are compared: one in another order, such as by how often a password was seen, would hide what it
  /// holds.
  private static let samples = 64

  init(_ path: String, bytes: Int) throws {
    descriptor = coffer_open(path, O_RDONLY | O_CLOEXEC, 0)
    guard descriptor >= 0 else { throw StoreError(errno: errno, "open the leaked hashes", place: FilePath(path)) }
    self.bytes = bytes
  }

  deinit { close(descriptor) }

  /// Looks whether lines here and there are hashes in their order.
  func check(_ unknown: (String) -> StoreError) throws {
    var before = Line(text: try SecretBytes(zeros: 0), start: 0)
    for sample in 0..<Self.samples {
      let found = try line(at: bytes / Self.samples * sample)
      guard found.text.count > 0 else {
        guard sample > 0 else { throw unknown("the file is empty") }
        return
      }
      let isInOrder = before.text.withUnsafeBytes { before in
        found.text.withUnsafeBytes { text -> Bool? in
          guard let line = HashLine(text, digits: Self.digits) else { return nil }
          return HashLine(before, digits: Self.digits).map { $0.order(line) <= 0 } ?? true
        }
      }
      guard let isInOrder else { throw unknown("a line is not HASH:COUNT with a hash of 40 digits") }
      guard isInOrder else { throw unknown("the lines are not in the order of the hashes") }
      before = consume found
    }
  }

  func count(_ hash: borrowing SecretBytes, _ unknown: (String) -> StoreError) throws -> Int {
    // The line that is wanted begins at `low` or later, and before `high`.
    var (low, high) = (0, bytes)
    while low < high {
      let middle = low + (high - low) / 2
      let found = try line(at: middle)
      guard found.text.count > 0, found.start < high else {
        high = middle
        continue
      }
      let (order, count) = try hash.withUnsafeBytes { hash in
        try found.text.withUnsafeBytes { text in
          guard let line = HashLine(text, digits: Self.digits) else {
            throw unknown("a line is not HASH:COUNT with a hash of 40 digits")
          }
          return (line.order(hash), line.count)
        }
      }
      if order == 0 { return count }
      if order < 0 { low = found.start + found.text.count + 1 } else { high = middle }
    }
    return 0
  }

  private struct Line: ~Copyable {
    let text: SecretBytes
    let start: Int
  }

  /// The first line that begins at `offset` or later, without its end; an empty one where there is none.
  private func line(at offset: Int) throws -> Line {
    // From one byte earlier: a line begins at `offset` where that is the end of one.
    let from = max(0, offset - 1)
    var part = try SecretBytes(zeros: 2 * LeakedHashes.longestLine)
    let count = part.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(from)) }
    guard count >= 0 else { throw StoreError(errno: errno, "read the leaked hashes", place: "file") }
    return try part.withUnsafeBytes { raw in
      let raw = raw.prefix(count)
      let start = offset == 0 ? 0 : raw.firstIndex(of: 0x0A).map { $0 + 1 } ?? count
      let end = raw[start...].firstIndex(of: 0x0A) ?? count
      return Line(text: try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: raw[start..<end])), start: from + start)
    }
  }
}
