package enum Key: Equatable {
  case text(Unicode.Scalar)
  case control(Character)
  case enter, escape, erase
  case up, down, pageUp, pageDown, first, last

  fileprivate var isText: Bool { if case .text = self { true } else { false } }
}

/// Reads keys from a terminal's bytes, however they are cut; those without a meaning here give nothing.
///
/// Esc begins other keys too: alone it is a key after ``patience`` or before another control character. `ESC [` and `ESC O`
/// always begin a longer key.
package struct KeyReader {
  /// Milliseconds. A terminal sends a key at once; a network may divide it, but seldom by more.
  static let patience: Int32 = 25
  /// Known keys have at most 7 bytes. The rest of a longer sequence is read as text.
  private static let longest = 32
  private static let escape: UInt8 = 0x1B

  private var held: [UInt8] = []
  /// Only text is taken from what is pasted: a newline there is not Enter.
  private var isPasted = false

  package init() {}

  /// A pause would make a key.
  package var isAtEscape: Bool { held == [Self.escape] && !isPasted }

  package mutating func pause() -> Key? {
    guard isAtEscape else { return nil }
    held = []
    return .escape
  }

  package mutating func keys(_ bytes: some Sequence<UInt8>) -> [Key] {
    bytes.flatMap { byte -> [Key] in
      let keys = take(byte)
      return isPasted ? keys.filter(\.isText) : keys
    }
  }

  private mutating func take(_ byte: UInt8) -> [Key] {
    guard let first = held.first else { return begin(byte) }
    if first != Self.escape { return takeText(byte) }
    guard held.count > 1 else { return takeAfterEscape(byte) }
    // Source: ECMA-48, 5.4. The Linux console sends F1 to F5 as ESC [ [ and a letter.
    let isInside = 0x20...0x3F ~= byte || held.count == 2 && byte == UInt8(ascii: "[")
    if isInside, held.count < Self.longest {
      held.append(byte)
      return []
    }
    let parameters = held.dropFirst(2)
    held = []
    guard 0x40...0x7E ~= byte else { return begin(byte) }
    switch String(decoding: parameters + [byte], as: UTF8.self) {
    case "200~": isPasted = true
    case "201~": isPasted = false
    default: break
    }
    return Self.key(parameters, byte).map { [$0] } ?? []
  }

  private mutating func begin(_ byte: UInt8) -> [Key] {
    switch byte {
    case Self.escape, 0xC2...0xF4: held = [byte]
    case 0x0A, 0x0D: return [.enter]
    case 0x08, 0x7F: return [.erase]
    case 0x01...0x1A: return [.control(Character(Unicode.Scalar(byte + 0x60)))]
    case 0x20...0x7E: return [.text(Unicode.Scalar(byte))]
    default: break
    }
    return []
  }

  private mutating func takeAfterEscape(_ byte: UInt8) -> [Key] {
    if byte == UInt8(ascii: "[") || byte == UInt8(ascii: "O") {
      held.append(byte)
      return []
    }
    // The second one may begin the end of the pasted text.
    held = isPasted && byte == Self.escape ? [byte] : []
    if byte == Self.escape { return [.escape] }
    // Another character with Alt.
    return byte < 0x20 ? [.escape] + begin(byte) : []
  }

  private mutating func takeText(_ byte: UInt8) -> [Key] {
    guard 0x80...0xBF ~= byte else {
      held = []
      return begin(byte)
    }
    held.append(byte)
    let needed = held[0] < 0xE0 ? 2 : held[0] < 0xF0 ? 3 : 4
    guard held.count == needed else { return [] }
    defer { held = [] }
    return String(validating: held, as: UTF8.self)?.unicodeScalars.map { .text($0) } ?? []
  }

  /// - Parameter end: the last byte: `ESC [ 5 ~` is PageUp, `ESC [ 1 ; 5 A` is Up with Control.
  private static func key(_ parameters: ArraySlice<UInt8>, _ end: UInt8) -> Key? {
    guard parameters.first != UInt8(ascii: "[") else { return nil }
    switch end {
    case UInt8(ascii: "A"): return .up
    case UInt8(ascii: "B"): return .down
    case UInt8(ascii: "H"): return .first
    case UInt8(ascii: "F"): return .last
    case UInt8(ascii: "~"): break
    default: return nil
    }
    return switch String(decoding: parameters.prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self) {
    case "1", "7": .first
    case "4", "8": .last
    case "5": .pageUp
    case "6": .pageDown
    default: nil
    }
  }
}
