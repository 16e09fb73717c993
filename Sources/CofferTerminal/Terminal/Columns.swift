internal import CofferStorage

/// Rows aligned for people.
package enum Columns {
  private static let space = UInt8(ascii: " ")

  /// Aligned lines without trailing white space.
  ///
  /// - Parameter display: a terminal gets lines cut at its width in cells; for other readers, width is counted in
  ///   characters.
  package static func align(_ rows: [[String]], for display: Display = .output) -> String {
    var widths = Widths(for: display)
    for row in rows { widths.add(row) }
    let text = align(rows, widths)
    guard display.isTerminal else { return text }
    return text.split(separator: "\n", omittingEmptySubsequences: false)
      .map { Cells.shorten(String($0), to: display.width, display) }.joined(separator: "\n")
  }

  /// Lines with columns as wide as in all rows added to `widths`.
  package static func align(_ rows: [[String]], _ widths: Widths) -> String {
    let rows = rows.map { $0.map { Cell($0, inCells: widths.inCells) } }
    let widths = widths.widths
    var lines: [UInt8] = []
    lines.reserveCapacity(rows.count * widths.reduce(0) { $0 + $1 + 2 })
    for (number, row) in rows.enumerated() {
      if number > 0 { lines.append(UInt8(ascii: "\n")) }
      append(row, widths, to: &lines)
    }
    return String(decoding: lines, as: UTF8.self)
  }

  private static func append(_ row: [Cell], _ widths: [Int], to line: inout [UInt8]) {
    guard let last = row.lastIndex(where: { !$0.text.trimmedEnd.isEmpty }) else { return }
    for column in 0..<last {
      line.append(contentsOf: row[column].text.utf8)
      line.append(contentsOf: repeatElement(space, count: widths[column] - row[column].width + 2))
    }
    line.append(contentsOf: row[last].text.trimmedEnd.utf8)
  }

  /// The widest cells of rows that need not be held together.
  package struct Widths {
    fileprivate var widths: [Int] = []
    fileprivate let inCells: Bool

    package init(for display: Display = .output) { inCells = display.isTerminal }

    package mutating func add(_ row: [String]) {
      for (column, text) in row.enumerated() {
        if column == widths.count { widths.append(0) }
        widths[column] = max(widths[column], Cell(text, inCells: inCells).width)
      }
    }
  }

  private struct Cell {
    let text: String
    let width: Int

    init(_ text: String, inCells: Bool) {
      // Most text is ASCII, and needs no Unicode properties.
      let isPlain = StoredName.isPrintableASCII(text)
      self.text = isPlain ? text : Printable.line(text)
      width = isPlain ? text.utf8.count : inCells ? Cells.count(self.text) : self.text.count
    }
  }
}

extension String {
  package var trimmedEnd: String {
    if let last = utf8.last, last > 0x20, last < 0x7F { return self }
    var text = self[...]
    while let last = text.last, last.isWhitespace { text.removeLast() }
    return String(text)
  }
}
