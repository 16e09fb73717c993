internal import FoundationEssentials

/// A look at a binary property list before Foundation reads it: a damaged byte can turn a value into a set, which no property
/// list of preferences holds and whose conversion to Swift ends the process (Swift 6.3 on Linux).
///
/// ```
/// bplist00, the objects, their offsets, and a trailer of 32 bytes, numbers big-endian:
/// 6  bytes of an offset, UInt8      7  bytes of a reference, UInt8
/// 8  number of objects, UInt64     16  the topmost one, UInt64     24  where the offsets are, UInt64
/// ```
/// Source: `CFBinaryPList.c` of swift-corelibs-foundation.
enum BinaryPropertyList {
  private static let trailerBytes = 32

  /// Whether every object in `data` is of a kind that a property list has. What is wrong otherwise, Foundation finds.
  static func hasKnownKindsOnly(_ data: Data) -> Bool {
    data.bytes.withUnsafeBytes { bytes in
      guard bytes.count > trailerBytes else { return false }
      let trailer = bytes.count - trailerBytes
      let width = Int(bytes[trailer + 6])
      guard (1...8).contains(width), let count = number(bytes, at: trailer + 8, width: 8),
        let table = number(bytes, at: trailer + 24, width: 8), table <= trailer, count <= (trailer - table) / width
      else { return false }
      for object in 0..<count {
        guard let offset = number(bytes, at: table + object * width, width: width), offset < table, isKnown(bytes[offset])
        else { return false }
      }
      return true
    }
  }

  /// False, true, integers, reals, dates, data, both kinds of text, references of keyed archives, arrays, dictionaries.
  private static func isKnown(_ marker: UInt8) -> Bool {
    switch marker >> 4 {
    case 0x0: marker == 0x08 || marker == 0x09
    case 0x1, 0x2, 0x3, 0x4, 0x5, 0x6, 0x8, 0xA, 0xD: true
    default: false
    }
  }

  private static func number(_ bytes: UnsafeRawBufferPointer, at offset: Int, width: Int) -> Int? {
    var number: UInt64 = 0
    for index in offset..<offset + width { number = number << 8 | UInt64(bytes[index]) }
    return Int(exactly: number)
  }
}
