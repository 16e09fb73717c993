/// Lines of a given number of cells.
enum TextWidth {
  /// Longer lines than these are hard to read, however wide the screen is.
  private static let widest = 100
  /// A column of text that is narrower than this stands under its name, not beside it.
  private static let narrowest = 30
  private static let widestName = 26

  static func of(_ display: Display) -> Int { min(display.width, widest) }

  /// `text` in lines of at most `width`, all but the first behind `hanging` blanks. A longer word has a line of its own.
  static func wrap(_ text: String, to width: Int, hanging: Int = 0) -> String {
    var lines: [String] = []
    var line = "", taken = 0
    for word in text.split(separator: " ", omittingEmptySubsequences: true) {
      let cells = Cells.count(String(word))
      if taken > 0, taken + 1 + cells + (lines.isEmpty ? 0 : hanging) > width {
        lines.append(line)
        (line, taken) = ("", 0)
      }
      line += (taken == 0 ? "" : " ") + word
      taken += cells + (taken == 0 ? 0 : 1)
    }
    return (lines + [line]).joined(separator: "\n" + blanks(hanging))
  }

  /// Each name with its text beside it; under a name that is too long, and under all of them where the lines are short.
  static func definitions(_ rows: [(String, String)], to width: Int) -> String {
    var column = min(widestName, (rows.map { Cells.count($0.0) }.max() ?? 0) + 4)
    if width - column < narrowest { column = 6 }
    return rows.map { name, text in
      let wrapped = wrap(text, to: width - column).replacing("\n", with: "\n" + blanks(column))
      let room = column - 2 - Cells.count(name)
      return "  \(name)" + (room >= 2 ? blanks(room) : "\n" + blanks(column)) + wrapped
    }.joined(separator: "\n")
  }

  static func blanks(_ count: Int) -> String { String(repeating: " ", count: max(count, 0)) }
}
