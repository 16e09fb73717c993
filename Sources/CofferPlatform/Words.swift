// Words of error texts.

/// `noun` with its article: `an Int`, `a Bool`, `a UInt8`.
package func withArticle(_ noun: String) -> String {
  // The sound counts, not the letter; so far no type's name begins with a U as in "umbrella".
  (noun.first.map { "AEIOaeio".contains($0) } ?? false ? "an " : "a ") + noun
}

/// `noun` with its number: `1 item`, `2 items`.
package func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

extension String {
  /// The text with invisible and reordering characters spelled out: a name must not move the cursor, forge a line, or
  /// reverse the text after it.
  ///
  /// - Parameter kept: a character to keep, such as the newline.
  package func spelledOut(but kept: Unicode.Scalar? = nil) -> String {
    guard unicodeScalars.contains(where: { $0.isHidden || $0.isPartOfWriting }) else { return self }
    var text = "", before: Unicode.Scalar?
    for scalar in unicodeScalars {
      let isSpelled = scalar.isPartOfWriting ? !scalar.belongs(after: before) : scalar.isHidden
      text += isSpelled && scalar != kept ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
      before = scalar
    }
    return text
  }
}

extension Unicode.Scalar {
  /// Control characters, separators of lines and paragraphs, and characters that Unicode allows to ignore in display, such
  /// as the signs that change its direction (UAX 9).
  package var isHidden: Bool {
    if isASCII { return value < 0x20 || value == 0x7F }
    switch properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: return true
    default: break
    }
    return properties.isDefaultIgnorableCodePoint
  }

  /// Joiners and variation selectors are part of words in some scripts and of emoji.
  package var isPartOfWriting: Bool { (0x200C...0x200D).contains(value) || (0xFE00...0xFE0F).contains(value) }

  /// Whether such a sign affects the character before it. After a Latin letter it does not, and two names would look the
  /// same; the keys of a telephone are an exception (UTS 51).
  fileprivate func belongs(after before: Unicode.Scalar?) -> Bool {
    guard let before, !before.isPartOfWriting, !before.isHidden else { return value == 0x200D && before?.value == 0xFE0F }
    return !before.isASCII || (value == 0xFE0F && (before.properties.isEmoji))
  }
}

extension Duration {
  /// The duration for an error text, to the nearest millisecond: `200 ms`, `1.5 s`, `60 s`.
  package var inWords: String {
    let (whole, attoseconds) = components
    let milliseconds = whole * 1000 + (attoseconds + 500_000_000_000_000) / 1_000_000_000_000_000
    let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
    if seconds == 0 { return "\(rest) ms" }
    guard rest != 0 else { return "\(seconds) s" }
    var decimals = String(1000 + rest).dropFirst()
    while decimals.last == "0" { decimals.removeLast() }
    return "\(seconds).\(decimals) s"
  }
}
