/// Names and what is said of each, one below the other.
enum Sheet {
  /// Prints rows that begin with a name. A terminal gets them as wide as it is at most: what has no room goes on in the next
  /// line.
  static func show(_ rows: [[String]]) throws {
    guard Output.isTerminal else { return try Output.line(Columns.align(rows)) }
    try Pager.show(text(rows.map { ($0[0], $0.dropFirst().map(Printable.line).joined(separator: "  ")) }, .output))
  }

  /// - Parameter rows: names, and texts of which nothing is to be spelled out any more.
  static func text(_ rows: [(name: String, text: String)], _ display: Display) -> String {
    TextWidth.definitions(
      fitting: rows.map { (Style.bold.text($0.name, display), $0.text) }, to: display.width, indent: 0)
  }
}
