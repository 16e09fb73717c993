internal import Coffer
internal import CofferVault

enum CommandText {
  /// `coffer vault COMMAND SERVICE ACCOUNT WORD --field FIELD`, in a shell's quotes if needed.
  static func vault(_ command: String, _ name: ItemName, _ word: String? = nil) -> String {
    var words = ["coffer", "vault", command, name.service]
    if !name.account.isEmpty { words.append(name.account) }
    if let word { words.append(word) }
    if !name.field.isEmpty { words += ["--field", FieldName.described.contains(name.field) ? "#\(name.field)" : name.field] }
    return words.map(quoted).joined(separator: " ")
  }

  private static func quoted(_ word: String) -> String {
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
