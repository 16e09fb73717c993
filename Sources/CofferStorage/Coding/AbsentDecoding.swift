/// Decodes a missing field. A type that asks whether it is nil reads as nil; any other request fails.
///
/// A type that asks nothing, or ignores a refusal, fails too: the stored value may be of a former type with other fields, and
/// nobody would notice.
struct AbsentDecoding: Decoder, SingleValueDecodingContainer {
  private final class Answer { var isNil = false }

  let place: CodingPlace
  let level: Int
  let failure: DecodingError
  private let answer = Answer()

  init(place: CodingPlace, level: Int, failure: DecodingError) {
    self.place = place
    self.level = level
    self.failure = failure
  }

  var codingPath: [any CodingKey] { place.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> { throw refusal() }
  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw refusal() }
  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool {
    answer.isNil = true
    return true
  }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let failure = refusal()
    // The bound is for types that ask for themselves again.
    guard !(type is any NativePlainValue.Type), level < FormEncoder.deepest else { throw failure }
    let inner = AbsentDecoding(place: place, level: level + 1, failure: failure)
    let value = try type.init(from: inner)
    guard inner.answer.isNil else { throw failure }
    answer.isNil = true
    return value
  }

  private func refusal() -> DecodingError {
    answer.isNil = false
    return failure
  }
}
