/// Decodes `Decodable` values from property-list structure. Its errors name types and fields, never values.
enum FormDecoder {
  /// The type decides how the text of an override is read: a scalar by ``PlainValue``'s rules, fields or elements as JSON.
  ///
  /// - Throws: `DecodingError`, or the error of the type's own decoding.
  static func decode<Value: Decodable>(_ type: Value.Type, from form: PlainForm) throws -> Value {
    try FormDecoding(form: form, place: .top, level: 0).value(type)
  }

  /// The reason why `form` is no `type`, with the field; nil if it is one, or the reason is unknown.
  static func explanation(_ type: any Decodable.Type, from form: PlainForm) -> String? {
    do {
      _ = try decode(type, from: form)
      return nil
    } catch let error as DecodingError {
      return switch error {
      case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
        context.codingPath.isEmpty ? nil : "unreadable" + context.codingPath.described
      case .keyNotFound(let key, let context): "missing" + (context.codingPath + [key]).described
      @unknown default: nil
      }
    } catch {
      return nil  // The type's own error may quote the value.
    }
  }
}

struct FormDecoding: Decoder {
  let form: PlainForm
  let place: CodingPlace
  let level: Int

  var codingPath: [any CodingKey] { place.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .dictionary(let members) = try structure() else { throw mismatch([String: Any].self, "dictionary") }
    return KeyedDecodingContainer(FormKeyedDecoding(decoding: self, members: members))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .array(let elements) = try structure() else { throw mismatch([Any].self, "array") }
    return FormUnkeyedDecoding(decoding: self, elements: elements)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { FormSingleDecoding(decoding: self) }

  func value<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if let native = type as? any NativePlainValue.Type {
      guard let value = native.init(plainForm: form) as? Value else { throw mismatch(type, "\(type)") }
      return value
    }
    // The encoder's bound, for the same reason: the file may come from anywhere.
    guard level < FormEncoder.deepest else {
      throw DecodingError.dataCorrupted(context("nests deeper than \(FormEncoder.deepest) levels"))
    }
    return try type.init(from: FormDecoding(form: form, place: place, level: level + 1))
  }

  func member(_ form: PlainForm, _ key: any CodingKey) -> FormDecoding {
    FormDecoding(form: form, place: .member(key, of: place), level: level + 1)
  }

  func element(_ form: PlainForm, _ index: Int) -> FormDecoding {
    FormDecoding(form: form, place: .element(index, of: place), level: level + 1)
  }

  func context(_ what: String) -> DecodingError.Context { DecodingError.Context(codingPath: codingPath, debugDescription: what) }

  private func structure() throws -> PlainForm {
    guard case .argument(let text) = form, case .top = place else { return form }
    return try ArgumentJSON.form(of: text)
  }

  private func mismatch(_ type: Any.Type, _ wanted: String) -> DecodingError {
    .typeMismatch(type, context("\(wanted) expected, \(form.kindName) stored"))
  }
}
