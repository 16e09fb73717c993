package import CofferMemory
internal import CofferPlatform
internal import CofferStorage

package enum ImportText {
  /// `file` in UTF-8, without its mark, and converted from UTF-16 if the mark says so.
  ///
  /// - Throws: `.damaged` for any other encoding. Without a mark the old single-byte encodings look alike, and a wrong guess
  ///   would change passwords.
  package static func read(_ file: consuming SecretBytes, place: String) throws -> SecretBytes {
    let mark = file.withUnsafeBytes { raw in Array(raw.prefix(3)) }
    if mark.starts(with: [0xFF, 0xFE]) || mark.starts(with: [0xFE, 0xFF]) {
      return try fromUTF16(file, isBig: mark[0] == 0xFE, place)
    }
    let isText = file.withUnsafeBytes { UTF8Validity.isValid($0) && !$0.contains(0) }
    guard isText else {
      let (what, cure) = file.withUnsafeBytes { whyNoText($0) }
      throw StoreError(.damaged, what, place: place, cure: "\(cure); nothing was imported")
    }
    guard mark == [0xEF, 0xBB, 0xBF] else { return file }
    return try file.withUnsafeBytes { try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0.dropFirst(3))) }
  }

  private static func whyNoText(_ raw: UnsafeRawBufferPointer) -> (what: String, cure: String) {
    if ZipArchive.isMeant(by: raw) {
      return (
        "the file is a ZIP archive, not text",
        "a .1pux of 1Password is read by its path; unpack any other, and import what is in it"
      )
    }
    if raw.starts(with: "SQLite format 3\0".utf8) {
      return ("the file is an SQLite database, not text", "have its program export the passwords")
    }
    // Source: keepass.info/help/kb/kdbx.html, the first signature.
    if raw.starts(with: [0x03, 0xD9, 0xA2, 0x9A]) {
      return ("the file is a KeePass database, not text", "keepassxc-cli export FILE | coffer import -")
    }
    if raw.contains(0) {
      return (
        "the file contains NUL bytes: it is not text, or UTF-16 without a byte order mark",
        "export it as UTF-8, or convert it: iconv -f utf-16le -t utf-8 FILE | coffer import …"
      )
    }
    return (
      "the file is neither UTF-8 nor UTF-16 with a byte order mark",
      "export it as UTF-8, or convert it: iconv -f latin1 -t utf-8 FILE | coffer import …"
    )
  }

  private static func fromUTF16(_ file: borrowing SecretBytes, isBig: Bool, _ place: String) throws -> SecretBytes {
    try file.withUnsafeBytes { raw in
      try SecretBytes.written { (put) throws(StoreError) in
        var units = Units(raw: raw.dropFirst(2), isBig: isBig)
        var decoder = UTF16()
        while true {
          switch decoder.decode(&units) {
          case .scalarValue(let scalar) where scalar != "\0":
            for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { put(byte) }
          case .emptyInput where units.isWhole: return
          case .emptyInput, .error, .scalarValue:
            throw StoreError(
              .damaged, "the file's byte order mark says UTF-16, and it is not, or was cut", place: place,
              cure: "export it again, as UTF-8; nothing was imported")
          }
        }
      }
    }
  }

  private struct Units: IteratorProtocol {
    var raw: Slice<UnsafeRawBufferPointer>
    let isBig: Bool
    var isWhole: Bool { raw.isEmpty }

    mutating func next() -> UInt16? {
      guard raw.count >= 2, let first = raw.popFirst(), let second = raw.popFirst() else { return nil }
      return isBig ? UInt16(first) << 8 | UInt16(second) : UInt16(second) << 8 | UInt16(first)
    }
  }
}

extension StoreError {
  /// Names the line, and never its text.
  static func damaged(
    _ line: Int, _ what: String, _ place: String, cure: String = "correct it; nothing was imported"
  ) -> StoreError {
    StoreError(.damaged, "line \(line): \(what)", place: place, cure: cure)
  }
}
