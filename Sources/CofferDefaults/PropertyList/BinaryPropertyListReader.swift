internal import CofferStorage
internal import FoundationEssentials

/// Reads binary property lists.
///
/// ```
/// bplist00, the objects, their offsets, and a trailer of 32 bytes, numbers big-endian:
/// 6  bytes of an offset, UInt8      7  bytes of a reference, UInt8
/// 8  number of objects, UInt64     16  the topmost one, UInt64     24  where the offsets are, UInt64
/// ```
/// An object is a byte with its kind and size, then its content. Collections refer to their elements by number. A reference
/// may lead anywhere, even to its own collection, so both depth and number of the values read are bounded.
///
/// Source: `CFBinaryPList.c` of swift-corelibs-foundation.
struct BinaryPropertyListReader {
  private let bytes: UnsafeRawBufferPointer
  private let offsets: Int, offsetWidth: Int, referenceWidth: Int, count: Int
  private var left = mostValues, bytesLeft = Budget.file

  private static let trailerBytes = 32
  /// Each reference counts as a value: a few bytes could mean more than any memory holds. A writable domain has at most a
  /// quarter of this.
  private static let mostValues = 4 * Budget.domain / Budget.perElement

  static func isBinary(_ data: Data) -> Bool { data.starts(with: "bplist".utf8) }

  static let damaged = PropertyList.Failure(what: "the file is a damaged binary property list")

  static func read(_ bytes: UnsafeRawBufferPointer) throws(PropertyList.Failure) -> PlainForm {
    var (reader, top) = try opened(bytes)
    return try reader.value(top, depth: 0)
  }

  private static func opened(
    _ bytes: UnsafeRawBufferPointer
  ) throws(PropertyList.Failure) -> (reader: BinaryPropertyListReader, top: Int) {
    let trailer = bytes.count - trailerBytes
    guard trailer > 8, bytes.starts(with: "bplist0".utf8) else { throw damaged }
    let widths = (Int(bytes[trailer + 6]), Int(bytes[trailer + 7]))
    guard (1...8).contains(widths.0), (1...8).contains(widths.1), let count = number(bytes, trailer + 8, 8),
      let top = number(bytes, trailer + 16, 8), let offsets = number(bytes, trailer + 24, 8), top < count,
      offsets > 8, offsets <= trailer, (trailer - offsets).quotientAndRemainder(dividingBy: widths.0) == (count, 0)
    else { throw damaged }
    let reader = BinaryPropertyListReader(
      bytes: bytes, offsets: offsets, offsetWidth: widths.0, referenceWidth: widths.1, count: count)
    for object in 0..<count { _ = try reader.offset(of: object) }
    return (reader, top)
  }

  private init(bytes: UnsafeRawBufferPointer, offsets: Int, offsetWidth: Int, referenceWidth: Int, count: Int) {
    (self.bytes, self.offsets, self.count) = (bytes, offsets, count)
    (self.offsetWidth, self.referenceWidth) = (offsetWidth, referenceWidth)
  }

  static func number(_ bytes: UnsafeRawBufferPointer, _ offset: Int, _ width: Int) -> Int? {
    Int(exactly: bytes[offset..<offset + width].reduce(0 as UInt64) { $0 << 8 | UInt64($1) })
  }

  private func content(_ start: Int, _ size: Int, width: Int = 1) throws(PropertyList.Failure) -> UnsafeRawBufferPointer {
    guard size <= (offsets - start) / width else { throw Self.damaged }
    return UnsafeRawBufferPointer(rebasing: bytes[start..<start + size * width])
  }

  private func offset(of object: Int) throws(PropertyList.Failure) -> Int {
    guard object < count, let offset = Self.number(bytes, offsets + object * offsetWidth, offsetWidth), offset >= 8,
      offset < offsets
    else { throw Self.damaged }
    return offset
  }

  private mutating func value(_ object: Int, depth: Int) throws(PropertyList.Failure) -> PlainForm {
    guard depth <= XMLPropertyListReader.deepest else { throw Self.damaged }
    let offset = try offset(of: object)
    let (kind, low) = (bytes[offset] >> 4, Int(bytes[offset] & 0xF))
    switch kind {
    case 0x0 where low == 8 || low == 9: return .bool(low == 9)
    case 0x1 where low <= 4: return try integer(content(offset + 1, 1 << low))
    case 0x2 where low == 2 || low == 3: return .real(real(try content(offset + 1, 1 << low)))
    case 0x3 where low == 3: return .date(try date(content(offset + 1, 8)))
    case 0x8: return try reference(content(offset + 1, low + 1))
    case 0x4, 0x5, 0x6, 0xA, 0xD:
      let (start, size) = try size(low, offset + 1)
      return try sized(kind, start, size, depth)
    default: throw PropertyList.Failure(what: "the property list holds a value that is not a preference")
    }
  }

