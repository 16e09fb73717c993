internal import CofferMemory
internal import CofferPlatform
internal import CofferVault
internal import CofferVaultFormat
internal import FoundationEssentials
internal import SystemPackage

/// The segments of a log of uses in their folder: files named by their numbers.
struct UsesFiles: Sendable {
  let folder: FilePath
  let vault: VaultID

  /// About 25 000 rows. The log is bounded, so that it cannot fill a disk.
  static let most: UInt64 = 8
  static let segmentBytes = 1 << 20
  private static let digits = 10

  /// The beginning of a segment: its number, the first of all without a gap, and the chain before it.
  struct Head {
    static let size = 8 + 8 + 8 + 8 + 32
    var number: UInt64, first: UInt64, count: UInt64, before: Digest32

    var bytes: [UInt8] {
      Array("CUSES1\0\0".utf8) + [number, first, count].flatMap(\.littleEndianBytes) + before.bytes
    }
    /// The first row of a segment is sealed for the segment's head.
    var chain: UsesChain { UsesChain(count: count, head: PlainHash.digest(bytes)) }
  }

  /// The last row on disk.
  struct End {
    var chain: UsesChain
    /// The last segment, the first of all without a gap, and the bytes in the last one. 0 without a segment.
    var segment: UInt64 = 0, first: UInt64 = 0, size = 0
    var last: UseRow.Kind?
    /// Whether a part of a row follows.
    var isTorn = false
    /// Whether nothing is there of a log that had rows.
    var isMissing = false

    /// The reason why rows may be missing at the end; nil after a log that was closed.
    var gap: String? {
      if isMissing { return "the files of the log are gone: rows up to \(chain.count) are missing" }
      let isWhole = !isTorn && (last == .closed || chain.count == 0)
      return isWhole ? nil : "ended without a lock: later rows may be missing"
    }
  }

  func path(_ number: UInt64) -> FilePath {
    let digits = String(number)
    return folder.appending(String(repeating: "0", count: max(0, Self.digits - digits.utf8.count)) + digits)
  }

  /// Ascending; none where there is no folder.
  private func numbers() throws(StoreError) -> [UInt64] {
    guard try TrustedPath.privateFolder(folder) != nil else { return [] }
    let names: [String]
    do { names = try FileManager.default.contentsOfDirectory(atPath: folder.string) } catch {
      throw StoreError(
        .io(EIO), "could not list the log of uses", place: folder.string, cure: "see the system's message", underlying: error)
    }
    // A number may have a sign for UInt64.
    return names.compactMap { $0.utf8.count == Self.digits && $0.first != "+" ? UInt64($0) : nil }.filter { $0 > 0 }.sorted()
  }

  /// Nil for a missing file. One byte more than any segment has is enough of a longer one.
  private func content(_ number: UInt64) throws(StoreError) -> [UInt8]? {
    guard try TrustedPath.privateFile(path(number)) != nil else { return nil }
    do {
      let file = try FileDescriptor.open(path(number), .readOnly, options: [.closeOnExec, .noFollow])
      return try file.closeAfter {
        try [UInt8](unsafeUninitializedCapacity: Self.segmentBytes + 1) { $1 = try file.fill(UnsafeMutableRawBufferPointer($0)) }
      }
    } catch {
      throw StoreError(errno: (error as? Errno)?.rawValue ?? EIO, "read the log of uses", place: path(number))
    }
  }

