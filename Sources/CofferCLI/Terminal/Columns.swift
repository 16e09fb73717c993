/// Rows aligned for people.
enum Columns {
  static func align(_ rows: [[String]]) -> String {
    let rows = rows.map { $0.map(Printable.line) }
    let count = rows.map(\.count).max() ?? 0
    let widths = (0..<count).map { column in rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0 }
    return rows.map { row in
      zip(row, widths).map { cell, width in cell + String(repeating: " ", count: width - cell.count) }
        .joined(separator: "  ").trimmedEnd
    }.joined(separator: "\n")
  }
}
