extension Array: PlainValue where Element: PlainValue {
  /// An array whose elements all decode, or the JSON text of an override.
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
  /// - Throws: the error of an element's encoding.
  public func plainForm() throws -> PlainForm {
    if Element.self is any SecretPayload.Type { throw FormEncoder.refusal(Element.self) }
    return .array(try map { try $0.plainForm() })
  }
}

extension Set: PlainValue where Element: PlainValue {
  /// An array whose elements all decode, or the JSON text of an override. Repeated elements count once.
  public init?(plainForm: PlainForm) {
    guard let elements = [Element](plainForm: plainForm) else { return nil }
    self = Set(elements)
  }

  /// An ascending array: equal sets have the same form.
  ///
  /// - Throws: the error of an element's encoding.
  public func plainForm() throws -> PlainForm {
    if Element.self is any SecretPayload.Type { throw FormEncoder.refusal(Element.self) }
    return .array(try map { try $0.plainForm() }.sorted { $0.isOrdered(before: $1) })
  }
}

/// Otherwise a set within a `Codable` value would be stored in the order of this run's hashing.
extension Set: NativePlainValue where Element: PlainValue {}

extension PlainForm {
  /// A type whose values may be the keys of a plain dictionary: `String`, `Int`, and any conforming type. An enum of strings
  /// or integers needs only the conformance:
  ///
  /// ```swift
  /// enum Weekday: Int, PlainForm.Key { case monday = 1, tuesday }
  /// let hours = StorageKey("hours", default: [Weekday: Double]())
  /// ```
  public protocol Key: CodingKeyRepresentable, Hashable, Sendable {}
}

extension String: PlainForm.Key {}
extension Int: PlainForm.Key {}

extension Dictionary: PlainValue where Key: PlainForm.Key, Value: PlainValue {
  /// A dictionary whose names and values all decode, or the JSON text of an override. A name must be spelled as the key
  /// spells itself: `7` is an integer, `07` is not.
  public init?(plainForm: PlainForm) {
    guard case .dictionary(let forms) = plainForm.structure else { return nil }
    var members: [Key: Value] = [:]
    members.reserveCapacity(forms.count)
    for (name, form) in forms {
      guard let key = Self.key(named: name), let member = Value(plainForm: form) else { return nil }
      members[key] = member
    }
    self = members
  }

  /// A dictionary, with integers as decimal names.
  ///
  /// - Throws: the error of a value's encoding.
  public func plainForm() throws -> PlainForm {
    if Value.self is any SecretPayload.Type { throw FormEncoder.refusal(Value.self) }
    var forms: [String: PlainForm] = [:]
    forms.reserveCapacity(count)
    for (key, value) in self { forms[Self.name(of: key)] = try value.plainForm() }
    return .dictionary(forms)
  }

  // The compiler resolves the first case of both functions for each key type, so it costs nothing.
  private static func key(named name: String) -> Key? {
    if let key = name as? Key { return key }
    guard let key = Key(codingKey: name.codingKey), key.codingKey.stringValue.hasSameBytes(as: name) else { return nil }
    return key
  }

  private static func name(of key: Key) -> String { key as? String ?? key.codingKey.stringValue }
}

extension PlainForm {
  /// Parses the text of an override as JSON.
  fileprivate var structure: PlainForm {
    guard case .argument(let text) = self else { return self }
    do { return try ArgumentJSON.form(of: text) } catch { return self }
  }
}
