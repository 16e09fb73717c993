/// A message in its own memory: it may hold a secret.
package struct WireFrame<Memory: WireMemory & ~Copyable>: ~Copyable {
  package let body: Memory

  /// - Parameter body: at least two bytes, if it is asked for its kind.
  package init(body: consuming Memory) { self.body = body }

  private var head: (version: UInt8, kind: UInt8) { body.withUnsafeBytes { ($0[0], $0[1]) } }

  /// The kind of request or answer.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/newerFormat(found:supported:)`` for another version of the protocol.
  package func kind() throws(Memory.WireFailure) -> UInt8 {
    let (version, kind) = head
    guard version == AgentProtocol.version else { throw Memory.WireFailure(.otherVersion(version)) }
    return kind
  }

  package func answerKind() throws(Memory.WireFailure) -> AgentProtocol.Answer {
    guard let kind = AgentProtocol.Answer(rawValue: try kind()) else { throw .malformed("it is no known answer") }
    return kind
  }

  /// Reads everything after version and kind with `body`, and refuses extra bytes.
  package func arguments<Result: ~Copyable>(
    _ body: (inout WireReader<Memory.WireFailure>) throws(Memory.WireFailure) -> Result
  ) throws(Memory.WireFailure) -> Result {
    try self.body.withUnsafeBytes { (raw) throws(Memory.WireFailure) in
      var reader = WireReader<Memory.WireFailure>(UnsafeRawBufferPointer(rebasing: raw[2...]))
      let result = try body(&reader)
      try reader.end()
      return result
    }
  }

  package func noArguments() throws(Memory.WireFailure) { try arguments { (_) throws(Memory.WireFailure) in } }
}

/// A cursor over a peer's frame, which checks every length against the remaining bytes.
package struct WireReader<Failure: WireFailure> {
  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  /// The bytes must outlive the reader.
  package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  private var remaining: Int { bytes.count - position }

  package static func malformed(_ why: String) -> Failure { .malformed(why) }

  private mutating func take(_ count: Int) throws(Failure) -> UnsafeRawBufferPointer {
    guard count <= remaining else { throw .malformed("it ends in the middle of a field") }
    defer { position += count }
    return UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
  }

  package mutating func number<Number: FixedWidthInteger & BitwiseCopyable>(
    _: Number.Type = Number.self
  ) throws(Failure) -> Number {
    Number(littleEndian: try take(MemoryLayout<Number>.size).loadUnaligned(as: Number.self))
  }

  package mutating func flag() throws(Failure) -> Bool {
    switch try number(UInt8.self) {
    case 0: false
    case 1: true
    default: throw .malformed("a flag is neither 0 nor 1")
    }
  }

  private mutating func prefixed() throws(Failure) -> UnsafeRawBufferPointer { try take(Int(number(UInt32.self))) }

  /// Lends bytes in place.
  package mutating func withPrefixed<Result: ~Copyable>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(prefixed())
  }

  package mutating func text() throws(Failure) -> String {
    guard let text = String(validating: try prefixed(), as: UTF8.self) else { throw .malformed("a text is not UTF-8") }
    return text
  }

  package mutating func optionalText() throws(Failure) -> String? { try flag() ? text() : nil }

  /// Bytes that are not secret, at most `limit`.
  package mutating func plainBytes(limit: Int) throws(Failure) -> [UInt8] {
    let raw = try prefixed()
    guard raw.count <= limit else { throw .malformed("a field is longer than \(limit) bytes") }
    return Array(raw)
  }

  /// A vault's id, or none.
  package mutating func id() throws(Failure) -> [UInt8]? {
    let bytes = try plainBytes(limit: 16)
    guard bytes.isEmpty || bytes.count == 16 else { throw .malformed("a vault's id has not 16 bytes") }
    return bytes.isEmpty ? nil : bytes
  }

  /// Seconds since 1970.
  package mutating func seconds() throws(Failure) -> Double {
    let seconds = Double(bitPattern: try number(UInt64.self))
    guard seconds.isFinite else { throw .malformed("a time is not a number") }
    return seconds
  }

  /// The number of elements that follow, of at least `least` bytes each. Refuses an impossible number before allocating.
  package mutating func count(ofAtLeast least: Int) throws(Failure) -> Int {
    let count = Int(try number(UInt32.self))
    guard count <= remaining / least else { throw .malformed("it announces more elements than it has bytes for") }
    return count
  }

  /// The number of names or changes that follow, of at least `least` bytes each.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/tooLarge(limit:)`` above the limit of a request, before any is read.
  package mutating func countOfNames(ofAtLeast least: Int) throws(Failure) -> Int {
    let count = try count(ofAtLeast: least)
    guard count <= AgentProtocol.mostNames else { throw Failure(.tooManyNames(count)) }
    return count
  }

  /// Leaves the rest of the fields unread.
  mutating func skipRest() { position = bytes.count }

  /// Trailing bytes would be a second encoding of the same message.
  package func end() throws(Failure) {
    guard remaining == 0 else { throw .malformed("\(remaining) bytes follow its end") }
  }
}
