internal import CofferMemory
internal import CofferStorage
internal import CofferTerminal

/// Reads comma-separated values in place: a secret cell goes straight to guarded memory. A library with strings would leave a
/// copy of every password in ordinary memory.
///
/// A cell is text: one that begins with `=` is no formula. Lines may end as on any system. Source: RFC 4180.
struct CSVScanner {
  struct Cell {
    fileprivate let range: Range<Int>
    fileprivate let isQuoted: Bool
    var isEmpty: Bool { range.isEmpty }
  }

  /// Most columns of a row: exports have at most some thirty.
  private static let mostColumns = 256

  private let bytes: UnsafeRawBufferPointer
  private let place: String
  /// Whether a backslash in quotes escapes a quote or a backslash, as in KeePass 1; others double the quote.
  private let hasBackslashes: Bool
  private var offset = 0
  /// The current line, and the first of the last row, from 1.
  private var line = 1
  private(set) var rowLine = 1

  init(_ bytes: UnsafeRawBufferPointer, place: String, hasBackslashes: Bool = false) {
    (self.bytes, self.place, self.hasBackslashes) = (bytes, place, hasBackslashes)
  }

  /// Skips empty rows; nil at the end.
  ///
  /// - Throws: `.damaged`, naming the line and never its text.
  mutating func row() throws(StoreError) -> [Cell]? {
    while let byte = peek, byte == 0x0A || byte == 0x0D { endLine() }
    guard offset < bytes.count else { return nil }
    rowLine = line
    var cells = [try cell()]
    while peek == UInt8(ascii: ",") {
      offset += 1
      cells.append(try cell())
      guard cells.count <= Self.mostColumns else { throw damaged("the row has more than \(Self.mostColumns) columns") }
    }
    guard let byte = peek else { return cells }
    guard byte == 0x0A || byte == 0x0D else { throw damaged("something follows the closing quote of a value") }
    endLine()
    return cells
  }

  func damaged(_ what: String) -> StoreError {
    StoreError.damaged(rowLine, what, place, cure: "export it again; nothing was imported")
  }

  private var peek: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  private mutating func endLine() {
    if peek == 0x0D { offset += 1 }
    if peek == 0x0A { offset += 1 }
    line += 1
  }

  private mutating func cell() throws(StoreError) -> Cell {
    guard peek == UInt8(ascii: "\"") else {
      let start = offset
      while let byte = peek, byte != UInt8(ascii: ","), byte != 0x0A, byte != 0x0D { offset += 1 }
      return Cell(range: start..<offset, isQuoted: false)
    }
    offset += 1
    let start = offset
    while let byte = peek {
      offset += 1
      if byte == 0x0A { line += 1 }
      if hasBackslashes, byte == UInt8(ascii: "\\"), offset < bytes.count { offset += 1 }
      guard byte == UInt8(ascii: "\"") else { continue }
      guard !hasBackslashes, peek == UInt8(ascii: "\"") else { return Cell(range: start..<offset - 1, isQuoted: true) }
      offset += 1
    }
    throw damaged("a quote has no end: the file may have been cut")
  }

  // MARK: Values

  /// For a cell that is no secret.
  func text(_ cell: Cell) -> String {
    var text: [UInt8] = []
    write(cell) { text.append($0) }
    return String(decoding: text, as: UTF8.self)
  }

  func secret(_ cell: Cell) throws -> SecretForm? {
    cell.isEmpty ? nil : SecretForm(try SecretBytes.written { (put) throws(StoreError) in write(cell, put) })
  }

  private func write(_ cell: Cell, _ put: (UInt8) -> Void) {
    guard cell.isQuoted else { return bytes[cell.range].forEach(put) }
    let escape = UInt8(ascii: hasBackslashes ? "\\" : "\"")
    var index = cell.range.lowerBound
    while index < cell.range.upperBound {
      if bytes[index] == escape, index + 1 < cell.range.upperBound { index += 1 }
      put(bytes[index])
      index += 1
    }
  }
}
