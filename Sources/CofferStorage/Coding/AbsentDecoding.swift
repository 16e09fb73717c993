/// Decodes a field that is not stored: a field that is nil is left out, and a type that can be nil reads as that. Whatever else is asked
/// for is missing.
struct AbsentDecoding: Decoder, SingleValueDecodingContainer {
  let place: CodingPlace
  let level: Int
  /// Which field is missing.
  let failure: DecodingError

  var codingPath: [any CodingKey] { place.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> { throw failure }
  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw failure }
  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { true }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    // The bound is for types that ask for themselves again.
    guard !(type is any NativePlainValue.Type), level < FormEncoder.deepest else { throw failure }
    return try type.init(from: AbsentDecoding(place: place, level: level + 1, failure: failure))
  }
}
