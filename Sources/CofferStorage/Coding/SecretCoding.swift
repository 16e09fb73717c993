package import CofferMemory
package import CofferPlatform
internal import FoundationEssentials

/// Text and bytes are stored unchanged, so that another program, or `coffer get`, finds exactly the token. Anything else is
/// JSON with sorted keys, so that equal values have equal bytes.
enum SecretCoding {
  /// JSON cannot express these numbers; a property list can.
  private static let positiveInfinity = "+infinity", negativeInfinity = "-infinity", notANumber = "nan"

  static func encode<Value: Encodable>(_ value: Value) throws(StoreError) -> SecretForm {
    switch value {
    case let text as String:
      return try form(text.utf8Span.span.bytes, "text/plain; charset=utf-8")
    case let bytes as [UInt8]:
      return try form(bytes.span.bytes, "application/octet-stream")
    case let data as Data:
      return try form(data.bytes, "application/octet-stream")
    default:
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      encoder.nonConformingFloatEncodingStrategy = .convertToString(
        positiveInfinity: positiveInfinity, negativeInfinity: negativeInfinity, nan: notANumber)
      var json: Data
      do { json = try encoder.encode(value) } catch {
        // The encoder's own error may quote the value: name only the type.
        throw StoreError(
          .unencodable, "\(withArticle("\(Value.self)")) could not be encoded",
          cure: "make its encoding succeed; the stored value is unchanged")
      }
      defer { json.resetBytes(in: 0..<json.count) }
      return try form(json.bytes, "application/json")
    }
  }

  static func decode<Value: Decodable>(_: Value.Type, _ form: SecretForm) throws(StoreError) -> Value {
    guard form.bytes.isIntact else {
      throw StoreError(.afterFork, "the secret is gone from this forked process", cure: "read it again in this process")
    }
    return try form.bytes.withUnsafeBytes { (raw) throws(StoreError) in
      if Value.self == String.self {
        guard let text = String(validating: raw.bindMemory(to: UInt8.self), as: UTF8.self) as? Value else {
          throw undecodable(Value.self, form)
        }
        return text
      }
      if Value.self == [UInt8].self, let bytes = Array(raw) as? Value { return bytes }
      if Value.self == Data.self, let data = Data(raw) as? Value { return data }
      var json = Data(raw)
      defer { json.resetBytes(in: 0..<json.count) }
      let decoder = JSONDecoder()
      decoder.nonConformingFloatDecodingStrategy = .convertFromString(
        positiveInfinity: positiveInfinity, negativeInfinity: negativeInfinity, nan: notANumber)
      do { return try decoder.decode(Value.self, from: json) } catch { throw undecodable(Value.self, form) }
    }
  }

  static func form(_ form: SecretForm, _ traits: KeyTraits) throws(StoreError) -> SecretForm {
    if let limit = traits.maximumBytes, form.bytes.count > limit {
      throw StoreError(
        .tooLarge(limit: limit), "the value has \(form.bytes.count) bytes, over the key's limit of \(limit)",
        cure: "store less under this key, or raise its limit")
    }
    var described = form
    if !traits.label.isEmpty { described.metadata.label = traits.label }
    if traits.endsWithSession { described.metadata.attributes[ItemMetadata.endsWithSession] = "true" }
    return described
  }

  private static func form(_ span: RawSpan, _ contentType: String) throws(StoreError) -> SecretForm {
    try span.withUnsafeBytes { (raw) throws(StoreError) in
      do throws(SecretMemoryError) {
        return SecretForm(try SecretBytes(copying: raw), metadata: ItemMetadata(contentType: contentType))
      } catch {
        throw StoreError(memory: error)
      }
    }
  }

  // The decoder's own error may quote the bytes: name only the types.
  private static func undecodable<Value>(_: Value.Type, _ form: SecretForm) -> StoreError {
    let stored = form.metadata.contentType.isEmpty ? "bytes" : form.metadata.contentType
    return StoreError(
      .undecodable(stored: stored), "the stored \(stored) is not \(withArticle("\(Value.self)"))",
      cure: "set it again, remove it, or read it with the type it was stored as; the stored value is unchanged")
  }
}

extension ItemMetadata {
  /// Reserved attribute of items that a logout removes, even by a program built without the key space.
  package static let endsWithSession = "coffer.ends-with-session"
}

extension StoreError {
  package init(memory error: SecretMemoryError) {
    self.init(.memory, "guarded memory ran out", cure: "free memory or raise ulimit -v, then try again", underlying: error)
  }
}

extension SecretForm {
  /// The value as an ordinary Swift value.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/undecodable(stored:)``, ``/CofferPlatform/StoreError/Kind/afterFork``.
  package func decoded<Value: Decodable>(_: Value.Type = Value.self) throws(StoreError) -> Value {
    try SecretCoding.decode(Value.self, self)
  }
}
