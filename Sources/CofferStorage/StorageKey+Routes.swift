internal import CofferPlatform
public import FoundationEssentials

extension StorageKey where R == Plain, Value: PlainValue {
  /// A preference that reads as `value` while nothing is stored.
  @inlinable
  public init(_ name: String, default value: Value, fileID: String = #fileID, line: Int = #line) {
    let isSecretPayload = Value.self is any SecretPayload.Type
    self.init(
      name: name, site: DeclarationSite(fileID: fileID, line: line), absent: value, decode: PlainCoding.decoding(Value.self),
      encode: { (value, traits) throws(StoreError) in
        if isSecretPayload { throw FormEncoder.refusal(Value.self) }
        return try PlainCoding.encode(value, traits)
      })
  }
}

extension StorageKey where R == Plain {
  /// A preference that may be absent.
  @inlinable
  public init<Wrapped: PlainValue>(
    _ name: String, of type: Wrapped.Type, fileID: String = #fileID, line: Int = #line
  ) where Value == Wrapped? {
    let isSecretPayload = Wrapped.self is any SecretPayload.Type
    self.init(
      name: name, site: DeclarationSite(fileID: fileID, line: line), absent: nil,
      decode: PlainCoding.optionalDecoding(Wrapped.self),
      encode: { (value, traits) throws(StoreError) in
        guard let value else { return nil }
        if isSecretPayload { throw FormEncoder.refusal(Wrapped.self) }
        return try PlainCoding.encode(value, traits)
      })
  }
}

extension PlainForm {
  /// The bytes of content, as budgets count them: the length of text, data and names of a dictionary; 8 for a number or date.
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

extension StorageKey where R == Vault {
  /// A secret, handed out sealed. It has no default: a secret in source is not one.
  public init<Payload: Codable & Sendable>(
    _ name: String, secret type: Payload.Type, fileID: String = #fileID, line: Int = #line
  ) where Value == Sealed<Payload>? {
    self.init(
      name: name, site: DeclarationSite(fileID: fileID, line: line), absent: nil,
      decode: { (form) throws(StoreError) in Sealed(form: form) },
      encode: { (value, traits) throws(StoreError) in
        guard let value else { return nil }
        return try SecretCoding.form(value.form, traits)
      })
    traits.isSecret = true
    traits.promotion = PromotedCoding.promotion(Payload.self)
  }

  /// A value stored in the vault and handed out unsealed, for example a user id.
  public init<Wrapped: Codable & Sendable>(
    _ name: String, vaulted type: Wrapped.Type, fileID: String = #fileID, line: Int = #line
  ) where Value == Wrapped? {
    self.init(
      name: name, site: DeclarationSite(fileID: fileID, line: line), absent: nil,
      decode: { (form) throws(StoreError) in try SecretCoding.decode(Wrapped.self, form) },
      encode: { (value, traits) throws(StoreError) in
        guard let value else { return nil }
        return try SecretCoding.form(SecretCoding.encode(value), traits)
      })
    traits.isSecret = true
    traits.promotion = PromotedCoding.promotion(Wrapped.self)
  }

  /// The same key, whose secret expires at `moment`. From then on a read throws ``/CofferPlatform/StoreError/Kind/expired``.
  ///
  /// A set calls `moment`; nil means never.
  public func expires<Payload: Codable & Sendable>(
    _ moment: @escaping @Sendable (Payload) -> Date?
  ) -> Self where Value == Sealed<Payload>? {
    let encode = declaration.encode
    var key = StorageKey(
      name: name, site: site, absent: declaration.absent, decode: declaration.decode,
      encode: { (value, traits) throws(StoreError) in
        guard let value, var form = try encode(value, traits) else { return nil }
        form.metadata.expires = try moment(value.reveal())
        return form
      })
    key.traits = traits
    key.traits.expires = true
    return key
  }
}

extension StorageKey where R == Plain, Value == Date {
  /// The same key, whose date is stored as a real number: the seconds since the beginning of 2001, UTC. Unlike a date in an
  /// XML property list, it keeps its fraction.
  ///
  /// The key also reads a stored date. Programs without this trait find a number.
  public func storedAsSeconds() -> StorageKey<Date, Plain> { DateSeconds.key(self, { $0 }, { $0 }) }
}

extension StorageKey where R == Plain, Value == Date? {
  /// The same key, whose date is stored as a real number of seconds since the beginning of 2001, UTC, with its fraction.
  public func storedAsSeconds() -> StorageKey<Date?, Plain> { DateSeconds.key(self, { $0 }, { $0 }) }
}

private enum DateSeconds {
  /// Decodes a number as the date. Leaves every other form, including one of a former type, to `key`.
  static func key<Value>(
    _ key: StorageKey<Value, Plain>, _ wrap: @escaping @Sendable (Date) -> Value, _ unwrap: @escaping @Sendable (Value) -> Date?
  ) -> StorageKey<Value, Plain> {
    let decode = key.declaration.decode
    var new = StorageKey<Value, Plain>(
      name: key.name, site: key.site, absent: key.defaultValue,
      decode: { (form) throws(StoreError) in
        guard let number = seconds(form) else { return try decode(form) }
        return wrap(Date(timeIntervalSinceReferenceDate: number))
      },
      encode: { (value, traits) throws(StoreError) in
        guard let date = unwrap(value) else { return nil }
        return try PlainCoding.encode(date.timeIntervalSinceReferenceDate, traits)
      })
    new.traits = key.traits
    if let isOutdated = key.traits.isOutdated {
      new.traits.isOutdated = { form in (form as? PlainForm).flatMap(seconds) == nil && isOutdated(form) }
    }
    return new
  }

  /// Nil for anything but a finite number.
  @Sendable private static func seconds(_ form: PlainForm) -> Double? {
    switch form {
    case .real(let number): number.isFinite ? number : nil
    // People who edit a list by hand write whole numbers this way.
    case .integer(let number): Double(number)
    default: nil
    }
  }
}
