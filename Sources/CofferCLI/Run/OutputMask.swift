internal import Coffer
internal import CofferMemory
internal import CofferStorage
internal import CofferTerminal

/// Replaces secrets in a stream, wherever its chunks begin and end.
///
/// Only bytes that could still become part of a secret are held back. If secrets overlap, every byte of each is covered.
struct OutputMask: ~Copyable {
  static let mark = "<masked>"
  /// A shorter secret occurs in most output by chance, and a mask would only reveal its places.
  static let shortest = 4

  private let automaton: MaskAutomaton
  private var state: Int32 = 0
  private let chunk: Int
  private var held: SecretBytes
  private var count = 0
  /// The secret parts of the held bytes: ordered ranges, none next to another.
  private var covered: [Range<Int>] = []
  /// Whether the last output was the mark: the rest of that secret needs no second one.
  private var isInsideMark = false

  init(_ automaton: MaskAutomaton, chunk: Int) throws(SecretMemoryError) {
    (self.automaton, self.chunk) = (automaton, chunk)
    held = try SecretBytes(zeros: chunk + automaton.longest)
  }

  /// Hands on the bytes that are certain.
  ///
  /// - Returns: the result of `read`: a number of bytes, 0 at the end, less for an error.
  mutating func take(
    _ read: (UnsafeMutableRawBufferPointer) -> Int, _ write: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) -> Int {
    let (start, size) = (count, chunk)
    let got = held.withUnsafeMutableBytes { read(UnsafeMutableRawBufferPointer(rebasing: $0[start..<start + size])) }
    guard got > 0 else { return got }
    var found = covered
    let (next, open) = held.withUnsafeBytes { raw in
      automaton.advance(state, UnsafeRawBufferPointer(rebasing: raw[start..<start + got])) { index, length in
        Self.cover(start + index + 1 - length..<start + index + 1, &found)
      }
    }
    (state, covered) = (next, found)
    count += got
    try release(count - open, write)
    return got
  }

  /// Hands on the held bytes: the stream has ended, so they are no secret.
  mutating func finish(_ write: (UnsafeRawBufferPointer) throws(Failure) -> Void) throws(Failure) { try release(count, write) }

  /// `range` has the last end of all.
  private static func cover(_ range: Range<Int>, _ covered: inout [Range<Int>]) {
    var start = range.lowerBound
    while let last = covered.last, last.upperBound >= start { start = min(start, covered.removeLast().lowerBound) }
    covered.append(start..<range.upperBound)
  }

  private mutating func release(_ size: Int, _ write: (UnsafeRawBufferPointer) throws(Failure) -> Void) throws(Failure) {
    var at = 0
    for range in covered where range.lowerBound < size {
      try pass(at..<range.lowerBound, write)
      if !(isInsideMark && range.lowerBound == at) { try Self.mark.utf8Span.span.bytes.withUnsafeBytes(write) }
      isInsideMark = true
      at = min(range.upperBound, size)
    }
    try pass(at..<size, write)
    covered = covered.filter { $0.upperBound > size }.map { max(0, $0.lowerBound - size)..<$0.upperBound - size }
    let (from, rest) = (size, count - size)
    held.withUnsafeMutableBytes { raw in
      UnsafeMutableRawBufferPointer(rebasing: raw[..<rest]).copyMemory(
        from: UnsafeRawBufferPointer(rebasing: raw[from..<from + rest]))
    }
    count = rest
  }

  private mutating func pass(_ range: Range<Int>, _ write: (UnsafeRawBufferPointer) throws(Failure) -> Void) throws(Failure) {
    guard !range.isEmpty else { return }
    isInsideMark = false
    try held.withUnsafeBytes { (raw) throws(Failure) in try write(UnsafeRawBufferPointer(rebasing: raw[range])) }
  }
}

extension OutputMask {
  /// The secrets to find: each value without a newline at its end, and each line of a longer one, because programs print
  /// them so.
  ///
  /// - Parameter tooShort: called for each value that is too short altogether.
  static func secrets(of values: [SecretForm], tooShort: () -> Void) throws -> [SecretForm] {
    try values.flatMap { form in
      let value = try form.bytes.withoutTrailingNewline(.lineFeedOrCRLF)
      let lines = try value.withUnsafeBytes { raw in
        try raw.split { $0 == 0x0A || $0 == 0x0D }.filter { $0.count >= shortest }.map {
          SecretForm(try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0)))
        }
      }
      guard value.count >= shortest else {
        tooShort()
        return [SecretForm]()
      }
      return [SecretForm(value)] + lines
    }
  }
}
