package enum TextWidth {
  /// Longer lines are hard to read on any screen.
  private static let widest = 100
  /// A narrower column of text goes under its name, not beside it.
  private static let narrowest = 30
  private static let widestName = 26

  package static func of(_ display: Display) -> Int { min(display.width, widest) }

  /// `text` in lines of at most `width`, all but the first after `hanging` blanks. A longer word has its own line.
  package static func wrap(_ text: String, to width: Int, hanging: Int = 0) -> String {
    var lines: [String] = []
    var line = "", taken = 0
    for word in text.split(separator: " ", omittingEmptySubsequences: true) {
      let cells = Cells.count(styled: word)
      if taken > 0, taken + 1 + cells + (lines.isEmpty ? 0 : hanging) > width {
        lines.append(line)
        (line, taken) = ("", 0)
      }
      line += (taken == 0 ? "" : " ") + word
      taken += cells + (taken == 0 ? 0 : 1)
    }
    return (lines + [line]).joined(separator: "\n" + blanks(hanging))
  }

  /// Each line of `text` wrapped to `width`, with a hanging indent. A longer word, such as a path, stays whole for copying.
  package static func message(_ text: String, to width: Int) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      guard Cells.count(styled: line) > width else { return String(line) }
      let indent = line.prefix { $0 == " " }.count
      let rest = line.dropFirst(indent)
      let column = indent + (rest.hasPrefix(cure) ? cure.count : 2)
      return blanks(indent)
        + wrap(String(rest), to: width - indent, hanging: column - indent)
        .replacing("\n", with: "\n" + blanks(indent))
    }.joined(separator: "\n")
  }

  /// The start of the line with an error's cure.
  private static let cure = "try: "

  /// Like ``wrap(_:to:hanging:)``, but cuts longer words, and keeps text that fits.
  package static func fit(_ text: String, to width: Int, hanging: Int = 0) -> String {
    guard Cells.count(styled: text[...]) > width else { return text }
    let most = max(width - hanging, 1)
    return wrap(
      text.split(separator: " ").map { Cells.count(styled: $0) > most ? cut($0, most) : String($0) }.joined(separator: " "),
      to: width, hanging: hanging)
  }

  private static func cut(_ word: Substring, _ width: Int) -> String {
    var parts = [""], taken = 0
    for character in word {
      let cells = Cells.count(String(character))
      if taken + cells > width, taken > 0 {
        parts.append("")
        taken = 0
      }
      parts[parts.count - 1].append(character)
      taken += cells
    }
    return parts.joined(separator: " ")
  }

  /// Each name with its text beside it, or below it if the name is too long or the lines are short.
  package static func definitions(_ rows: [(String, String)], to width: Int) -> String {
    let column = column(of: rows.map(\.0), to: width, indent: 2)
    return definitions(rows, column: column, indent: 2) { wrap($0, to: width - column) }
  }

  /// The same after `indent` blanks, with nothing wider than `width`.
  package static func definitions(fitting rows: [(String, String)], to width: Int, indent: Int) -> String {
    let column = column(of: rows.map(\.0), to: width, indent: indent)
    return definitions(
      rows.map { (fit($0.0, to: width - indent).replacing("\n", with: "\n" + blanks(indent)), $0.1) }, column: column,
      indent: indent
    ) { fit($0, to: width - column) }
  }

  /// The column where texts begin beside their names.
  package static func column(of names: [String], to width: Int, indent: Int) -> Int {
    let column = min(widestName, (names.map { Cells.count(styled: $0[...]) }.max() ?? 0) + 2 + indent)
    return width - column < narrowest ? 4 + indent : column
  }

  private static func definitions(_ rows: [(String, String)], column: Int, indent: Int, _ lines: (String) -> String) -> String {
    rows.map { name, text in
      let text = lines(text).replacing("\n", with: "\n" + blanks(column))
      let room = column - indent - Cells.count(styled: name[...])
      guard !text.isEmpty else { return blanks(indent) + name }
      return blanks(indent) + name + (room >= 2 ? blanks(room) : "\n" + blanks(column)) + text
    }.joined(separator: "\n")
  }

  package static func blanks(_ count: Int) -> String { String(repeating: " ", count: max(count, 0)) }
}
