internal import CofferClient
package import CofferPlatform
package import FoundationEssentials

/// An argument or an answer in a frame.
package protocol WireValue: Sendable {
  func put(in frame: inout FrameWriter) throws(StoreError)
  static func read(from fields: inout FrameReader) throws(StoreError) -> Self
}

/// An element of a list.
package protocol ListedWireValue: WireValue {
  /// The least bytes of an element, to check a count before any allocation.
  static var leastBytes: Int { get }
}

extension FrameWriter {
  /// One value after the other.
  package mutating func put<each Value: WireValue>(_ values: repeat each Value) throws(StoreError) {
    repeat try (each values).put(in: &self)
  }
}

extension FrameReader {
  package mutating func read<Value: WireValue>(_: Value.Type = Value.self) throws(StoreError) -> Value {
    try Value.read(from: &self)
  }

  /// A count of 64 bits.
  mutating func int() throws(StoreError) -> Int { Int(clamping: try number(UInt64.self)) }
}

/// An empty answer.
package struct Nothing: WireValue {
  init(_: Void = ()) {}
  package func put(in frame: inout FrameWriter) throws(StoreError) {}
  package static func read(from fields: inout FrameReader) throws(StoreError) -> Nothing { Nothing() }
}

extension Bool: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(self) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> Bool { try fields.flag() }
}

extension UInt8: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(self) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> UInt8 { try fields.number() }
}

extension UInt32: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(self) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> UInt32 { try fields.number() }
}

extension UInt64: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(self) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> UInt64 { try fields.number() }
}

extension String: ListedWireValue {
  package static var leastBytes: Int { 4 }
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(self) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> String { try fields.text() }
}

extension Date: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(seconds: timeIntervalSince1970) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> Date {
    Date(timeIntervalSince1970: try fields.seconds())
  }
}

extension UUID: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) { try frame.put(withUnsafeBytes(of: uuid) { [UInt8]($0) }) }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> UUID {
    let bytes = try fields.plainBytes(limit: 16)
    guard bytes.count == 16 else { throw .malformed("an item's id has not 16 bytes") }
    return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }
}

extension Optional: WireValue where Wrapped: WireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) {
    try frame.put(self != nil)
    if let self { try self.put(in: &frame) }
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> Wrapped? {
    try fields.flag() ? fields.read(Wrapped.self) : nil
  }
}

extension Array: WireValue where Element: ListedWireValue {
  package func put(in frame: inout FrameWriter) throws(StoreError) {
    try frame.put(UInt32(clamping: count))
    for element in self { try element.put(in: &frame) }
  }
  package static func read(from fields: inout FrameReader) throws(StoreError) -> [Element] {
    var list: [Element] = []
    for _ in 0..<(try fields.countOfNames(ofAtLeast: Element.leastBytes)) { list.append(try fields.read()) }
    return list
  }
}
