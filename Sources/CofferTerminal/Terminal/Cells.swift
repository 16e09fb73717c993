internal import CofferStorage

/// The width of text on a terminal.
package enum Cells {
  package static func count(_ text: String) -> Int {
    // Most text is ASCII, and needs no Unicode properties.
    if StoredName.isPrintableASCII(text) { return text.utf8.count }
    return text.reduce(0) { $0 + count($1) }
  }

  /// Styles have no width.
  package static func count(styled text: Substring) -> Int {
    guard text.utf8.contains(0x1B) else { return count(String(text)) }
    return count(String(text.replacing(/\u{1B}\[[0-9]*m/, with: "")))
  }

  /// `text` cut to `most` cells after a whole character, with an ellipsis.
  package static func shorten(_ text: String, to most: Int, _ display: Display) -> String {
    guard count(text) > most else { return text }
    let ellipsis = Sign.ellipsis.text(display)
    var room = most - count(ellipsis)
    guard room >= 0 else { return String(repeating: ".", count: max(most, 0)) }
    var end = text.startIndex
    for index in text.indices {
      room -= count(text[index])
      guard room >= 0 else { break }
      end = text.index(after: index)
    }
    return text[..<end] + ellipsis
  }

  /// A character as displayed. A joiner makes one of two, and the emoji selector makes an emoji. Source: UTS 51 for both,
  /// UAX 11 for the rest.
  private static func count(_ character: Character) -> Int {
    var cells = 0
    var isJoined = false
    for scalar in character.unicodeScalars {
      switch scalar.value {
      case 0x200D: isJoined = true
      case 0xFE0F: cells = max(cells, 2)
      case 0x1F3FB...0x1F3FF where cells > 0: break  // The color of a skin.
      default:
        if !isJoined { cells += count(scalar) }
        isJoined = false
      }
    }
    return cells
  }

  private static func count(_ scalar: Unicode.Scalar) -> Int {
    if scalar.isASCII { return scalar.value >= 0x20 && scalar.value != 0x7F ? 1 : 0 }
    // The later parts of a Korean syllable share the cells of the first.
    if 0x1160...0x11FF ~= scalar.value { return 0 }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .control: return 0
    default: break
    }
    if scalar.properties.isDefaultIgnorableCodePoint { return 0 }
    return WideCharacters.contains(scalar) ? 2 : 1
  }
}
