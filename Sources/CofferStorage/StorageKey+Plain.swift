extension StorageKey where R == Plain, Value: PlainValue {
  /// A preference that reads as `value` while nothing is stored.
  public init(_ name: String, default value: Value, fileID: String = #fileID, line: Int = #line) {
    let isSecretPayload = Value.self is any SecretPayload.Type
    self.init(
      name: name, site: DeclarationSite(fileID: fileID, line: line), absent: value,
      decode: { (form) throws(StoreError) in try PlainCoding.decode(Value.self, form) },
      encode: { (value, traits) throws(StoreError) in
        if isSecretPayload { throw FormEncoder.refusal(Value.self) }
        return try PlainCoding.encode(value, traits)
      })
  }
}

extension StorageKey where R == Plain {
  /// A preference that may be absent.
  public init<Wrapped: PlainValue>(
    _ name: String, of type: Wrapped.Type, fileID: String = #fileID, line: Int = #line
  ) where Value == Wrapped? {
    let isSecretPayload = Wrapped.self is any SecretPayload.Type
    self.init(
      name: name, site: DeclarationSite(fileID: fileID, line: line), absent: nil,
      decode: { (form) throws(StoreError) in try PlainCoding.decode(Wrapped.self, form) },
      encode: { (value, traits) throws(StoreError) in
        guard let value else { return nil }
        if isSecretPayload { throw FormEncoder.refusal(Wrapped.self) }
        return try PlainCoding.encode(value, traits)
      })
  }
}

/// The step between plain values and forms, with its errors.
enum PlainCoding {
  static func decode<Value: PlainValue>(_: Value.Type, _ form: PlainForm) throws(StoreError) -> Value {
    guard let value = Value(plainForm: form) else {
      let noticed = (Value.self as? any Decodable.Type).flatMap { FormDecoder.explanation($0, from: form) }
      throw StoreError(
        .undecodable(stored: form.kindName),
        "the stored \(form.kindName) is not a \(Value.self)" + (noticed.map { ": " + $0 } ?? ""),
        cure: "store a \(Value.self), remove the key, or declare it with whenUndecodable(.useDefault); nothing was changed")
    }
    return value
  }

  static func encode<Value: PlainValue>(_ value: Value, _ traits: KeyTraits) throws(StoreError) -> PlainForm {
    let form: PlainForm
    do { form = try value.plainForm() } catch let error as StoreError {
      throw error
    } catch EncodingError.invalidValue(_, let context) {
      // The error holds the value: only the place of it goes on.
      throw unencodable(Value.self, context.codingPath.described, underlying: nil)
    } catch {
      throw unencodable(Value.self, "", underlying: error)
    }
    if let limit = traits.maximumBytes, form.byteCount > limit {
      throw StoreError(
        .tooLarge(limit: limit), "a value of \(form.byteCount) bytes, over the key's limit of \(limit)",
        cure: "store less under this key, or raise its limit")
    }
    return form
  }

  private static func unencodable(_ type: Any.Type, _ at: String, underlying: (any Error)?) -> StoreError {
    StoreError(
      .unencodable, "a \(type) could not be encoded\(at)", cure: "make its encoding succeed; what was stored is unchanged",
      underlying: underlying)
  }
}

extension PlainForm {
  /// The bytes of content, as budgets count them: text and data by their length, numbers and dates 8, names of a dictionary too.
  public var byteCount: Int {
    switch self {
    case .bool: 1
    case .integer, .unsigned, .real, .date: 8
    case .string(let text), .argument(let text): text.utf8.count
    case .data(let data): data.count
    case .array(let items): items.reduce(0) { $0 + $1.byteCount }
    case .dictionary(let items): items.reduce(0) { $0 + $1.key.utf8.count + $1.value.byteCount }
    }
  }
}
