internal import CofferPlatform
package import CofferStorage

/// Reads an environment file in place: its values may be secrets, and go straight to guarded memory.
///
/// One `NAME=value` a line, optionally after `export`. A value in single quotes is literal; one in double quotes has the
/// escapes `\n`, `\r`, `\t`, `\\`, `\"`, `\$` and ``\` ``; both may span lines. A bare value ends with the line or before a blank
/// and `#`. Nothing is expanded: `$HOME` is five characters.
package struct EnvFile {
  package struct Entry {
    package let name: String
    package let value: SecretForm
    package let line: Int
  }

  private let bytes: UnsafeRawBufferPointer
  private let place: String
  private var offset = 0

  /// - Throws: `.damaged`, naming the line and never its text.
  package static func read(_ file: borrowing SecretBytes, place: String) throws -> [Entry] {
    try file.withUnsafeBytes { raw in
      var reader = EnvFile(bytes: raw, place: place)
      return try reader.entries()
    }
  }

  private init(bytes: UnsafeRawBufferPointer, place: String) {
    (self.bytes, self.place) = (bytes, place)
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { offset = 3 }  // A byte order mark, as some editors leave it.
  }

  private mutating func entries() throws -> [Entry] {
    var entries: [Entry] = []
    // Counted while reading: a count from the start for each entry would take hours for a large file.
    var (line, counted) = (1, 0)
    while true {
      skip { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D || $0 == 0x0A }
      guard let byte = peek else { return entries }
      guard byte != UInt8(ascii: "#") else {
        skip { $0 != 0x0A }
        continue
      }
      line += bytes[counted..<offset].count { $0 == 0x0A }
      counted = offset
      let name = try name()
      entries.append(Entry(name: name, value: SecretForm(try value()), line: line))
    }
  }

  private mutating func name() throws(StoreError) -> String {
    var name = word()
    if name == "export", peek == 0x20 || peek == 0x09 {
      skip { $0 == 0x20 || $0 == 0x09 }
      name = word()
    }
    guard !name.isEmpty, !(0x30...0x39).contains(name.utf8[name.startIndex]) else {
      throw damaged("the variable name is not valid")
    }
    guard peek == UInt8(ascii: "=") else { throw damaged("'=' is missing after the name") }
    offset += 1
    return name
  }

  private mutating func word() -> String {
    let start = offset
    skip { $0.isLetterOrDigit || "_.-".utf8.contains($0) }
    return String(decoding: bytes[start..<offset], as: UTF8.self)
  }

  // MARK: Values

  private mutating func value() throws -> SecretBytes {
    skip { $0 == 0x20 || $0 == 0x09 }
    let start = offset
    return try .written { (put) throws(StoreError) in
      offset = start
      if peek == UInt8(ascii: "'") || peek == UInt8(ascii: "\"") { try quoted(put) } else { try bare(put) }
    }
  }

  private mutating func quoted(_ put: (UInt8) -> Void) throws(StoreError) {
    let opening = offset
    let quote = bytes[offset]
    offset += 1
    while let byte = peek {
      offset += 1
      if byte == quote { return try endOfLine() }
      guard byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\""), let escaped = peek else {
        try check(byte)
        put(byte)
        continue
      }
      offset += 1
      switch escaped {
      case UInt8(ascii: "n"): put(0x0A)
      case UInt8(ascii: "r"): put(0x0D)
      case UInt8(ascii: "t"): put(0x09)
      case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "$"), UInt8(ascii: "`"): put(escaped)
      default:
        try check(escaped)
        put(byte)
        put(escaped)
      }
    }
    throw damaged("the quote of line \(line(at: opening)) has no end")
  }

  private mutating func bare(_ put: (UInt8) -> Void) throws(StoreError) {
    let start = offset
    while let byte = peek, byte != 0x0A {
      if byte == UInt8(ascii: "#"), offset == start || Self.isSpace(bytes[offset - 1]) { break }
      try check(byte)
      offset += 1
    }
    var end = offset
    while end > start, Self.isSpace(bytes[end - 1]) { end -= 1 }
    for byte in bytes[start..<end] { put(byte) }
    skip { $0 != 0x0A }
  }

  private mutating func endOfLine() throws(StoreError) {
    skip { Self.isSpace($0) }
    guard let byte = peek, byte != 0x0A else { return }
    guard byte == UInt8(ascii: "#") else { throw damaged("something follows the closing quote") }
    skip { $0 != 0x0A }
  }

  private func check(_ byte: UInt8) throws(StoreError) {
    guard byte != 0 else { throw damaged("a value holds a NUL byte, which no environment can") }
  }

  // MARK: Steps

  private var peek: UInt8? { offset < bytes.count ? bytes[offset] : nil }
  private func line(at offset: Int) -> Int { bytes[..<min(offset, bytes.count)].count { $0 == 0x0A } + 1 }
  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }

  private mutating func skip(while isSkipped: (UInt8) -> Bool) { while let byte = peek, isSkipped(byte) { offset += 1 } }

  private func damaged(_ what: String) -> StoreError {
    StoreError(.damaged, "line \(line(at: offset)): \(what)", place: place, cure: "correct the file; nothing was done")
  }
}
