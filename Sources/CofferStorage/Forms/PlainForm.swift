public import FoundationEssentials

/// A property-list value, the unit of the plain store.
public enum PlainForm: Sendable {
  /// `<true/>` or `<false/>`.
  case bool(Bool)
  /// `<integer>` within `Int64`.
  case integer(Int64)
  /// `<integer>` above `Int64.max`; smaller ones are ``integer(_:)``, so that each number has one form.
  case unsigned(UInt64)
  /// `<real>`.
  case real(Double)
  /// `<string>`.
  case string(String)
  /// `<date>`; whole seconds in an XML list.
  case date(Date)
  /// `<data>`.
  case data(Data)
  /// `<array>`.
  case array([PlainForm])
  /// `<dict>`.
  case dictionary([String: PlainForm])
  /// Text of an override (launch argument, environment), typed by the reading key. Never stored.
  case argument(String)

  /// The word for this kind of value in a property list or `explain`.
  public var kindName: String {
    switch self {
    case .bool: "boolean"
    case .integer, .unsigned: "integer"
    case .real: "real"
    case .string: "string"
    case .date: "date"
    case .data: "data"
    case .array: "array"
    case .dictionary: "dictionary"
    case .argument: "argument"
    }
  }
}

extension PlainForm: Equatable {
  /// Whether both are the same stored value. Reals compare by their bits, so that an unchanged NaN is known as unchanged.
  public static func == (left: PlainForm, right: PlainForm) -> Bool {
    switch (left, right) {
    case (.bool(let a), .bool(let b)): a == b
    case (.integer(let a), .integer(let b)): a == b
    case (.unsigned(let a), .unsigned(let b)): a == b
    case (.real(let a), .real(let b)): a.bitPattern == b.bitPattern
    case (.string(let a), .string(let b)): a.hasSameBytes(as: b)
    case (.date(let a), .date(let b)): a == b
    case (.data(let a), .data(let b)): a == b
    case (.array(let a), .array(let b)): a == b
    case (.dictionary(let a), .dictionary(let b)): a == b
    case (.argument(let a), .argument(let b)): a == b
    default: false
    }
  }
}
