/// A type that may be written in the clear. Conformance is a promise: no value of this type is a secret.
///
/// A raw-value enum and a `Codable` struct need only the conformance:
///
/// ```swift
/// enum Theme: String, PlainValue { case light, dark }
/// struct Window: Codable, PlainValue { var width = 800, height = 600 }
/// ```
///
/// These conform: `Bool`, the integers, `Float`, `Double`, `Decimal`, `String`, `Date`, `Data`, `URL`, `UUID`, arrays and
/// sets of plain values, and dictionaries of them with keys of `String`, `Int` or another ``PlainForm/Key``. Arrays of
/// optionals and nested optionals do not, because a property list holds no nil. ``Sealed`` never does, and a `Codable` struct
/// that holds one does not compile as plain.
public protocol PlainValue: Sendable {
  /// The value of `plainForm`; nil if that is no value of this type.
  init?(plainForm: PlainForm)

  /// This value as a property-list value.
  ///
  /// - Throws: the error of the type's own encoding.
  func plainForm() throws -> PlainForm
}

// Two defaults and the tie between them: raw values win.
extension PlainValue where Self: RawRepresentable, RawValue: PlainValue {
  /// The case of the stored raw value.
  public init?(plainForm: PlainForm) {
    guard let raw = RawValue(plainForm: plainForm) else { return nil }
    self.init(rawValue: raw)
  }

  /// The raw value.
  public func plainForm() throws -> PlainForm { try rawValue.plainForm() }
}

extension PlainValue where Self: Codable {
  /// The value decoded from native property-list structure.
  public init?(plainForm: PlainForm) {
    do { self = try FormDecoder.decode(Self.self, from: plainForm) } catch { return nil }
  }

  /// The value encoded as native property-list structure, not as opaque data.
  public func plainForm() throws -> PlainForm { try FormEncoder.encode(self) }
}

extension PlainValue where Self: Codable & RawRepresentable, RawValue: PlainValue {
  /// The case of the stored raw value.
  public init?(plainForm: PlainForm) {
    guard let raw = RawValue(plainForm: plainForm) else { return nil }
    self.init(rawValue: raw)
  }

  /// The raw value.
  public func plainForm() throws -> PlainForm { try rawValue.plainForm() }
}

/// Marks a payload type that must never be written in the clear: the plain encoder refuses it at any depth. The compiler
/// keeps ``Sealed`` out of plain storage; this protocol catches a payload taken out of its seal.
public protocol SecretPayload {}
