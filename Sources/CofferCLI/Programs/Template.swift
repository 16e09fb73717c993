internal import Coffer

/// A text in which `{{ coffer://service/account }}` stands for a secret. Anything else in double braces belongs to somebody else and
/// is left as it is.
struct Template {
  /// Bytes of what comes out, at most: a template that multiplies a large value shall not fill the memory.
  static let largestResult = 16 << 20

  private enum Piece {
    case text(Range<Int>)
    case reference(Reference)
  }
  private var pieces: [Piece] = []

  /// The references in it, in their order.
  var references: [Reference] {
    pieces.compactMap { piece in if case .reference(let reference) = piece { reference } else { nil } }
  }

  /// - Throws: a usage failure that names the line of a reference that is none.
  init(_ template: borrowing SecretBytes, place: String) throws {
    let found = try template.withUnsafeBytes { raw in try Self.pieces(of: raw, place) }
    pieces = found
  }

  private static func pieces(of raw: UnsafeRawBufferPointer, _ place: String) throws -> [Piece] {
    var pieces: [Piece] = []
    var (start, at) = (0, 0)
    while at + 1 < raw.count {
      guard raw[at] == UInt8(ascii: "{"), raw[at + 1] == UInt8(ascii: "{"), let inside = inside(raw, from: at + 2) else {
        at += 1
        continue
      }
      let line = raw[..<at].count { $0 == 0x0A } + 1
      guard let end = inside.end, let text = PlainBytes.text(UnsafeRawBufferPointer(rebasing: raw[inside.start..<end.text]))
      else {
        throw Failure.usage(
          "line \(line): a reference has no '}}' after it (\(place))", try: "{{ coffer://service/account }}; nothing was written")
      }
      pieces.append(.text(start..<at))
      do throws(Failure) { pieces.append(.reference(try Reference(text))) } catch {
        throw Failure.usage("line \(line): \(error.what) (\(place))", try: "\(error.cure ?? "another"); nothing was written")
      }
      (start, at) = (end.braces, end.braces)
    }
    pieces.append(.text(start..<raw.count))
    return pieces
  }

  /// Where a reference begins after double braces, and ends, if it does; nil when there is none.
  private static func inside(
    _ raw: UnsafeRawBufferPointer, from opening: Int
  ) -> (start: Int, end: (text: Int, braces: Int)?)? {
    var start = opening
    while start < raw.count, raw[start] == 0x20 || raw[start] == 0x09 { start += 1 }
    guard raw[start...].starts(with: Reference.scheme.utf8) else { return nil }
    var end = start
    while end + 1 < raw.count, raw[end] != 0x0A {
      if raw[end] == UInt8(ascii: "}"), raw[end + 1] == UInt8(ascii: "}") {
        var text = end
        while text > start, raw[text - 1] == 0x20 || raw[text - 1] == 0x09 { text -= 1 }
        return (start, (text, end + 2))
      }
      end += 1
    }
    return (start, nil)
  }

  /// The text with every reference replaced by what it names.
  ///
  /// - Throws: `.tooLarge`.
  func filled(_ template: borrowing SecretBytes, with values: References) throws -> SecretBytes {
    let size = pieces.reduce(0) { size, piece in
      switch piece {
      case .text(let range): size + range.count
      case .reference(let reference): size + values[reference].bytes.count
      }
    }
    guard size <= Self.largestResult else {
      throw StoreError(
        .tooLarge(limit: Self.largestResult), "the result is larger than \(Self.largestResult) bytes", cure: "several templates")
    }
    var result = try SecretBytes(zeros: size)
    template.withUnsafeBytes { raw in result.withUnsafeMutableBytes { write(raw, values, to: $0) } }
    return result
  }

  private func write(_ raw: UnsafeRawBufferPointer, _ values: References, to out: UnsafeMutableRawBufferPointer) {
    var at = 0
    func put(_ bytes: UnsafeRawBufferPointer) {
      UnsafeMutableRawBufferPointer(rebasing: out[at..<at + bytes.count]).copyMemory(from: bytes)
      at += bytes.count
    }
    for piece in pieces {
      switch piece {
      case .text(let range): put(UnsafeRawBufferPointer(rebasing: raw[range]))
      case .reference(let reference): values[reference].bytes.withUnsafeBytes(put)
      }
    }
  }
}
