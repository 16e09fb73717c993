// Words of error texts.

/// `noun` with its article: `an Int`, `a Bool`, `a UInt8`.
package func withArticle(_ noun: String) -> String {
  // The sound counts and not the letter; no type's name begins with a U as in "umbrella" so far.
  (noun.first.map { "AEIOaeio".contains($0) } ?? false ? "an " : "a ") + noun
}

extension String {
  /// The text on one line, with everything spelled out that could forge a line, move a cursor or turn the direction of writing: control
  /// and format characters and separators of lines. A refused name holds just those.
  package var spelledOut: String {
    guard unicodeScalars.contains(where: \.isInvisible) else { return self }
    return unicodeScalars.map { $0.isInvisible ? "\\u{\(String($0.value, radix: 16))}" : String($0) }.joined()
  }
}

extension Unicode.Scalar {
  fileprivate var isInvisible: Bool {
    guard !isASCII else { return value < 0x20 || value == 0x7F }
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: return true
    default: return false
    }
  }
}
