internal import Coffer
internal import CofferPlatform

enum CommandText {
  /// `coffer COMMAND SERVICE/ACCOUNT WORD --field FIELD`, in a shell's quotes if needed.
  static func item(_ command: String, _ name: ItemName, _ word: String? = nil) -> String {
    var words = ["coffer", command, name.item.description]
    if let word { words.append(word) }
    let field = name.field.isEmpty ? "" : " --field " + field(name.field)
    return words.map(quoted).joined(separator: " ") + field
  }

  static func field(_ name: String) -> String { quoted(FieldName.described.contains(name) ? "#\(name)" : name) }

  static func quoted(_ word: String) -> String {
    let isPlain = word.utf8.allSatisfy { $0.isLetterOrDigit || $0 >= 0x80 || "._/:@-+".utf8.contains($0) }
    return isPlain && !word.isEmpty ? word : "'\(word.replacing("'", with: "'\\''"))'"
  }
}
