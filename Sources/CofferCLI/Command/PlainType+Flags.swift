internal import ArgumentParser
internal import CofferFormats

extension PlainType: EnumerableFlag {
  static func help(for value: PlainType) -> ArgumentHelp? {
    switch value {
    case .bool: "The value is true or false (yes, no, on, off, 1, 0)."
    case .int: "The value is a whole number."
    case .float: "The value is a number, or inf or nan."
    case .string: "The value is text, which is what a new value is by default."
    case .date: "The value is a date, 2026-12-31 or 2026-12-31T18:00:00Z."
    case .data: "The value is bytes, in hexadecimal; from standard input as they are."
    case .json: "The value is JSON: an array, an object or a single value."
    }
  }
}
