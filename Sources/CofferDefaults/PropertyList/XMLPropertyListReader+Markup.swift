internal import CofferStorage

extension XMLPropertyListReader {
  /// Nil before a closing tag.
  mutating func nextTag(isProlog: Bool = false) throws(PropertyList.Failure) -> Tag? {
    while true {
      skipSpace()
      guard take("<") else { throw damaged }
      if take("?") {
        try skip(past: "?>")
      } else if take("!--") {
        try skip(past: "-->")
      } else if isProlog, take("!DOCTYPE") {
        let start = position
        try skip(past: ">")
        // Its own declarations could give the text another meaning.
        guard !bytes[start..<position].contains(UInt8(ascii: "[")) else { throw damaged }
      } else if isNext("/") {
        position -= 1
        return nil
      } else {
        return try tag()
      }
    }
  }

  /// The attributes mean nothing.
  private mutating func tag() throws(PropertyList.Failure) -> Tag {
    let start = position
    try skip(past: ">")
    let isEmpty = bytes[position - 2] == UInt8(ascii: "/")
    let content = bytes[start..<position - (isEmpty ? 2 : 1)]
    let name = content.prefix { !Self.isSpace($0) }
    guard name.count <= 8, let element = Element.byName[Element.packed(name)] else { throw damaged }
    return Tag(element: element, isEmpty: isEmpty)
  }

  mutating func close(_ element: Element) throws(PropertyList.Failure) {
    guard take("</"), take(element.rawValue) else { throw damaged }
    skipSpace()
    guard take(">") else { throw damaged }
  }

  static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x09 || byte == 0x0D }

  private mutating func skipSpace() {
    while position < bytes.count, Self.isSpace(bytes[position]) { position += 1 }
  }

  func isNext(_ text: String) -> Bool {
    var index = position
    for byte in text.utf8 {
      guard index < bytes.count, bytes[index] == byte else { return false }
      index += 1
    }
    return true
  }

  mutating func take(_ text: String) -> Bool {
    guard isNext(text) else { return false }
    position += text.utf8.count
    return true
  }

  mutating func skip(past text: String) throws(PropertyList.Failure) {
    while position < bytes.count {
      if take(text) { return }
      position += 1
    }
    throw damaged
  }
}

extension XMLPropertyListReader {
  /// May hold the five XML entities, numbered characters and `CDATA`.
  mutating func text() throws(PropertyList.Failure) -> String {
    let start = position
    while position < bytes.count, !Self.isMarkup(bytes[position]) { position += 1 }
    guard isNext("<"), !isNext("<!") else { return try markedText(from: start) }
    return try string(UnsafeRawBufferPointer(rebasing: bytes[start..<position]))
  }

  private static func isMarkup(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "<") || byte == UInt8(ascii: "&") }

  private mutating func markedText(from start: Int) throws(PropertyList.Failure) -> String {
    var text = Array(bytes[start..<position])
    while position < bytes.count {
      if take("&") {
        text.append(contentsOf: try entity().utf8)
      } else if take("<![CDATA[") {
        let content = position
        try skip(past: "]]>")
        text.append(contentsOf: bytes[content..<position - 3])
      } else if isNext("<") {
        return try text.span.bytes.withUnsafeBytes { (raw) throws(PropertyList.Failure) in try string(raw) }
      } else {
        text.append(bytes[position])
        position += 1
      }
    }
    throw damaged
  }

  private func string(_ bytes: UnsafeRawBufferPointer) throws(PropertyList.Failure) -> String {
    guard let string = String(validating: bytes, as: UTF8.self) else { throw damaged }
    return string
  }

  private static let entities: [(name: String, text: String)] = [
    ("lt;", "<"), ("gt;", ">"), ("amp;", "&"), ("quot;", "\""), ("apos;", "'"),
  ]

  private mutating func entity() throws(PropertyList.Failure) -> String {
    if take("#") { return String(try numberedCharacter()) }
    for (name, text) in Self.entities where take(name) { return text }
    throw damaged
  }

  /// `65;` or `x41;`.
  private mutating func numberedCharacter() throws(PropertyList.Failure) -> Character {
    let radix = take("x") ? 16 : 10
    let start = position
    try skip(past: ";")
    let digits = String(decoding: bytes[start..<position - 1].prefix(9), as: UTF8.self)
    // No character's number has more than seven digits or a sign.
    guard digits.utf8.count <= 8, digits.first?.isHexDigit == true, let number = UInt32(digits, radix: radix),
      let scalar = Unicode.Scalar(number)
    else { throw damaged }
    return Character(scalar)
  }
}
