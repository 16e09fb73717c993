// Each generic `encode` also meets the protocols' requirements for the single scalar types.

struct FormKeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let encoding: FormEncoding
  var codingPath: [any CodingKey] { encoding.codingPath }

  func encodeNil(forKey key: Key) { encoding.node.set(nil, for: key.stringValue) }

  func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    if let form = try FormEncoding.nativeForm(value) { return encoding.node.set(form, for: key.stringValue) }
    try encoding.member(key).put(value)
  }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested> {
    encoding.container(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    encoding.container(key).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { encoding.member(ElementKey.superclass) }
  func superEncoder(forKey key: Key) -> any Encoder { encoding.member(key) }
}

struct FormUnkeyedEncoding: UnkeyedEncodingContainer {
  let encoding: FormEncoding
  var codingPath: [any CodingKey] { encoding.codingPath }
  var count: Int { encoding.node.count }

  func encodeNil() throws { throw FormEncoder.nothing(at: .element(count, of: encoding.node.place)) }

  func encode<Value: Encodable>(_ value: Value) throws {
    if let form = try FormEncoding.nativeForm(value) { return encoding.node.append(form) }
    try encoding.element().put(value)
  }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
    encoding.element().container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoding.element().unkeyedContainer() }
  func superEncoder() -> any Encoder { encoding.element() }
}

struct FormSingleEncoding: SingleValueEncodingContainer {
  let encoding: FormEncoding
  var codingPath: [any CodingKey] { encoding.codingPath }

  func encodeNil() { encoding.node.become(nil) }
  func encode<Value: Encodable>(_ value: Value) throws { try encoding.put(value) }
}
