extension XMLPropertyListReader {
  /// The next opening tag; nil before a closing one.
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
        // Declarations of its own could give the text another meaning.
        guard !bytes[start..<position].contains(UInt8(ascii: "[")) else { throw damaged }
      } else if isNext("/") {
        position -= 1
        return nil
      } else {
        return try tag()
      }
    }
  }

  /// The rest of an opening tag, whose attributes mean nothing.
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

  /// Goes past the next `text`.
  mutating func skip(past text: String) throws(PropertyList.Failure) {
    while position < bytes.count {
      if take(text) { return }
      position += 1
    }
    throw damaged
  }
}
