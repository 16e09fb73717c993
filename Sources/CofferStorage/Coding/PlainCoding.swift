public import CofferPlatform

@usableFromInline
enum PlainCoding {
  /// Native values are decoded at each read, others once for each stored form.
  @inlinable
  static func decoding<Value: PlainValue>(_: Value.Type) -> @Sendable (PlainForm) throws(StoreError) -> Value {
    guard DecodedValue<Value>.pays else { return { (form) throws(StoreError) in try decode(Value.self, form) } }
    let last = DecodedValue<Value>()
    return { (form) throws(StoreError) in try last.value(of: form) }
  }

  @inlinable
  static func optionalDecoding<Value: PlainValue>(_: Value.Type) -> @Sendable (PlainForm) throws(StoreError) -> Value? {
    guard DecodedValue<Value>.pays else { return { (form) throws(StoreError) in try decode(Value.self, form) } }
    let last = DecodedValue<Value>()
    return { (form) throws(StoreError) in try last.value(of: form) }
  }

  @inlinable
  static func decode<Value: PlainValue>(_: Value.Type, _ form: PlainForm) throws(StoreError) -> Value {
    guard let value = Value(plainForm: form) else { throw undecodable(Value.self, form) }
    return value
  }

  @usableFromInline
  static func undecodable(_ type: Any.Type, _ form: PlainForm) -> StoreError {
    let wanted = withArticle("\(type)")
    if case .argument = form {
      return StoreError(
        .undecodable(stored: form.kindName), "the override is not \(wanted)",
        cure: "give \(wanted) on the command line or in the environment, or take the override away; the stored value is unchanged"
      )
    }
    let noticed = (type as? any Decodable.Type).flatMap { FormDecoder.explanation($0, from: form) }
    return StoreError(
      .undecodable(stored: form.kindName), "the stored \(form.kindName) is not \(wanted)" + (noticed.map { ": " + $0 } ?? ""),
      cure: "store \(wanted), remove the key, or declare it with whenUndecodable(.useDefault); nothing was changed")
  }

  @inlinable
  static func encode<Value: PlainValue>(_ value: Value, _ traits: KeyTraits) throws(StoreError) -> PlainForm {
    let form: PlainForm
    do { form = try value.plainForm() } catch { throw unencodable(Value.self, error) }
    if let limit = traits.maximumBytes, form.byteCount > limit {
      throw StoreError(
        .tooLarge(limit: limit), "the value has \(form.byteCount) bytes, over the key's limit of \(limit)",
        cure: "store less under this key, or raise its limit")
    }
    return form
  }

  @usableFromInline
  static func unencodable(_ type: Any.Type, _ error: any Error) -> StoreError {
    switch error {
    case let error as StoreError: error
    // The error holds the value: pass on only its place.
    case EncodingError.invalidValue(_, let context): unencodable(type, context.codingPath.described, underlying: nil)
    default: unencodable(type, "", underlying: error)
    }
  }

  private static func unencodable(_ type: Any.Type, _ at: String, underlying: (any Error)?) -> StoreError {
    StoreError(
      .unencodable, "\(withArticle("\(type)")) could not be encoded\(at)",
      cure: "make its encoding succeed; the stored value is unchanged",
      underlying: underlying)
  }
}
