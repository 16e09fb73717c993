internal import Coffer
internal import CofferStorage
internal import CofferTerminal

/// The value of a field of a 1Password item: an object with one member, named by the kind.
struct OnePasswordValue {
  var secret: SecretForm?
  var oneTime: OneTimeSeed?
  var texts: [String] = []
  var file: File?
  var isKey = false
  var isUnknown = false

  struct File {
    var name = ""
    fileprivate var id = ""
    /// Its place in the archive.
    var path: String { "files/\(id)__\(name)" }
  }

  mutating func read(_ scanner: inout JSONScanner, kind: String) throws {
    switch kind {
    case "concealed", "creditCardNumber": secret = try scanner.secretOrNothing()
    case "totp": oneTime = OneTimeSeed(try scanner.secretOrNothing())
    case "file", "sshKey", "address", "email":
      guard scanner.peek() == UInt8(ascii: "{") else { return try readText(&scanner) }
      try readObject(&scanner, kind)
    default: try readText(&scanner)
    }
  }

  private mutating func readObject(_ scanner: inout JSONScanner, _ kind: String) throws {
    var parts: [String] = []
    if kind == "file" { file = File() }
    try scanner.object { scanner, name in
      switch (kind, name) {
      case ("file", "fileName"): file?.name = try scanner.textOrNothing()
      case ("file", "documentId"): file?.id = try scanner.textOrNothing()
      case ("sshKey", "privateKey"):
        secret = try scanner.secretOrNothing()
        isKey = true
      case ("email", "email_address"), ("address", _):
        let part = try scanner.textOrNothing()
        if !part.isEmpty { parts.append(part) }
      default: try scanner.skip()
      }
    }
    texts += parts.isEmpty ? [] : [parts.joined(separator: ", ")]
  }

  private mutating func readText(_ scanner: inout JSONScanner) throws {
    switch scanner.peek() {
    case UInt8(ascii: "\""): texts.append(try scanner.text())
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      isUnknown = true
      try scanner.skip()
    default:
      let literal = try scanner.literal()
      if literal != "null" { texts.append(literal) }
    }
  }
}
