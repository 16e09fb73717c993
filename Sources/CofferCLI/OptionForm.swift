internal import CofferTerminal

/// The valid forms of an option, for the error after an invalid one.
enum OptionForm {
  /// The forms by the value's name in help pages.
  private static let forms = [
    "n": "a whole number", "number": "a whole number", "words": "a whole number", "bits": "a whole number",
    "seconds": "a whole number",
    "time": "a time: 90s, 15m, 2h or 1d", "when": "30d, 12h, 2026-12-31 or never",
  ]
  /// Options whose value may be mistaken for the secret itself.
  private static let nearSecrets = ["fd", "passphrase", "key", "recovery", "identity"]

  /// The failure for the parser's `message` about an option's value; nil for any other message.
  static func explain(_ message: Substring, _ arguments: Arguments, _ name: String) -> Failure? {
    guard let quoted = message.split(separator: "'", omittingEmptySubsequences: false).dropFirst().first,
      message.contains("(not repeated here) is invalid for") || message.lowercased().hasPrefix("missing value for")
    else { return nil }
    let words = quoted.split(separator: " ")
    guard let option = words.first, option.hasPrefix("--"), let value = words.dropFirst().first, value.hasPrefix("<") else {
      return nil
    }
    guard let form = forms[String(value.dropFirst().dropLast())].map({ "\($0); \(name) --help" }) else { return nil }
    guard let given = given(option, arguments.given), !nearSecrets.contains(where: { option.contains($0) }) else {
      return .usage("\(option) does not take the value that was given (not repeated here)", try: form)
    }
    return .usage("\(option) does not take '\(Printable.line(given))'", try: form)
  }

  private static func given(_ option: Substring, _ words: [String]) -> String? {
    for (index, word) in words.enumerated() {
      if word == option { return words.dropFirst(index + 1).first }
      if word.hasPrefix("\(option)=") { return String(word.dropFirst(option.count + 1)) }
    }
    return nil
  }
}