  private mutating func sized(_ kind: UInt8, _ start: Int, _ size: Int, _ depth: Int) throws(PropertyList.Failure) -> PlainForm {
    switch kind {
    case 0x4: .data(Data(try counted(content(start, size))))
    case 0x5: .string(ascii(try counted(content(start, size))))
    case 0x6: .string(utf16(try counted(content(start, size, width: 2))))
    case 0xA: try array(content(start, size, width: referenceWidth), depth + 1)
    default: try dictionary(content(start, size, width: 2 * referenceWidth), depth + 1)
    }
  }

  /// A size over 14 follows the kind as a separate integer.
  private func size(_ low: Int, _ start: Int) throws(PropertyList.Failure) -> (start: Int, size: Int) {
    guard low == 0xF else { return (start, low) }
    let marker = try content(start, 1)[0]
    let width = 1 << Int(marker & 0xF)
    guard marker >> 4 == 0x1, width <= 8, let size = Self.number(try content(start + 1, width), 0, width) else {
      throw Self.damaged
    }
    return (start + 1 + width, size)
  }

  private mutating func counted(_ content: UnsafeRawBufferPointer) throws(PropertyList.Failure) -> UnsafeRawBufferPointer {
    guard content.count <= bytesLeft else { throw Self.damaged }
    bytesLeft -= content.count
    return content
  }

  private mutating func count(values: Int) throws(PropertyList.Failure) {
    guard values <= left else { throw Self.damaged }
    left -= values
  }

  private func element(_ references: UnsafeRawBufferPointer, _ index: Int) throws(PropertyList.Failure) -> Int {
    guard let object = Self.number(references, index * referenceWidth, referenceWidth) else { throw Self.damaged }
    return object
  }

  private mutating func array(_ references: UnsafeRawBufferPointer, _ depth: Int) throws(PropertyList.Failure) -> PlainForm {
    let size = references.count / referenceWidth
    try count(values: size)
    var items: [PlainForm] = []
    items.reserveCapacity(size)
    for index in 0..<size { items.append(try value(element(references, index), depth: depth)) }
    return .array(items)
  }

  /// All keys, then all values. The first value of a repeated key counts.
  private mutating func dictionary(_ references: UnsafeRawBufferPointer, _ depth: Int) throws(PropertyList.Failure) -> PlainForm {
    let size = references.count / (2 * referenceWidth)
    try count(values: 2 * size)
    var items = [String: PlainForm](minimumCapacity: size)
    for index in 0..<size {
      guard case .string(let key) = try value(element(references, index), depth: depth) else {
        throw PropertyList.Failure(what: "the property list has a key that is not text")
      }
      let item = try value(element(references, size + index), depth: depth)
      if items[key] == nil { items[key] = item }
    }
    return .dictionary(items)
  }
}

extension BinaryPropertyListReader {
  /// Up to four bytes have no sign, eight have one, and sixteen hold numbers above `Int64.max`.
  func integer(_ content: UnsafeRawBufferPointer) throws(PropertyList.Failure) -> PlainForm {
    let low = content.suffix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    guard content.count == 16 else { return .integer(Int64(bitPattern: low)) }
    let high = content.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    if high == 0 { return Int64(exactly: low).map(PlainForm.integer) ?? .unsigned(low) }
    guard high == .max, low >> 63 == 1 else { throw Self.damaged }
    return .integer(Int64(bitPattern: low))
  }

  /// Maps the many bit patterns of not-a-number to one, as Foundation does.
  func real(_ content: UnsafeRawBufferPointer) -> Double {
    let bits = content.reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    let number =
      content.count == 4 ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))) : Double(bitPattern: bits)
    return number.isNaN ? .nan : number
  }

  /// Seconds since the beginning of 2001.
  func date(_ content: UnsafeRawBufferPointer) throws(PropertyList.Failure) -> Date {
    let seconds = real(content)
    // It would not equal itself.
    guard seconds.isFinite else { throw Self.damaged }
    return Date(timeIntervalSinceReferenceDate: seconds)
  }

  /// Foundation reads bytes that are not ASCII as Latin 1.
  func ascii(_ content: UnsafeRawBufferPointer) -> String {
    guard content.contains(where: { $0 >= 0x80 }) else { return String(decoding: content, as: UTF8.self) }
    return String(decoding: content.map(UInt16.init), as: UTF16.self)
  }

  /// Half a surrogate pair becomes U+FFFD, as when Foundation bridges text to Swift.
  func utf16(_ content: UnsafeRawBufferPointer) -> String {
    let units = stride(from: 0, to: content.count, by: 2).map { UInt16(content[$0]) << 8 | UInt16(content[$0 + 1]) }
    return String(decoding: units, as: UTF16.self)
  }

  /// ``PlainForm`` has no reference inside a keyed archive. It keeps its XML form, `{CF$UID: n}`.
  func reference(_ content: UnsafeRawBufferPointer) throws(PropertyList.Failure) -> PlainForm {
    guard content.count <= 8, let number = Self.number(content, 0, content.count), let number = UInt32(exactly: number) else {
      throw Self.damaged
    }
    return .dictionary([PropertyList.referenceKey: .integer(Int64(number))])
  }
}
