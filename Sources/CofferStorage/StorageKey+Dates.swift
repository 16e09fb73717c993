internal import CofferPlatform
public import FoundationEssentials

extension StorageKey where R == Plain, Value == Date {
  /// The same key, whose date is stored as a real number: the seconds since the beginning of 2001, UTC. It reads back exactly as it
  /// was set, fraction and all, where a property list in XML has whole seconds.
  ///
  /// A date that a program without this stored is read too. Other programs find a number, and not a date.
  public func storedAsSeconds() -> StorageKey<Date, Plain> {
    DateSeconds.key(self, decode: DateSeconds.date) { (date) in .real(date.timeIntervalSinceReferenceDate) }
  }
}

extension StorageKey where R == Plain, Value == Date? {
  /// The same key, whose date is stored as a real number of seconds since the beginning of 2001, UTC, and reads back exactly as it was set.
  public func storedAsSeconds() -> StorageKey<Date?, Plain> {
    DateSeconds.key(self, decode: DateSeconds.date) { (date) in date.map { .real($0.timeIntervalSinceReferenceDate) } }
  }
}

/// Dates as numbers of seconds.
private enum DateSeconds {
  static func key<Value>(
    _ key: StorageKey<Value, Plain>, decode: @escaping @Sendable (PlainForm) throws(StoreError) -> Value,
    encode: @escaping @Sendable (Value) -> PlainForm?
  ) -> StorageKey<Value, Plain> {
    var new = StorageKey<Value, Plain>(
      name: key.name, site: key.site, absent: key.defaultValue, decode: decode,
      encode: { (value, _) throws(StoreError) in encode(value) })
    new.traits = key.traits
    return new
  }

  /// The date that `form` is, as a number of seconds or as a date; an override is ISO 8601.
  @Sendable static func date(_ form: PlainForm) throws(StoreError) -> Date {
    let seconds: Double? =
      switch form {
      case .real(let number): number
      // Who edits a list by hand writes whole numbers so.
      case .integer(let number): Double(number)
      default: nil
      }
    if let seconds, seconds.isFinite { return Date(timeIntervalSinceReferenceDate: seconds) }
    guard let date = Date(plainForm: form) else { throw PlainCoding.undecodable(Date.self, form) }
    return date
  }

  @Sendable static func date(_ form: PlainForm) throws(StoreError) -> Date? {
    let date: Date = try date(form)
    return date
  }
}
