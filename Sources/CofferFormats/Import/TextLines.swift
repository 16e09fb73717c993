internal import Coffer
internal import CofferTerminal

/// The lines of a text where it lies, with their numbers from 1, without what ends them.
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
  /// Where the line stands in the whole text, with what ends it.
  var lineCut: ImportedEntry.Cut {
    let end = base[endIndex...].prefix(2).firstIndex(of: 0x0A).map { $0 + 1 } ?? endIndex
    return ImportedEntry.Cut(range: startIndex..<end)
  }

  /// Without white space at its ends.
  package var trimmed: Self {
    var text = drop { $0 == 0x20 || $0 == 0x09 }
    while let last = text.last, last == 0x20 || last == 0x09 { text.removeLast() }
    return text
  }

  /// The parts before and after the first `mark`; nil if there is none.
  package func parted(at mark: Unicode.Scalar) -> (Self, Self)? {
    firstIndex(of: UInt8(ascii: mark)).map { (self[..<$0], self[($0 + 1)...]) }
  }

  /// The part before the first `mark`, as a word of a file that is no secret.
  package var word: String { String(decoding: self, as: UTF8.self) }
}
