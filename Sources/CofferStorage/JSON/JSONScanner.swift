package import CofferMemory
package import CofferPlatform

/// Reads JSON in place: a secret string goes straight to guarded memory and never becomes a `String`.
///
/// Source: RFC 8259. Unrequested input is refused, or skipped without recursion, so depth needs no bound.
package struct JSONScanner {
  private let bytes: UnsafeRawBufferPointer
  private let place: String
  private let outcome: String
  package private(set) var offset = 0

  /// - Parameter outcome: appended to each error; says that nothing was done.
  package init(_ bytes: UnsafeRawBufferPointer, place: String, outcome: String = "nothing was imported") {
    self.bytes = bytes
    self.place = place
    self.outcome = outcome
  }

  /// From 1.
  package var line: Int { bytes[..<min(offset, bytes.count)].count { $0 == UInt8(ascii: "\n") } + 1 }

  /// Names the line, never the content. If only white space follows, the error is the early end.
  package func damaged(_ what: String) -> StoreError {
    guard bytes[offset...].allSatisfy(Self.isSpace) else {
      return StoreError(.damaged, "line \(line): \(what)", place: place, cure: "correct it; \(outcome)")
    }
    return StoreError(
      .damaged, "line \(line): the text ends after \(bytes.count) bytes, in the middle: \(what)", place: place,
      cure: "all of it: this may have been cut; \(outcome)")
  }

  private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

  /// Skips white space. Nil at the end.
  package mutating func peek() -> UInt8? {
    while offset < bytes.count, Self.isSpace(bytes[offset]) { offset += 1 }
    return offset < bytes.count ? bytes[offset] : nil
  }

  package mutating func expect(_ byte: Unicode.Scalar) throws(StoreError) {
    guard peek() == UInt8(ascii: byte) else { throw damaged("'\(byte)' is missing") }
    offset += 1
  }

  private mutating func takes(_ byte: Unicode.Scalar) -> Bool {
    guard peek() == UInt8(ascii: byte) else { return false }
    offset += 1
    return true
  }

  /// Calls `body` with the name of each field, to read its value. Refuses a repeated name, because the meant value is unknown
  /// (RFC 8259, section 4).
  package mutating func object(_ body: (inout JSONScanner, String) throws -> Void) throws {
    try expect("{")
    guard !takes("}") else { return }
    // Bytes, because Swift treats two spellings of a character as equal.
    var names: Set<[UInt8]> = []
    repeat {
      let name = try text()
      guard names.insert(Array(name.utf8)).inserted else { throw damaged("an object has a name twice") }
      try expect(":")
      try body(&self, name)
    } while takes(",")
    try expect("}")
  }

  package mutating func array(_ body: (inout JSONScanner) throws -> Void) throws {
    try expect("[")
    guard !takes("]") else { return }
    repeat { try body(&self) } while takes(",")
    try expect("]")
  }

  /// Skips a value of any kind and checks only what finding its end needs.
  package mutating func skip() throws(StoreError) {
    var depth = 0
    repeat {
      switch peek() {
      case UInt8(ascii: "\""): try string { _ in }
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        offset += 1
      case UInt8(ascii: "}") where depth > 0, UInt8(ascii: "]") where depth > 0:
        depth -= 1
        offset += 1
      case UInt8(ascii: ",") where depth > 0, UInt8(ascii: ":") where depth > 0: offset += 1
      default: try word()
      }
    } while depth > 0
  }

  private mutating func word() throws(StoreError) {
    let start = offset
    while offset < bytes.count, case let byte = bytes[offset], byte >= 0x2B, byte != 0x2C, byte < 0x7B, byte != 0x5B, byte != 0x5D
    {
      offset += 1
    }
    guard offset > start else { throw damaged("a value is missing") }
  }

  package mutating func end() throws(StoreError) {
    guard peek() == nil else { throw damaged("something follows the end") }
  }

  package mutating func number() throws(StoreError) -> Int {
    _ = peek()
    let start = offset
    while offset < bytes.count, (0x30...0x39).contains(bytes[offset]) { offset += 1 }
    guard let number = Int(String(decoding: bytes[start..<offset], as: UTF8.self)) else { throw damaged("a number is missing") }
    return number
  }

  /// Reads `null` if it stands here.
  package mutating func isNull() throws(StoreError) -> Bool {
    guard peek() == UInt8(ascii: "n") else { return false }
    for byte in "null".utf8 {
      guard offset < bytes.count, bytes[offset] == byte else { throw damaged("'null' is not spelt out") }
      offset += 1
    }
    return true
  }

  package mutating func text() throws(StoreError) -> String {
    var text: [UInt8] = []
    try string { text.append($0) }
    guard let valid = String(validating: text, as: UTF8.self) else { throw damaged("a text is not UTF-8") }
    return valid
  }

  package mutating func secretText() throws -> SecretBytes {
    let start = offset
    let secret = try SecretBytes.written { (put) throws(StoreError) in
      offset = start
      try string(put)
    }
    let isText = secret.withUnsafeBytes { UTF8Validity.isValid($0) }
    guard isText else { throw damaged("a value is not UTF-8") }
    return secret
  }

  /// Skips anything but a string, and returns an empty one.
  package mutating func textOrNothing() throws(StoreError) -> String {
    guard peek() == UInt8(ascii: "\"") else {
      try skip()
      return ""
    }
    return try text()
  }

  /// Nil for an empty string, and for any other value, which is skipped.
  package mutating func secretOrNothing() throws -> SecretForm? {
    guard peek() == UInt8(ascii: "\"") else {
      try skip()
      return nil
    }
    let secret = try secretText()
    return secret.count == 0 ? nil : SecretForm(secret)
  }

  package mutating func literal() throws(StoreError) -> String {
    _ = peek()
    let start = offset
    try word()
    return String(decoding: bytes[start..<offset], as: UTF8.self)
  }

  /// Resolves escapes.
  private mutating func string(_ put: (UInt8) -> Void) throws(StoreError) {
    try expect("\"")
    while offset < bytes.count {
      let byte = bytes[offset]
      offset += 1
      switch byte {
      case UInt8(ascii: "\""): return
      case UInt8(ascii: "\\"): try escape(put)
      case 0..<0x20: throw damaged("a string holds a control character that is not escaped")
      default: put(byte)
      }
    }
    throw damaged("a string has no end")
  }

  private mutating func escape(_ put: (UInt8) -> Void) throws(StoreError) {
    guard offset < bytes.count else { throw damaged("a string has no end") }
    let byte = bytes[offset]
    offset += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): put(byte)
    case UInt8(ascii: "b"): put(0x08)
    case UInt8(ascii: "f"): put(0x0C)
    case UInt8(ascii: "n"): put(0x0A)
    case UInt8(ascii: "r"): put(0x0D)
    case UInt8(ascii: "t"): put(0x09)
    case UInt8(ascii: "u"): for byte in UTF8.encode(try scalar()) ?? UTF8.encodedReplacementCharacter { put(byte) }
    default: throw damaged("a string holds an unknown escape")
    }
  }

  /// Reads `\uXXXX`, or two that form a surrogate pair.
  private mutating func scalar() throws(StoreError) -> Unicode.Scalar {
    let first = try unit()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard (0xD800..<0xDC00).contains(first), bytes[offset...].starts(with: "\\u".utf8) else {
      throw damaged("a string holds half a character")
    }
    offset += 2
    let second = try unit()
    guard (0xDC00..<0xE000).contains(second), let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    else { throw damaged("a string holds half a character") }
    return scalar
  }

  private mutating func unit() throws(StoreError) -> UInt32 {
    var unit: UInt32 = 0
    for _ in 0..<4 {
      guard offset < bytes.count, let digit = Character(Unicode.Scalar(bytes[offset])).hexDigitValue else {
        throw damaged("an escape has fewer than four digits")
      }
      unit = unit << 4 | UInt32(digit)
      offset += 1
    }
    return unit
  }
}