  /// Checks all rows, and hands them to `body`, oldest first.
  ///
  /// - Parameter anchor: the chain that the vault's item remembers.
  /// - Throws: ``/CofferPlatform/StoreError/Kind/tampered`` for a changed, added or moved row, and for a missing one up to the
  ///   anchor.
  func walk(
    _ key: borrowing SecretBytes, from anchor: UsesChain, _ body: (UseRow) -> Void = { _ in }
  ) throws(StoreError) -> End {
    var numbers = try numbers(), isTorn = false
    // Its writer died before its first row.
    while let last = numbers.last, try !begins(content(last) ?? []) {
      numbers.removeLast()
      isTorn = true
    }
    guard let newest = numbers.last, let bytes = try content(newest) else {
      guard !isTorn || anchor.count == 0 else { throw tampered("the log lacks its rows", 1) }
      return End(chain: anchor, isTorn: isTorn, isMissing: anchor.count > 0)
    }
    let first = bytes.withUnsafeBytes { $0.littleEndian(UInt64.self, at: 16) }
    let oldest = max(first, newest < Self.most ? 1 : newest - Self.most + 1)
    guard oldest <= newest else { throw tampered("a segment of the log does not begin as it must", newest) }
    var end = End(chain: UsesChain(), first: first, isTorn: isTorn)
    for number in oldest...newest {
      guard let bytes = try content(number) else { throw tampered("the log lacks a segment", number) }
      end.segment = number
      try bytes.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in
        if number == oldest, bytes.count >= Head.size {
          end.chain.count = bytes.littleEndian(UInt64.self, at: 24)
          end.chain.head = Digest32(bytes.part(32..<64)) ?? .zero
          try check(end, against: anchor)
        }
        try follow(bytes, key, &end, anchor, isLast: number == newest, body)
      }
    }
    guard end.chain.count >= anchor.count else { throw tampered("the log lacks its last rows", newest) }
    return end
  }

  /// Whether a segment has its head and a whole row.
  private func begins(_ bytes: [UInt8]) -> Bool {
    guard bytes.count >= Head.size + 4 else { return false }
    let count = bytes.withUnsafeBytes { $0.littleEndian(UInt32.self, at: Head.size) }
    return count > 0 && Int(count) <= bytes.count - Head.size - 4
  }

  private func follow(
    _ bytes: UnsafeRawBufferPointer, _ key: borrowing SecretBytes, _ end: inout End, _ anchor: UsesChain, isLast: Bool,
    _ body: (UseRow) -> Void
  ) throws(StoreError) {
    let head = Head(number: end.segment, first: end.first, count: end.chain.count, before: end.chain.head)
    guard bytes.count <= Self.segmentBytes, bytes.starts(with: head.bytes) else {
      throw tampered("a segment of the log does not begin as it must", end.segment)
    }
    end.size = Head.size
    var chain = head.chain
    while end.size < bytes.count {
      switch chain.open(bytes.part(end.size..<bytes.count), in: vault, key) {
      case .row(let row, let count):
        chain = chain.after(bytes.part(end.size..<end.size + count))
        (end.chain, end.size, end.last) = (chain, end.size + count, row.kind)
        try check(end, against: anchor)
        body(row)
      case .torn where isLast && chain.count >= anchor.count:
        end.isTorn = true
        return
      case .newer:
        throw StoreError(
          .newerFormat(found: 2, supported: 1), "a newer version has written the log of uses", place: path(end.segment).string,
          cure: "use that version")
      case .torn, .wrong: throw tampered("a row of the log is not the one it should be", end.segment)
      }
    }
  }

  private func check(_ end: End, against anchor: UsesChain) throws(StoreError) {
    guard end.chain.count != anchor.count || end.chain.head == anchor.head else {
      throw tampered("a row of the log is not the one it should be", end.segment)
    }
  }

  private func tampered(_ what: String, _ number: UInt64) -> StoreError {
    StoreError(
      .tampered, what, place: path(number).string,
      cure: "somebody changed the log of uses: keep its folder elsewhere, and a new log begins that says so")
  }

  /// Removes the bytes after the last whole row.
  func trim(to end: End) throws(StoreError) {
    try remove { $0 > end.segment }
    guard end.isTorn, end.segment > 0 else { return }
    guard path(end.segment).withPlatformString({ truncate($0, off_t(end.size)) }) == 0 else {
      throw StoreError(errno: errno, "cut the log of uses", place: path(end.segment))
    }
  }

  func remove(where isOver: (UInt64) -> Bool) throws(StoreError) {
    for number in try numbers() where isOver(number) {
      guard path(number).withPlatformString({ unlink($0) }) == 0 || errno == ENOENT else {
        throw StoreError(errno: errno, "remove a part of the log of uses", place: path(number))
      }
    }
  }
}
