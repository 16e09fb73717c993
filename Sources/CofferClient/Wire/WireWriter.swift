/// A message in memory for secrets: its length, then the body.
package struct WireWriter<Memory: WireMemory & ~Copyable>: ~Copyable {
  private var bytes: Memory
  private var used = 6

  /// Fits most requests and answers; a block of a small slab.
  private static var firstCapacity: Int { 512 }

  package init(request: AgentProtocol.Request) throws(Memory.WireFailure) { try self.init(kind: request.rawValue) }
  package init(answer: AgentProtocol.Answer) throws(Memory.WireFailure) { try self.init(kind: answer.rawValue) }

  /// - Parameter version: another one only for *stop*, which is the same in all versions of the protocol.
  init(kind: UInt8, version: UInt8 = AgentProtocol.version) throws(Memory.WireFailure) {
    bytes = try Memory.zeros(Self.firstCapacity)
    bytes.withUnsafeMutableBytes { buffer in
      buffer[4] = version
      buffer[5] = kind
    }
  }

  /// A page: its kind and count are known once it is full.
  package init(page: ()) throws(Memory.WireFailure) {
    try self.init(kind: AgentProtocol.Answer.done.rawValue)
    used += 4
  }

  /// Completes a page of `count` elements.
  package mutating func finishPage(_ count: UInt32, isLast: Bool) {
    let answer: AgentProtocol.Answer = isLast ? .done : .more
    bytes.withUnsafeMutableBytes { buffer in
      buffer.storeBytes(of: answer.rawValue, toByteOffset: 5, as: UInt8.self)
      buffer.storeBytes(of: count.littleEndian, toByteOffset: 6, as: UInt32.self)
    }
  }

  package var bodyCount: Int { used - 4 }

  package mutating func put(_ byte: UInt8) throws(Memory.WireFailure) { try put(integer: byte) }
  package mutating func put(_ value: Bool) throws(Memory.WireFailure) { try put(integer: value ? 1 : 0 as UInt8) }
  package mutating func put(_ value: UInt32) throws(Memory.WireFailure) { try put(integer: value) }
  package mutating func put(_ value: UInt64) throws(Memory.WireFailure) { try put(integer: value) }

  private mutating func put(integer: some FixedWidthInteger) throws(Memory.WireFailure) {
    try withUnsafeBytes(of: integer.littleEndian) { (raw) throws(Memory.WireFailure) in try append(raw) }
  }

  /// A length and the text's UTF-8.
  package mutating func put(_ text: String) throws(Memory.WireFailure) {
    try put(UInt32(clamping: text.utf8.count))
    try text.utf8Span.span.bytes.withUnsafeBytes { (raw) throws(Memory.WireFailure) in try append(raw) }
  }

  package mutating func put(optional text: String?) throws(Memory.WireFailure) {
    try put(text != nil)
    if let text { try put(text) }
  }

  /// Seconds since 1970, as the bits of a double, to avoid rounding.
  package mutating func put(seconds: Double) throws(Memory.WireFailure) { try put(seconds.bitPattern) }

  /// A length and the bytes.
  package mutating func put(_ array: [UInt8]) throws(Memory.WireFailure) {
    try put(UInt32(clamping: array.count))
    try array.span.bytes.withUnsafeBytes { (raw) throws(Memory.WireFailure) in try append(raw) }
  }

  /// A length and bytes in memory for secrets.
  package mutating func put(prefixed raw: UnsafeRawBufferPointer) throws(Memory.WireFailure) {
    try put(UInt32(clamping: raw.count))
    try append(raw)
  }

  private mutating func append(_ raw: UnsafeRawBufferPointer) throws(Memory.WireFailure) {
    let end = used + raw.count
    guard end - 4 <= AgentProtocol.largestBody else { throw Memory.WireFailure(.tooLargeMessage) }
    if end > bytes.count { try grow(to: end) }
    let start = used
    bytes.withUnsafeMutableBytes { buffer in
      UnsafeMutableRawBufferPointer(rebasing: buffer[start..<end]).copyMemory(from: raw)
    }
    used = end
  }

  private mutating func grow(to count: Int) throws(Memory.WireFailure) {
    var capacity = bytes.count
    while capacity < count { capacity *= 2 }
    var larger = try Memory.zeros(capacity)
    bytes.withUnsafeBytes { old in larger.withUnsafeMutableBytes { $0.copyMemory(from: old) } }
    bytes = larger
  }

  package consuming func withFrame<Result, Failure>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let (length, end) = (UInt32(bodyCount).littleEndian, used)
    return try bytes.withUnsafeMutableBytes { (buffer) throws(Failure) in
      buffer.storeBytes(of: length, as: UInt32.self)
      return try body(UnsafeRawBufferPointer(rebasing: buffer[..<end]))
    }
  }
}
