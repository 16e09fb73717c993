package enum Columns {
  /// For a program: a tab between two cells, none in them.
  package static func tabs(_ rows: [[String]]) -> String {
    rows.map { $0.map(Printable.line).joined(separator: "\t") }.joined(separator: "\n")
  }

  /// For a person: cells below each other, at a terminal no wider than that.
  package static func align(_ rows: [[String]], for display: Display = .output) -> String { Table(rows).text(display) }

  /// Nothing is cut: text without room at a terminal goes on in the next line.
  package static func wrap(_ rows: [[String]], for display: Display) -> String {
    TextWidth.message(align(rows, for: Display(isTerminal: false)), to: display.width)
  }
}

package enum Sheet {
  /// - Parameter rows: names, and texts with invisible characters spelled out.
  package static func text(_ rows: [(name: String, text: String)], _ display: Display) -> String {
    TextWidth.definitions(fitting: rows.map { (Style.bold.text($0.name, display), $0.text) }, to: display.width, indent: 0)
  }
}

extension StringProtocol { package var trimmedText: String { String(drop(while: \.isWhitespace)).trimmedEnd } }

extension String {
  package var trimmedEnd: String {
    if let last = utf8.last, last > 0x20, last < 0x7F { return self }
    var text = self[...]
    while let last = text.last, last.isWhitespace { text.removeLast() }
    return String(text)
  }
}
