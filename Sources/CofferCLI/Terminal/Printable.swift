/// Text from a vault or a file on its way to a terminal.
enum Printable {
  /// `text` with control characters spelled out: a label must not move the cursor or forge a line.
  static func text(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control && $0 != "\n" }) else { return text }
    return text.unicodeScalars.map { scalar in
      guard scalar.properties.generalCategory == .control, scalar != "\n" else { return String(scalar) }
      return "\\u{\(String(scalar.value, radix: 16))}"
    }.joined()
  }

  /// Like ``text(_:)``, on one line.
  static func line(_ text: String) -> String {
    Self.text(text).split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\\n")
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
