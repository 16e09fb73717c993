internal import ArgumentParser
internal import Coffer

struct DefaultsWrite: Command {
  static let configuration = CommandConfiguration(
    commandName: "write", abstract: "Store a preference.",
    usage: "coffer defaults write [--home <dir>] [--quiet] <domain> <key> [-type] <value> …",
    discussion: """
      Without a type flag the value is text. The flags are those of macOS: -bool, -int, -float, -string, -date, -data (in \
      hexadecimal), -array VALUE…, -array-add VALUE…, -dict KEY VALUE…, -dict-add KEY VALUE…; inside an array or a dictionary \
      a value may carry its own flag.
      """)

  // The words are macOS's, not this parser's: -int is one flag there, and -5 a number.
  @Argument(parsing: .captureForPassthrough, help: ArgumentHelp("Domain, key, type flag and value.", valueName: "words"))
  var words: [String] = []
  @OptionGroup var ownCommon: CommonOptions

  var common: CommonOptions { ownCommon }

  func perform(_ session: Session) throws {
    guard !["--help", "-h", "-help"].contains(words.first) else { throw CleanExit.helpRequest(self) }
    guard words.count >= 3 else {
      throw Failure.usage("a domain, a key and a value are needed", try: "coffer defaults write com.example.app theme dark")
    }
    let store = try session.places.openDefaults(words[0])
    let key = try StoredName.check(words[1])
    let value = try TypedWords.parse(words[2...])
    switch value {
    case .replace(let form): try store.save(form, for: key)
    case .append(let items):
      try store.update(key) { (old) throws(StoreError) in
        guard case .array(let before)? = old ?? .array([]) else { throw Self.notOf("array", old, key) }
        return .array(before + items)
      }
    case .merge(let items):
      try store.update(key) { (old) throws(StoreError) in
        guard case .dictionary(let before)? = old ?? .dictionary([:]) else { throw Self.notOf("dictionary", old, key) }
        return .dictionary(before.merging(items) { $1 })
      }
    }
    try store.close()
  }

  private static func notOf(_ kind: String, _ found: PlainForm?, _ key: String) -> StoreError {
    StoreError(
      .undecodable(stored: found?.kindName ?? "nothing"), "the stored value is no \(kind), so nothing can be added to it",
      key: key, cure: "write a whole new value")
  }
}

/// The words after the key.
enum TypedWords: Equatable {
  case replace(PlainForm)
  case append([PlainForm])
  case merge([String: PlainForm])

  static func parse(_ words: ArraySlice<String>) throws(Failure) -> TypedWords {
    switch words.first {
    case "-array": return .replace(.array(try values(words.dropFirst())))
    case "-array-add": return .append(try values(words.dropFirst()))
    case "-dict": return .replace(.dictionary(try pairs(words.dropFirst())))
    case "-dict-add": return .merge(try pairs(words.dropFirst()))
    default:
      var rest = words
      let value = try value(&rest)
      guard rest.isEmpty else {
        throw .usage("several values were given", try: "quotes around a value with spaces, or -array")
      }
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

  /// A value with its type flag, if it carries one. What looks like a flag but is none is refused: a mistyped `-boool` must
  /// not become text.
  private static func value(_ words: inout ArraySlice<String>) throws(Failure) -> PlainForm {
    guard let word = words.popFirst() else { throw .usage("a value is missing at the end", try: "coffer defaults write --help") }
    if let type = types[word] {
      guard let text = words.popFirst() else {
        throw .usage("\(word) is not followed by a value", try: "coffer defaults write --help")
      }
      return try type.parse(text)
    }
    guard !word.hasPrefix("-") || word == "-" || Double(word) != nil else {
      throw .usage("a word begins with a hyphen and is no type flag", try: "-string before a text that begins with one")
    }
    return .string(word)
  }
}
