internal import Coffer
internal import CofferPlatform
internal import CofferTerminal

enum CommandText {
  /// `coffer`, with the vault that the command line names: without it, a hint would be about another vault.
  static let coffer: String = {
    let words = CommandWords.all.map(\.text).prefix { $0 != "--" }
    let place =
      zip(words, words.dropFirst()).reversed().first { $0.0 == "--vault" }?.1
      ?? words.last { $0.hasPrefix("--vault=") }.map { String($0.dropFirst("--vault=".count)) }
    return "coffer" + (place.map { " --vault " + Printable.line(quoted(Printable.withoutPasswords($0))) } ?? "")
  }()

  /// `line`, which begins with `coffer`, for that vault.
  static func inVault(_ line: String) -> String { line.hasPrefix(coffer + " ") ? line : coffer + line.dropFirst("coffer".count) }

  /// `coffer COMMAND SERVICE/ACCOUNT WORD --field FIELD`, in a shell's quotes if needed.
  static func item(_ command: String, _ name: ItemName, _ word: String? = nil) -> String {
    var words = [command, name.item.description]
    if let word { words.append(word) }
    let field = name.field.isEmpty ? "" : " --field " + field(name.field)
    return ([coffer] + words.map(quoted)).joined(separator: " ") + field
  }

  static func field(_ name: String) -> String { quoted(FieldName.described.contains(name) ? "#\(name)" : name) }

  static func quoted(_ word: String) -> String {
    let isPlain = word.utf8.allSatisfy { $0.isLetterOrDigit || $0 >= 0x80 || "._/:@-+".utf8.contains($0) }
    return isPlain && !word.isEmpty ? word : "'\(word.replacing("'", with: "'\\''"))'"
  }
}
