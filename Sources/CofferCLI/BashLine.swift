/// A line before the tab key as bash has it. bash ends a word at a colon and other signs, and keeps quotes in it. An answer
/// replaces only the last such part.
struct BashLine {
  /// As the command would get them; the last one ends at the cursor.
  private(set) var words: [String] = []
  private var before = ""
  private var quote: Unicode.Scalar?

  /// - Parameter part: the end of `line` that bash completes.
  init(_ line: String, from part: String) {
    let signs = Array(line.unicodeScalars)
    let start = signs.count - part.unicodeScalars.count
    var word = String.UnicodeScalarView(), hasBegun = false, at = 0
    while at < signs.count {
      if at == start { before = String(word) }
      let sign = signs[at]
      at += 1
      if let open = quote, sign == open {
        quote = nil
      } else if quote == nil, sign.properties.isWhitespace {
        if hasBegun { words.append(String(word)) }
        (word, hasBegun) = (.init(), false)
        continue
      } else if quote == nil, sign == "'" || sign == "\"" {
        quote = sign
      } else if sign == "\\", at < signs.count, quote == nil || quote == "\"" && "\"$`\\".unicodeScalars.contains(signs[at]) {
        word.append(signs[at])
        at += 1
      } else if sign != "\\" || quote != nil {
        word.append(sign)
      }
      hasBegun = true
    }
    if part.isEmpty { before = String(word) }
    words.append(String(word))
  }

  /// `word` in the place of the part, in the quotes that are open, or with a backslash before each special sign.
  func spelled(_ word: String) -> String {
    let rest = word.hasPrefix(before) ? word.unicodeScalars.dropFirst(before.unicodeScalars.count) : word.unicodeScalars[...]
    var text = rest.map { sign in
      switch (quote, sign) {
      case (nil, _): Completions.isPlain(sign) ? "\(sign)" : "\\\(sign)"
      case ("'", "'"): "'\\''"
      case ("\"", "!"): "\"'!'\""
      case ("\"", "\""), ("\"", "$"), ("\"", "`"), ("\"", "\\"): "\\\(sign)"
      default: "\(sign)"
      }
    }.joined()
    // The shell puts no closing quote where one stands.
    if let quote, text.unicodeScalars.last == quote { text.unicodeScalars.append(quote) }
    return text
  }
}
