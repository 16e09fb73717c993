/// The value of `Exec` in a file by which D-Bus starts a service.
///
/// dbus-daemon parses it twice. First, as in a desktop entry, a backslash stands before another one or a letter: a file with
/// any other is ignored. Then the value is split as in a shell, without variables and patterns. Source: D-Bus Specification,
/// "Message Bus Starting Services"; Desktop Entry Specification, "Possible value types"; dbus-daemon 1.14.
enum ActivationCommand {
  static func text(_ words: [String]) -> String { words.map(quoted).joined(separator: " ") }

  static func words(_ text: String) -> [String] {
    var words: [String] = []
    var (word, quote, isEscaped) = (String.UnicodeScalarView(), Unicode.Scalar?.none, false)
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\" where !isEscaped:
        isEscaped = true
        continue
      case quote: quote = nil
      case "'" where quote == nil, "\"" where quote == nil: quote = scalar
      case " " where quote == nil:
        words.append(String(word))
        word = String.UnicodeScalarView()
      default: word.append(scalar)
      }
      isEscaped = false
    }
    return words + [String(word)]
  }

  /// By scalars: with a combining mark each is another character to Swift, and the same byte to D-Bus.
  private static func quoted(_ word: String) -> String {
    let isPlain = !word.isEmpty && word.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"'\"\\$`&;()<>|*?#~!{}[]".utf8.contains($0) }
    guard !isPlain else { return word }
    var text = String.UnicodeScalarView()
    for scalar in word.unicodeScalars {
      switch scalar {
      // Between other quotes: a desktop entry has no backslash before it.
      case "'": text.append(contentsOf: "'\"'\"'".unicodeScalars)
      case "\\": text.append(contentsOf: "\\\\".unicodeScalars)
      default: text.append(scalar)
      }
    }
    return "'" + String(text) + "'"
  }
}
