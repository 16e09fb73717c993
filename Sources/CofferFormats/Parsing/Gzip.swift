internal import Coffer
internal import CofferMemory
internal import CofferPlatform

/// Unpacks a gzip file within guarded memory: zlib would leave what it unpacks in its own.
///
/// Sources: RFC 1951 and RFC 1952.
enum Gzip {
  /// Nil for damaged bytes, and for a header with a name or another extra.
  ///
  /// - Throws: `.tooLarge` for a file that unpacks to more than `limit` bytes, before it is unpacked.
  static func unpack(_ packed: borrowing SecretBytes, limit: Int) throws -> SecretBytes? {
    let count = packed.withUnsafeBytes { raw -> UInt32? in
      raw.count < 18 || !raw.starts(with: [0x1F, 0x8B, 8, 0]) ? nil : number(raw, at: raw.count - 4)
    }
    guard let count else { return nil }
    guard count <= limit else { throw tooLarge(limit) }
    var bytes = try SecretBytes(zeros: Int(count))
    let isWhole = packed.withUnsafeBytes { raw in
      bytes.withUnsafeMutableBytes { out in
        var inflating = Inflating(bytes: UnsafeRawBufferPointer(rebasing: raw[10..<raw.count - 8]), out: out)
        return inflating.run() && checksum(out) == number(raw, at: raw.count - 8)
      }
    }
    guard isWhole else { return nil }
    return consume bytes
  }

  static func tooLarge(_ limit: Int) -> StoreError {
    StoreError(.tooLarge(limit: limit), "the file has more than \(limit) bytes", cure: "store it elsewhere")
  }

  private static func number(_ raw: UnsafeRawBufferPointer, at place: Int) -> UInt32 {
    UInt32(littleEndian: raw.loadUnaligned(fromByteOffset: place, as: UInt32.self))
  }

  private static func checksum(_ bytes: UnsafeMutableRawBufferPointer) -> UInt32 {
    var sum = ~UInt32(0)
    for byte in bytes {
      sum ^= UInt32(byte)
      for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
    }
    return ~sum
  }
}

private struct Inflating {
  /// A canonical code: the number of its words of each length, and the symbols in their order.
  private struct Code {
    var counts = [Int](repeating: 0, count: 16)
    var symbols: [Int] = []

    /// Nil for lengths of more words than there are.
    init?(_ lengths: [Int]) {
      var free = 1
      for length in 1...15 {
        let words = lengths.indices.filter { lengths[$0] == length }
        counts[length] = words.count
        symbols += words
        free = free << 1 - words.count
        guard free >= 0 else { return nil }
      }
    }
  }

  private static let bases = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
  ]
  private static let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

  let bytes: UnsafeRawBufferPointer
  let out: UnsafeMutableRawBufferPointer
  private var offset = 0, count = 0, held: UInt = 0, heldBits = 0

  init(bytes: UnsafeRawBufferPointer, out: UnsafeMutableRawBufferPointer) { (self.bytes, self.out) = (bytes, out) }

  /// Whether the bytes fill `out` exactly.
  mutating func run() -> Bool {
    while let isLast = bits(1), let kind = bits(2) {
      let isSound =
        switch kind {
        case 0: stored()
        case 1: packed(Code(Self.fixed), Code([Int](repeating: 5, count: 30)))
        case 2: described()
        default: false
        }
      guard isSound else { return false }
      if isLast == 1 { return count == out.count }
    }
    return false
  }

  private static let fixed = (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 }

  private mutating func bits(_ wanted: Int) -> Int? {
    while heldBits < wanted {
      guard offset < bytes.count else { return nil }
      held |= UInt(bytes[offset]) << UInt(heldBits)
      (offset, heldBits) = (offset + 1, heldBits + 8)
    }
    defer { (held, heldBits) = (held >> UInt(wanted), heldBits - wanted) }
    return Int(held & (1 << UInt(wanted) - 1))
  }

  private mutating func next(_ code: Code) -> Int? {
    var (word, first, index) = (0, 0, 0)
    for length in 1...15 {
      guard let bit = bits(1) else { return nil }
      word |= bit
      let words = code.counts[length]
      if word - first < words { return code.symbols[index + word - first] }
      (index, first, word) = (index + words, (first + words) << 1, word << 1)
    }
    return nil
  }

  private mutating func stored() -> Bool {
    (held, heldBits) = (0, 0)
    guard let length = bits(16), bits(16) == ~length & 0xFFFF else { return false }
    guard offset + length <= bytes.count, count + length <= out.count else { return false }
    for _ in 0..<length {
      out[count] = bytes[offset]
      (count, offset) = (count + 1, offset + 1)
    }
    return true
  }

  /// A block that begins with its codes.
  private mutating func described() -> Bool {
    guard let literals = bits(5), let distances = bits(5), let words = bits(4), literals <= 29, distances <= 29 else {
      return false
    }
    var lengths = [Int](repeating: 0, count: 19)
    for place in Self.order.prefix(words + 4) {
      guard let length = bits(3) else { return false }
      lengths[place] = length
    }
    guard let code = Code(lengths) else { return false }
    lengths = []
    let all = literals + 257 + distances + 1
    while lengths.count < all {
      guard let symbol = next(code) else { return false }
      switch symbol {
      case 16:
        guard let last = lengths.last, let more = bits(2) else { return false }
        lengths += [Int](repeating: last, count: 3 + more)
      case 17, 18:
        guard let more = bits(symbol == 17 ? 3 : 7) else { return false }
        lengths += [Int](repeating: 0, count: (symbol == 17 ? 3 : 11) + more)
      default: lengths.append(symbol)
      }
    }
    guard lengths.count == all else { return false }
    return packed(Code(Array(lengths.prefix(literals + 257))), Code(Array(lengths.dropFirst(literals + 257))))
  }

  private mutating func packed(_ literals: Code?, _ distances: Code?) -> Bool {
    guard let literals, let distances else { return false }
    while let symbol = next(literals) {
      if symbol == 256 { return true }
      guard symbol > 256 else {
        guard count < out.count else { return false }
        out[count] = UInt8(symbol)
        count += 1
        continue
      }
      guard symbol < 286, let more = bits(symbol < 265 || symbol == 285 ? 0 : (symbol - 261) / 4),
        let word = next(distances), word < 30, let far = bits(word < 4 ? 0 : word / 2 - 1)
      else { return false }
      let length = Self.bases[symbol - 257] + more
      let distance = (word < 4 ? word : (2 + word % 2) << (word / 2 - 1)) + 1 + far
      guard distance <= count, count + length <= out.count else { return false }
      for _ in 0..<length {
        out[count] = out[count - distance]
        count += 1
      }
    }
    return false
  }
}
