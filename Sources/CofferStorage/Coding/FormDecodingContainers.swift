// Each generic `decode` also meets the protocols' requirements for the single scalar types.

struct FormKeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoding: FormDecoding
  let members: [String: PlainForm]

  var codingPath: [any CodingKey] { decoding.codingPath }
  var allKeys: [Key] { members.keys.compactMap(Key.init(stringValue:)) }

  func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

  // A present field is never nil: a property list has no null.
  func decodeNil(forKey key: Key) -> Bool { !contains(key) }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    if let form = members[key.stringValue] { return try decoding.member(form, key).value(type) }
    return try AbsentDecoding(place: .member(key, of: decoding.place), level: decoding.level, failure: notFound(key)).decode(type)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try member(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { try member(key).unkeyedContainer() }
  func superDecoder() throws -> any Decoder { try member(ElementKey.superclass) }
  func superDecoder(forKey key: Key) throws -> any Decoder { try member(key) }

  private func member(_ key: any CodingKey) throws -> FormDecoding {
    guard let form = members[key.stringValue] else { throw notFound(key) }
    return decoding.member(form, key)
  }

  private func notFound(_ key: any CodingKey) -> DecodingError {
    .keyNotFound(key, decoding.context("no such field is stored"))
  }
}

struct FormUnkeyedDecoding: UnkeyedDecodingContainer {
  let decoding: FormDecoding
  let elements: [PlainForm]
  private(set) var currentIndex = 0

  init(decoding: FormDecoding, elements: [PlainForm]) {
    self.decoding = decoding
    self.elements = elements
  }

  var codingPath: [any CodingKey] { decoding.codingPath }
  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex >= elements.count }

  // An element is never nil: a property list has no null. Throws past the end.
  func decodeNil() throws -> Bool {
    _ = try next(Never?.self)
    return false
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let value = try next(type).value(type)
    currentIndex += 1
    return value
  }

  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
    let container = try next([String: Any].self).container(keyedBy: type)
    currentIndex += 1
    return container
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let container = try next([Any].self).unkeyedContainer()
    currentIndex += 1
    return container
  }

  mutating func superDecoder() throws -> any Decoder {
    let decoder = try next((any Decoder).self)
    currentIndex += 1
    return decoder
  }

  private func next(_ type: Any.Type) throws -> FormDecoding {
    guard !isAtEnd else { throw DecodingError.valueNotFound(type, decoding.context("the array ends here")) }
    return decoding.element(elements[currentIndex], currentIndex)
  }
}

struct FormSingleDecoding: SingleValueDecodingContainer {
  let decoding: FormDecoding

  var codingPath: [any CodingKey] { decoding.codingPath }
  func decodeNil() -> Bool { false }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try decoding.value(type) }
}
