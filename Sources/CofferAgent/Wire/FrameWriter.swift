internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage

/// In guarded memory: its length, then the body.
package struct FrameWriter: ~Copyable {
  private var bytes: SecretBytes
  private var used: Int

  /// Fits most requests and answers; it is a block of a small slab.
  private static let firstCapacity = 512

  init(request: AgentProtocol.Request) throws(StoreError) { try self.init(kind: request.rawValue) }
  init(answer: AgentProtocol.Answer) throws(StoreError) { try self.init(kind: answer.rawValue) }
  /// The request to end, equal in all protocol versions.
  init(stopInVersion version: UInt8) throws(StoreError) {
    try self.init(request: .stop)
    bytes.withUnsafeMutableBytes { $0[4] = version }
  }

  private init(kind: UInt8) throws(StoreError) {
    let made: SecretBytes
    do throws(SecretMemoryError) { made = try SecretBytes(zeros: Self.firstCapacity) } catch { throw StoreError(memory: error) }
    self.init(made, kind)
  }

  private init(_ memory: consuming SecretBytes, _ kind: UInt8) {
    bytes = memory
    bytes.withUnsafeMutableBytes { buffer in
      buffer[4] = AgentProtocol.version
      buffer[5] = kind
    }
    used = 6
  }

  /// A page: its kind and count are known once it is full.
  init(page: ()) throws(StoreError) {
    try self.init(kind: AgentProtocol.Answer.done.rawValue)
    used += 4
  }

  /// Completes a page of `count` elements.
  mutating func finishPage(_ count: UInt32, isLast: Bool) {
    let answer: AgentProtocol.Answer = isLast ? .done : .more
    bytes.withUnsafeMutableBytes { buffer in
      buffer.storeBytes(of: answer.rawValue, toByteOffset: 5, as: UInt8.self)
      buffer.storeBytes(of: count.littleEndian, toByteOffset: 6, as: UInt32.self)
    }
  }

  var bodyCount: Int { used - 4 }

  mutating func put(_ byte: UInt8) throws(StoreError) { try put(integer: byte) }
  mutating func put(_ value: Bool) throws(StoreError) { try put(integer: value ? 1 : 0 as UInt8) }
  mutating func put(_ value: UInt32) throws(StoreError) { try put(integer: value) }
  mutating func put(_ value: UInt64) throws(StoreError) { try put(integer: value) }

  private mutating func put(integer: some FixedWidthInteger) throws(StoreError) {
    try withUnsafeBytes(of: integer.littleEndian) { (raw) throws(StoreError) in try append(raw) }
  }

  /// A length and the text's UTF-8.
  mutating func put(_ text: String) throws(StoreError) {
    try put(UInt32(clamping: text.utf8.count))
    try text.utf8Span.span.bytes.withUnsafeBytes { (raw) throws(StoreError) in try append(raw) }
  }

  mutating func put(_ value: (some WireValue)?) throws(StoreError) {
    try put(value != nil)
    if let value { try value.put(in: &self) }
  }

  /// A length and the bytes.
  mutating func put(_ array: [UInt8]) throws(StoreError) {
    try put(UInt32(clamping: array.count))
    try array.span.bytes.withUnsafeBytes { (raw) throws(StoreError) in try append(raw) }
  }

  /// A length and bytes in guarded memory.
  mutating func put(prefixed raw: UnsafeRawBufferPointer) throws(StoreError) {
    try put(UInt32(clamping: raw.count))
    try append(raw)
  }

  /// A length and the secret, copied within guarded memory.
  mutating func put(_ secret: borrowing SecretBytes) throws(StoreError) {
    try put(UInt32(clamping: secret.count))
    try secret.withUnsafeBytes { (raw) throws(StoreError) in try append(raw) }
  }

  private mutating func append(_ raw: UnsafeRawBufferPointer) throws(StoreError) {
    let end = used + raw.count
    guard end - 4 <= AgentProtocol.largestBody else {
      throw StoreError(
        .tooLarge(limit: AgentProtocol.largestBody), "more than the agent takes in one piece",
        cure: "make smaller transactions, or unlock the vault in this process")
    }
    if end > bytes.count { try grow(to: end) }
    let start = used
    bytes.withUnsafeMutableBytes { buffer in
      UnsafeMutableRawBufferPointer(rebasing: buffer[start..<end]).copyMemory(from: raw)
    }
    used = end
  }

  private mutating func grow(to count: Int) throws(StoreError) {
    var capacity = bytes.count
    while capacity < count { capacity *= 2 }
    do throws(SecretMemoryError) {
      var larger = try SecretBytes(zeros: capacity)
      bytes.withUnsafeBytes { old in larger.withUnsafeMutableBytes { $0.copyMemory(from: old) } }
      bytes = larger
    } catch { throw StoreError(memory: error) }
  }

  consuming func withFrame<Result, Failure>(_ body: (UnsafeRawBufferPointer) throws(Failure) -> Result) throws(Failure) -> Result
  {
    let (length, end) = (UInt32(bodyCount).littleEndian, used)
    return try bytes.withUnsafeMutableBytes { (buffer) throws(Failure) in
      buffer.storeBytes(of: length, as: UInt32.self)
      return try body(UnsafeRawBufferPointer(rebasing: buffer[..<end]))
    }
  }
}
