public import CofferPlatform

/// Encodes values as property-list structure without nil fields. Numbers, dates, data and URLs keep their native forms.
@usableFromInline
enum FormEncoder {
  /// The most levels of nesting. Each costs a few stack frames in the type's own coding, so a value that contains itself must
  /// fail before the stack overflows. Preferences are a handful deep.
  static let deepest = 64

  /// - Throws: ``/CofferPlatform/StoreError/Kind/unencodable``; ``/CofferPlatform/StoreError/Kind/refused`` for a
  ///   ``SecretPayload`` at any depth; the error of the type's own encoding.
  static func encode<Value: Encodable>(_ value: Value) throws -> PlainForm {
    let top = FormEncoding(node: FormNode(at: .top), level: 0)
    try top.put(value)
    guard let form = try top.node.form(level: 0) else { throw nothing(at: .top) }
    return form
  }

  static func check(_ level: Int) throws(StoreError) {
    guard level > deepest else { return }
    throw StoreError(
      .unencodable, "the value nests deeper than \(deepest) levels", cure: "store a flatter value, or split it over several keys")
  }

  static func nothing(at place: CodingPlace) -> StoreError {
    failure("is nil, which a property list cannot hold", place, "leave the element out, or give it a value that means nothing")
  }

  static func failure(_ what: String, _ place: CodingPlace, _ cure: String) -> StoreError {
    StoreError(.unencodable, "the value\(place.codingPath.described) \(what)", cure: cure)
  }

  /// The error for a ``SecretPayload``.
  @usableFromInline
  static func refusal(_ type: Any.Type, _ path: [any CodingKey] = []) -> StoreError {
    StoreError(
      .refused, "the plain value holds \(withArticle("\(type)"))\(path.described), which is a SecretPayload",
      cure: "give it a key of its own, declared with secret:, and leave it out of the plain value")
  }
}

struct FormEncoding: Encoder {
  let node: FormNode
  let level: Int

  var codingPath: [any CodingKey] { node.place.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    node.becomeKeyed()
    return KeyedEncodingContainer(FormKeyedEncoding(encoding: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    node.becomeUnkeyed()
    return FormUnkeyedEncoding(encoding: self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { FormSingleEncoding(encoding: self) }

  /// The form of a type with its own, without `Codable`.
  static func nativeForm<Value: Encodable>(_ value: Value) throws -> PlainForm? {
    guard Value.self is any NativePlainValue.Type, let native = value as? any NativePlainValue else { return nil }
    return try native.plainForm()
  }

  func put<Value: Encodable>(_ value: Value) throws {
    if let form = try Self.nativeForm(value) { return node.become(form) }
    if value is any SecretPayload { throw FormEncoder.refusal(Value.self, codingPath) }
    let inner = FormEncoding(node: node, level: level + 1)
    try FormEncoder.check(inner.level)
    try value.encode(to: inner)
  }

  func member(_ key: any CodingKey) -> FormEncoding { FormEncoding(node: node.member(key), level: level + 1) }
  func container(_ key: any CodingKey) -> FormEncoding { FormEncoding(node: node.container(key), level: level + 1) }
  func element() -> FormEncoding { FormEncoding(node: node.element(), level: level + 1) }
}
