/// Rows under headers, at most as wide as a terminal. An empty cell is blank, and an empty column is left out.
package struct Table {
  package struct Column {
    package let title: String
    /// Cells below which the column is not shortened; nil if it never is.
    package var least: Int?
    /// On a narrow screen higher ranks are dropped first; rank 0 stays.
    package var rank = 0
    package var isNumber = false

    package static func text(_ title: String, rank: Int = 0) -> Column { Column(title: title, least: 10, rank: rank) }
    package static func fixed(_ title: String, rank: Int = 0) -> Column { Column(title: title, least: nil, rank: rank) }
    package static func number(_ title: String, rank: Int = 0) -> Column {
      Column(title: title, least: nil, rank: rank, isNumber: true)
    }
  }

  package struct Cell {
    package let text: String
    package var style: Style?

    package init(_ text: String, _ style: Style? = nil) {
      self.text = Printable.line(text)
      self.style = style
    }
  }

  private static let gap = 2

  package let columns: [Column]
  package let rows: [[Cell]]
  /// The number of rows, or the meaning of a sign; perhaps several lines, or empty.
  package let footer: String

  package init(columns: [Column], rows: [[Cell]], footer: String) {
    (self.columns, self.rows, self.footer) = (columns, rows, footer)
  }

  /// Some may have fewer cells; without `titles` there is no header.
  package init(_ rows: [[String]], under titles: [String] = [], footer: String = "") {
    let count = max(titles.count, rows.reduce(0) { max($0, $1.count) })
    let columns = (0..<count).map { $0 >= titles.count ? Column.text("") : $0 == 0 ? .fixed(titles[0]) : .text(titles[$0]) }
    let cells = rows.map { row in (0..<count).map { Cell($0 < row.count ? row[$0] : "") } }
    self.init(columns: columns, rows: cells, footer: footer)
  }

  /// The lines: none wider than a terminal, none with trailing white space.
  package func text(_ display: Display) -> String {
    let widths = widths(display.isTerminal ? display.width : .max)
    var lines: [String] = []
    lines.reserveCapacity(rows.count + 2)
    if !rows.isEmpty, columns.contains(where: { !$0.title.isEmpty }) {
      lines.append(line(columns.map { Cell($0.title, .bold) }, widths, display))
    }
    for row in rows { lines.append(line(row, widths, display)) }
    let last = footer.split(separator: "\n").map { Cells.shorten(String($0), to: display.width, display) }
    return (lines + last.map { Style.dim.text($0, display) }).joined(separator: "\n")
  }

  private func line(_ row: [Cell], _ widths: [Int], _ display: Display) -> String {
    var line = ""
    var blanks = 0
    for (cell, (column, width)) in zip(row, zip(columns, widths)) where width > 0 {
      let text = Cells.shorten(cell.text, to: width, display)
      let rest = width - Cells.count(text)
      if !text.isEmpty {
        line += String(repeating: " ", count: blanks + (column.isNumber ? rest : 0)) + (cell.style?.text(text, display) ?? text)
        blanks = 0
      }
      blanks += Self.gap + (column.isNumber && !text.isEmpty ? 0 : rest)
    }
    return line
  }

  /// 0 if empty or without room.
  private func widths(_ most: Int) -> [Int] {
    var widths = columns.indices.map { column in rows.reduce(0) { max($0, Cells.count($1[column].text)) } }
    for (index, column) in columns.enumerated() where widths[index] > 0 {
      widths[index] = max(widths[index], Cells.count(column.title))
    }
    let least = zip(columns, widths).map { column, width in min(column.least ?? width, width) }
    while Self.total(zip(widths, least).map { $0 > 0 ? $1 : 0 }) > most, let index = droppable(widths) { widths[index] = 0 }
    return fitted(widths, least, most)
  }

  private func droppable(_ widths: [Int]) -> Int? {
    columns.indices.filter { widths[$0] > 0 && columns[$0].rank > 0 }.max { columns[$0].rank < columns[$1].rank }
  }

  /// Shortens the widest columns first, and fixed ones only as a last resort.
  private func fitted(_ widths: [Int], _ least: [Int], _ most: Int) -> [Int] {
    guard Self.total(widths) > most else { return widths }
    var fitted = widths
    for bounds in [least, [Int](repeating: 1, count: least.count)] {
      var cap = min(widths.max() ?? 0, most)
      while cap > 0 {
        fitted = zip(widths, bounds).map { width, bound in min(width, max(cap, bound)) }
        if Self.total(fitted) <= most { return Self.filled(fitted, widths, most) }
        cap -= 1
      }
    }
    return fitted
  }

  /// Gives remaining cells to the first shortened columns.
  private static func filled(_ fitted: [Int], _ widths: [Int], _ most: Int) -> [Int] {
    var filled = fitted
    var rest = most - total(fitted)
    for index in filled.indices where rest > 0 && filled[index] < widths[index] {
      filled[index] += 1
      rest -= 1
    }
    return filled
  }

  private static func total(_ widths: [Int]) -> Int {
    let shown = widths.filter { $0 > 0 }
    return shown.reduce(0, +) + max(shown.count - 1, 0) * gap
  }
}
