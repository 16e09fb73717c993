internal import CofferStorage
internal import FoundationEssentials

/// Writes the format that ``BinaryPropertyListReader`` describes: a collection after its elements, the whole list last.
struct BinaryPropertyListWriter {
  private var bytes = Array("bplist00".utf8)
  private var offsets: [Int] = []
  private let referenceWidth: Int

  static func encode(_ values: [String: PlainForm]) -> Data {
    let root = PlainForm.dictionary(values)
    var writer = BinaryPropertyListWriter(objects: objects(in: root))
    let top = writer.put(root)
    writer.finish(top)
    return Data(writer.bytes)
  }

  private init(objects: Int) { referenceWidth = Self.width(of: objects) }

  private static func objects(in form: PlainForm) -> Int {
    switch form {
    case .array(let items): items.reduce(1) { $0 + objects(in: $1) }
    case .dictionary(let items): items.values.reduce(1 + items.count) { $0 + objects(in: $1) }
    default: 1
    }
  }

  /// A power of two.
  private static func width(of greatest: Int) -> Int {
    greatest < 1 << 8 ? 1 : greatest < 1 << 16 ? 2 : greatest < 1 << 32 ? 4 : 8
  }

  /// Returns the object's number.
  private mutating func put(_ form: PlainForm) -> Int {
    switch form {
    case .bool(let value): return object { $0.bytes.append(value ? 0x09 : 0x08) }
    case .integer(let value): return object { $0.put(integer: value) }
    case .unsigned(let value):
      return object { writer in
        writer.bytes.append(0x14)
        writer.put(0, width: 8)
        writer.put(value, width: 8)
      }
    case .real(let value): return object { $0.put(0x23, value) }
    case .date(let value): return object { $0.put(0x33, value.timeIntervalSinceReferenceDate) }
    case .data(let data):
      return object { writer in
        writer.put(0x4, size: data.count)
        writer.bytes.append(contentsOf: data)
      }
    case .string(let text), .argument(let text): return object { $0.put(text) }
    case .array(let items):
      let references = items.map { put($0) }
      return object { $0.put(0xA, size: items.count, references) }
    case .dictionary(let items): return put(items)
    }
  }

  private mutating func put(_ items: [String: PlainForm]) -> Int {
    if items.count == 1, case .integer(let number)? = items[PropertyList.referenceKey], let reference = UInt32(exactly: number) {
      return object { writer in
        let width = Self.width(of: Int(reference))
        writer.bytes.append(0x80 | UInt8(width - 1))
        writer.put(UInt64(reference), width: width)
      }
    }
    var keys: [Int] = [], values: [Int] = []
    for (key, item) in items.sorted(by: { $0.key.byteOrder($1.key) < 0 }) {
      keys.append(object { $0.put(key) })
      values.append(put(item))
    }
    return object { $0.put(0xD, size: items.count, keys + values) }
  }

  private mutating func object(_ body: (inout BinaryPropertyListWriter) -> Void) -> Int {
    offsets.append(bytes.count)
    body(&self)
    return offsets.count - 1
  }

  private mutating func put(_ number: UInt64, width: Int) {
    for byte in (0..<width).reversed() { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * UInt64(byte)))) }
  }

  private mutating func put(integer value: Int64) {
    let width = value < 0 ? 8 : Self.width(of: Int(value))
    bytes.append(0x10 | UInt8(width.trailingZeroBitCount))
    put(UInt64(bitPattern: value), width: width)
  }

  private mutating func put(_ marker: UInt8, _ value: Double) {
    bytes.append(marker)
    put(value.bitPattern, width: 8)
  }

  private mutating func put(_ text: String) {
    if text.utf8.allSatisfy({ $0 < 0x80 }) {
      put(0x5, size: text.utf8.count)
      bytes.append(contentsOf: text.utf8)
    } else {
      put(0x6, size: text.utf16.count)
      for unit in text.utf16 { put(UInt64(unit), width: 2) }
    }
  }

  private mutating func put(_ kind: UInt8, size: Int, _ references: [Int] = []) {
    bytes.append(kind << 4 | UInt8(min(size, 0xF)))
    if size >= 0xF { put(integer: Int64(size)) }
    for reference in references { put(UInt64(reference), width: referenceWidth) }
  }

  private mutating func finish(_ top: Int) {
    let table = bytes.count, offsetWidth = Self.width(of: table)
    for offset in offsets { put(UInt64(offset), width: offsetWidth) }
    bytes.append(contentsOf: [0, 0, 0, 0, 0, 0, UInt8(offsetWidth), UInt8(referenceWidth)])
    for number in [offsets.count, top, table] { put(UInt64(number), width: 8) }
  }
}
