/// A secret in a box, between texts, as the rows of a screen. It knows no terminal.
package struct SecretBox {
  struct Row: Equatable {
    var text: String
    /// The part of the secret behind `text`.
    var part = 0..<0
    var end = ""
  }

  /// A longer secret is cut behind such a group: four symbols and a hyphen.
  private static let group = 5
  /// The cells of the box beside the secret.
  private static let frame = 6

  private let title: String, notes: [String]

  package init(title: String, notes: [String]) { (self.title, self.notes) = (title, notes) }

  /// Nil if the screen has no room for all of a secret with `count` symbols.
  func rows(_ count: Int, _ size: Picker.Size, _ display: Display) -> [Row]? {
    let room = size.columns - Self.frame
    guard room >= Self.group else { return nil }
    let width = count <= room ? count : room - room % Self.group
    let line = String(repeating: display.isUnicode ? "─" : "-", count: width + Self.frame - 2)
    let (first, last, side) = display.isUnicode ? ("┌\(line)┐", "└\(line)┘", "│") : ("+\(line)+", "+\(line)+", "|")
    let box = stride(from: 0, to: count, by: width).map { start in
      let part = start..<min(start + width, count)
      return Row(text: side + "  ", part: part, end: TextWidth.blanks(width - part.count + 2) + side)
    }
    let rows = Self.rows(title, size) + [Row(text: first)] + box + [Row(text: last)] + notes.flatMap { Self.rows($0, size) }
    return rows.count <= size.rows ? rows : nil
  }

  static func rows(_ text: String, _ size: Picker.Size) -> [Row] {
    TextWidth.fit(text, to: size.columns).split(separator: "\n").map { Row(text: String($0)) }
  }
}
