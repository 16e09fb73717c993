/// Encodes and decodes Base64 within guarded memory. Source: RFC 4648, section 4, with padding only.
package enum SecretBase64 {
  /// Hands the Base64 of `raw` to `put`, byte by byte. Foundation's encoder would leave a copy in ordinary memory.
  package static func encode(_ raw: UnsafeRawBufferPointer, _ put: (UInt8) -> Void) {
    let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    for start in stride(from: 0, to: raw.count, by: 3) {
      let have = min(3, raw.count - start)
      let bits = (0..<3).reduce(0) { $0 << 8 | ($1 < have ? Int(raw[start + $1]) : 0) }
      for digit in 0..<4 { put(digit <= have ? alphabet.utf8Start[bits >> (18 - 6 * digit) & 63] : UInt8(ascii: "=")) }
    }
  }

  /// The decoded bytes; nil if `text` is no Base64.
  package static func decode(_ text: borrowing SecretBytes) throws -> SecretBytes? {
    let count = text.count
    guard count.isMultiple(of: 4) else { return nil }
    let padding = text.withUnsafeBytes { raw in raw.suffix(2).count { $0 == UInt8(ascii: "=") } }
    var bytes = try SecretBytes(zeros: count / 4 * 3 - padding)
    let isValid = text.withUnsafeBytes { raw in bytes.withUnsafeMutableBytes { write(raw, padding, to: $0) } }
    guard isValid else { return nil }
    return consume bytes
  }

  private static func write(_ raw: UnsafeRawBufferPointer, _ padding: Int, to out: UnsafeMutableRawBufferPointer) -> Bool {
    for start in stride(from: 0, to: raw.count, by: 4) {
      var bits: UInt32 = 0
      for index in start..<start + 4 {
        let isPadding = index >= raw.count - padding
        guard let value = isPadding ? 0 : value(raw[index]) else { return false }
        bits = bits << 6 | value
      }
      for (place, shift) in [16, 8, 0].enumerated() {
        let at = start / 4 * 3 + place
        if at < out.count {
          out[at] = UInt8(truncatingIfNeeded: bits >> UInt32(shift))
        } else if bits >> UInt32(shift) & 0xFF != 0 {
          return false  // Bits beyond the end: a second spelling of the same bytes.
        }
      }
    }
    return true
  }

  private static func value(_ digit: UInt8) -> UInt32? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
