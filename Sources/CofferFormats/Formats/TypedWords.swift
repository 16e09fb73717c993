internal import Coffer
package import CofferStorage
package import CofferTerminal

package enum TypedWords: Equatable {
  case replace(PlainForm)
  case append([PlainForm])
  case merge([String: PlainForm])

  package static func parse(_ words: ArraySlice<String>) throws(Failure) -> TypedWords {
    switch words.first {
    case "-array": return .replace(.array(try values(words.dropFirst())))
    case "-array-add": return .append(try values(words.dropFirst()))
    case "-dict": return .replace(.dictionary(try pairs(words.dropFirst())))
    case "-dict-add": return .merge(try pairs(words.dropFirst()))
    default:
      var rest = words
      let value = try value(&rest)
      guard rest.isEmpty else { throw .usage("several values were given", try: "quotes around a value with spaces, or -array") }
      return .replace(value)
    }
  }

  private static func values(_ words: ArraySlice<String>) throws(Failure) -> [PlainForm] {
    var rest = words
    var values: [PlainForm] = []
    while !rest.isEmpty { values.append(try value(&rest)) }
    return values
  }

  private static func pairs(_ words: ArraySlice<String>) throws(Failure) -> [String: PlainForm] {
    var rest = words
    var pairs: [String: PlainForm] = [:]
    while let key = rest.popFirst() { pairs[key] = try value(&rest) }
    return pairs
  }

  private static let types: [String: PlainType] = [
    "-bool": .bool, "-boolean": .bool, "-int": .int, "-integer": .int, "-float": .float, "-string": .string, "-date": .date,
    "-data": .data,
  ]

  package static func isTypeFlag(_ word: String) -> Bool { types[word] != nil }

  /// An unknown flag is refused: a mistyped `-boool` must not become text.
  private static func value(_ words: inout ArraySlice<String>) throws(Failure) -> PlainForm {
    guard let word = words.popFirst() else { throw .usage("a value is missing at the end", try: "coffer defaults write --help") }
    if let type = types[word] {
      guard let text = words.popFirst() else {
        throw .usage("\(word) is not followed by a value", try: "coffer defaults write --help")
      }
      guard type != .bool || isTruth(text) else {
        throw .usage("the value is not a bool", try: "true or false (yes, no, 1, 0), as on macOS, or another type flag")
      }
      return try type.parse(text)
    }
    guard !word.hasPrefix("-") || word == "-" || Double(word) != nil else {
      throw .usage("a word begins with a hyphen and is no type flag", try: "-string before a text that begins with one")
    }
    return try untyped(word)
  }

  /// The booleans of macOS's `defaults`: defaults(1), -bool. `coffer set --bool` accepts on and off as well.
  private static func isTruth(_ text: String) -> Bool { ["true", "false", "yes", "no", "1", "0"].contains(text.lowercased()) }

  /// A word without a flag is text, unless it begins like a property list, as on macOS. A broken list is refused: neither
  /// half a list nor a list as text can be meant.
  private static func untyped(_ word: String) throws(Failure) -> PlainForm {
    guard let first = word.first(where: { !$0.isWhitespace }), "{(<".contains(first) else { return .string(word) }
    if let form = ClassicListReader.parse(word) { return form }
    if first == "<", let form = PlainForm(propertyListXML: word) { return form }
    throw .usage(
      "a value begins like a property list but is not one",
      try: "-string before text; '{ key = value; }', '(a, b)', '<0f00>' or XML for a list; coffer set --json for JSON")
  }

  package func applied(to old: PlainForm?, under key: String) throws(StoreError) -> PlainForm {
    switch (self, old) {
    case (.replace(let form), _): return form
    case (.append(let items), nil): return .array(items)
    case (.append(let items), .array(let before)): return .array(before + items)
    case (.append, let found?): throw Self.notOf("an array", found, key)
    case (.merge(let items), nil): return .dictionary(items)
    case (.merge(let items), .dictionary(let before)): return .dictionary(before.merging(items) { $1 })
    case (.merge, let found?): throw Self.notOf("a dictionary", found, key)
    }
  }

  private static func notOf(_ kind: String, _ found: PlainForm, _ key: String) -> StoreError {
    StoreError(
      .undecodable(stored: found.kindName), "the stored value is not \(kind), so nothing can be added to it", key: key,
      cure: "write a whole new value")
  }
}
