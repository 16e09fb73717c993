/// Encodes `Encodable` values as property-list structure.
enum FormEncoder {
  static func encode<Value: Encodable>(_ value: Value) throws -> PlainForm { fatalError() }
}
/// Decodes `Decodable` values from property-list structure.
enum FormDecoder {
  static func decode<Value: Decodable>(_: Value.Type, from form: PlainForm) throws -> Value { fatalError() }
}
