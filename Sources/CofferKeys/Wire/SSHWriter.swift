package import CofferMemory
package import CofferPlatform

/// Writes the fields of SSH into guarded memory, so that one writer serves public keys and private ones.
///
/// Source: RFC 4251, section 5.
package struct SSHWriter: ~Copyable {
  private var room: SecretBytes
  private(set) var count = 0

  /// - Throws: ``StoreError`` `.memory`, as all that writes.
  package init() throws(StoreError) { room = try StoreError.guarding { try SecretBytes(zeros: 256) } }

  /// Bytes without a count.
  package mutating func put(raw: UnsafeRawBufferPointer) throws(StoreError) {
    if raw.count > room.count - count {
      let size = 2 * (count + raw.count)
      var larger = try StoreError.guarding { try SecretBytes(zeros: size) }
      larger.withUnsafeMutableBytes { out in room.withUnsafeBytes { out.copyMemory(from: $0) } }
      room = larger
    }
    let start = count
    room.withUnsafeMutableBytes { UnsafeMutableRawBufferPointer(rebasing: $0[start...]).copyMemory(from: raw) }
    count += raw.count
  }

  package mutating func put(raw: [UInt8]) throws(StoreError) {
    try raw.withBytes { (raw) throws(StoreError) in try put(raw: raw) }
  }
  package mutating func put(_ number: UInt32) throws(StoreError) {
    try put(raw: [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) })
  }

  /// A string.
  ///
  /// - Precondition: `bytes` are fewer than 2^32; all that is written was read from such a field or is shorter.
  package mutating func put(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
    try put(UInt32(bytes.count))
    try put(raw: bytes)
  }
  package mutating func put(_ bytes: [UInt8]) throws(StoreError) {
    try bytes.withBytes { (raw) throws(StoreError) in try put(raw) }
  }
  package mutating func put(_ text: String) throws(StoreError) { try put(Array(text.utf8)) }

  /// A positive `mpint`, of big-endian `digits`.
  package mutating func put(number digits: UnsafeRawBufferPointer) throws(StoreError) {
    let digits = UnsafeRawBufferPointer(rebasing: digits.drop { $0 == 0 })
    let sign = digits.first.map { $0 >= 0x80 } ?? false ? 1 : 0
    try put(UInt32(digits.count + sign))
    if sign > 0 { try put(raw: [0]) }
    try put(raw: digits)
  }

  /// The written bytes, in guarded memory.
  package consuming func secret() -> SecretBytes {
    room.truncate(to: count)
    return room
  }

  /// The written bytes, if they are public.
  package func bytes() -> [UInt8] { room.withUnsafeBytes { Array($0.prefix(count)) } }
}
