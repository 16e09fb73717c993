/// Text from a vault or a file on its way to a terminal.
enum Printable {
  /// `text` with all spelled out that is not seen, or has other text seen in another place: a label must not move the cursor, forge a
  /// line, or turn what follows it around.
  static func text(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: { isHidden($0) && $0 != "\n" }) else { return text }
    return text.unicodeScalars.map { scalar in
      guard isHidden(scalar), scalar != "\n" else { return String(scalar) }
      return "\\u{\(String(scalar.value, radix: 16))}"
    }.joined()
  }

  /// Like ``text(_:)``, on one line.
  static func line(_ text: String) -> String {
    Self.text(text).unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
      .joined(separator: "\\n")
  }

  /// Control characters, line and paragraph separators, and what Unicode says may be ignored in showing a text: the signs that change
  /// its direction (UAX 9) are among that. Joiners and variation selectors are part of how words and emoji are written.
  private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: return true
    default: break
    }
    let isPartOfWriting = [0x200C, 0x200D].contains(scalar.value) || (0xFE00...0xFE0F).contains(scalar.value)
    return scalar.properties.isDefaultIgnorableCodePoint && !isPartOfWriting
  }
}

extension String {
  var trimmedEnd: String {
    if let last = utf8.last, last > 0x20, last < 0x7F { return self }
    var text = self[...]
    while let last = text.last, last.isWhitespace { text.removeLast() }
    return String(text)
  }
}
