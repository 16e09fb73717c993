internal import Coffer
internal import CofferVault

enum CommandText {
  /// `coffer COMMAND SERVICE/ACCOUNT WORD --field FIELD`, in a shell's quotes if needed.
  static func vault(_ command: String, _ name: ItemName, _ word: String? = nil) -> String {
    var words = ["coffer", command, name.item.description]
    if let word { words.append(word) }
    let field = name.field.isEmpty ? "" : " --field " + field(name.field)
    return words.map(quoted).joined(separator: " ") + field
  }

  /// A secret field's name after `--field`.
  static func field(_ name: String) -> String { quoted(FieldName.described.contains(name) ? "#\(name)" : name) }

  static func quoted(_ word: String) -> String {
    let isPlain = word.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      case 0x80...0xFF: true
      default: "._/:@-+".utf8.contains(byte)
      }
    }
    return isPlain && !word.isEmpty ? word : "'\(word.replacing("'", with: "'\\''"))'"
  }
}
