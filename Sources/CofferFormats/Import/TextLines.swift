internal import CofferTerminal

/// In place, numbered from 1, without their ends.
package struct TextLines: Sequence, IteratorProtocol {
  package typealias Line = UnsafeRawBufferPointer.SubSequence

  private var rest: Line
  private var number = 0
  private var isDone = false

  package init(_ raw: UnsafeRawBufferPointer) { rest = raw[...] }

  package mutating func next() -> (number: Int, line: Line)? {
    guard !isDone else { return nil }
    number += 1
    let end = rest.firstIndex(of: 0x0A)
    var line = rest[..<(end ?? rest.endIndex)]
    if let end { rest = rest[(end + 1)...] } else { isDone = true }
    if line.last == 0x0D { line = line.dropLast() }
    return isDone && line.isEmpty ? nil : (number, line)
  }
}

extension UnsafeRawBufferPointer.SubSequence {
  /// With its end.
  var lineCut: ImportedEntry.Cut {
    let end = base[endIndex...].prefix(2).firstIndex(of: 0x0A).map { $0 + 1 } ?? endIndex
    return ImportedEntry.Cut(range: startIndex..<end)
  }

  package var trimmed: Self {
    var text = drop { $0 == 0x20 || $0 == 0x09 }
    while let last = text.last, last == 0x20 || last == 0x09 { text.removeLast() }
    return text
  }

  /// Nil without a `mark`.
  package func parted(at mark: Unicode.Scalar) -> (Self, Self)? {
    firstIndex(of: UInt8(ascii: mark)).map { (self[..<$0], self[($0 + 1)...]) }
  }

  /// For text that is no secret.
  package var word: String { String(decoding: self, as: UTF8.self) }
}
