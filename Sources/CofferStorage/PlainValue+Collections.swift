extension Array: PlainValue where Element: PlainValue {
  /// An array whose elements all stand for one, or the JSON text of an override.
  public init?(plainForm: PlainForm) {
    guard case .array(let forms) = plainForm.structure else { return nil }
    var elements: [Element] = []
    elements.reserveCapacity(forms.count)
    for form in forms {
      guard let element = Element(plainForm: form) else { return nil }
      elements.append(element)
    }
    self = elements
  }

  /// An array.
  ///
  /// - Throws: what an element's encoding throws.
  public func plainForm() throws -> PlainForm {
    if Element.self is any SecretPayload.Type { throw FormEncoder.refusal(Element.self) }
    return .array(try map { try $0.plainForm() })
  }
}

extension Dictionary: PlainValue where Key == String, Value: PlainValue {
  /// A dictionary whose values all stand for one, or the JSON text of an override.
  public init?(plainForm: PlainForm) {
    guard case .dictionary(let forms) = plainForm.structure else { return nil }
    var members: [String: Value] = [:]
    members.reserveCapacity(forms.count)
    for (name, form) in forms {
      guard let member = Value(plainForm: form) else { return nil }
      members[name] = member
    }
    self = members
  }

  /// A dictionary.
  ///
  /// - Throws: what a value's encoding throws.
  public func plainForm() throws -> PlainForm {
    if Value.self is any SecretPayload.Type { throw FormEncoder.refusal(Value.self) }
    return .dictionary(try mapValues { try $0.plainForm() })
  }
}

extension PlainForm {
  /// The text of an override parsed as JSON; anything else as it is.
  fileprivate var structure: PlainForm {
    guard case .argument(let text) = self else { return self }
    do { return try ArgumentJSON.form(of: text) } catch { return self }
  }
}
