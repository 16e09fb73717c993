internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage

/// In guarded memory: it may hold a secret.
struct Frame: ~Copyable {
  let body: SecretBytes

  /// Refuses a rest after `body`.
  func read<Result: ~Copyable>(_ body: (inout FrameReader) throws(StoreError) -> Result) throws(StoreError) -> Result {
    try self.body.withUnsafeBytes { (raw) throws(StoreError) in
      var reader = FrameReader(raw)
      let result = try body(&reader)
      try reader.end()
      return result
    }
  }
}

extension Frame {
  /// - Throws: ``/CofferPlatform/StoreError`` `.newerFormat` for another version of the protocol, `.damaged` for an unknown
  ///   request.
  func request() throws(StoreError) -> AgentProtocol.Request {
    try body.withUnsafeBytes { (raw) throws(StoreError) in
      try FrameReader.checkVersion(raw)
      guard let request = AgentProtocol.Request(rawValue: raw[1]) else {
        throw FrameReader.malformed("it asks for nothing known")
      }
      return request
    }
  }

  /// Reads everything after version and kind with `body`.
  func arguments<Result: ~Copyable>(_ body: (inout FrameReader) throws(StoreError) -> Result) throws(StoreError) -> Result {
    try read { (fields) throws(StoreError) in
      let _: UInt16 = try fields.number()
      return try body(&fields)
    }
  }

  func noArguments() throws(StoreError) { try arguments { (_) throws(StoreError) in } }

  func answerKind() throws(StoreError) -> AgentProtocol.Answer {
    try body.withUnsafeBytes { (raw) throws(StoreError) in
      try FrameReader.checkVersion(raw)
      guard let kind = AgentProtocol.Answer(rawValue: raw[1]) else { throw FrameReader.malformed("it is no known answer") }
      return kind
    }
  }
}

/// A cursor over a peer's frame, which checks every length against the remaining bytes.
package struct FrameReader {
  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  /// The bytes must outlive the reader.
  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  private var remaining: Int { bytes.count - position }

  static func malformed(_ why: String) -> StoreError {
    StoreError(
      .damaged, "a message between agent and client is malformed: \(why)", cure: "use one version of Coffer for both",
      remedy: .oneVersion)
  }

  private mutating func take(_ count: Int) throws(StoreError) -> UnsafeRawBufferPointer {
    guard count <= remaining else { throw Self.malformed("it ends in the middle of a field") }
    defer { position += count }
    return UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
  }

  mutating func number<Number: FixedWidthInteger>(_: Number.Type = Number.self) throws(StoreError) -> Number {
    Number(littleEndian: try take(MemoryLayout<Number>.size).loadUnaligned(as: Number.self))
  }

  mutating func flag() throws(StoreError) -> Bool {
    switch try number(UInt8.self) {
    case 0: false
    case 1: true
    default: throw Self.malformed("a flag is neither 0 nor 1")
    }
  }

  private mutating func prefixed() throws(StoreError) -> UnsafeRawBufferPointer { try take(Int(number(UInt32.self))) }

  /// Lends bytes in place.
  mutating func withPrefixed(_ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) {
    try body(prefixed())
  }

  mutating func text() throws(StoreError) -> String {
    guard let text = String(validating: try prefixed(), as: UTF8.self) else { throw Self.malformed("a text is not UTF-8") }
    return text
  }

  mutating func optional<Value: WireValue>(_: Value.Type = Value.self) throws(StoreError) -> Value? {
    try flag() ? Value.read(from: &self) : nil
  }

  /// Bytes that are not secret, at most `limit`.
  mutating func plainBytes(limit: Int) throws(StoreError) -> [UInt8] {
    let raw = try prefixed()
    guard raw.count <= limit else { throw Self.malformed("a field is longer than \(limit) bytes") }
    return Array(raw)
  }

  /// A secret, copied within guarded memory.
  mutating func secret() throws(StoreError) -> SecretBytes {
    let raw = try prefixed()
    do throws(SecretMemoryError) { return try SecretBytes(copying: raw) } catch { throw StoreError(memory: error) }
  }

  /// The number of elements that follow. Each takes at least `least` bytes: an impossible number is refused before any
  /// allocation.
  mutating func count(ofAtLeast least: Int) throws(StoreError) -> Int {
    let count = Int(try number(UInt32.self))
    guard count <= remaining / least else { throw Self.malformed("it announces more elements than it has bytes for") }
    return count
  }

  /// The number of names or changes that follow, of at least `least` bytes each.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/tooLarge(limit:)`` above the limit of a request, before any is read.
  mutating func countOfNames(ofAtLeast least: Int) throws(StoreError) -> Int {
    let count = try count(ofAtLeast: least)
    guard count <= AgentProtocol.mostNames else {
      throw StoreError(
        .tooLarge(limit: AgentProtocol.mostNames), "\(count) items in one request to the agent",
        cure: "ask for fewer at once, or unlock the vault in this process")
    }
    return count
  }

  fileprivate static func checkVersion(_ raw: UnsafeRawBufferPointer) throws(StoreError) {
    guard raw[0] != AgentProtocol.version else { return }
    throw StoreError(
      .newerFormat(found: Int(raw[0]), supported: Int(AgentProtocol.version)),
      "the agent and its client speak different versions of their protocol",
      cure: "end the agent with AgentClient.stop(), and start one of this version",
      remedy: .restartAgent)
  }

  /// Trailing bytes would be a second encoding of the same message.
  func end() throws(StoreError) {
    guard remaining == 0 else { throw Self.malformed("\(remaining) bytes follow its end") }
  }
}
