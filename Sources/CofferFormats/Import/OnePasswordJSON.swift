package import Coffer
package import CofferStorage
internal import FoundationEssentials

/// `export.data` of a 1Password archive (`.1pux`).
///
/// Source: support.1password.com/1pux-format.
package struct OnePasswordJSON {
  private var found = ImportedEntries()

  /// - Parameter attached: gives an attached file by its name in the archive, at most as large as its second argument.
  package static func read(
    _ data: borrowing SecretBytes, place: String, attached: (String, Int) throws -> SecretForm? = { _, _ in nil }
  ) throws -> ImportedEntries {
    try data.withUnsafeBytes { raw in
      var scanner = JSONScanner(raw, place: place)
      var reader = OnePasswordJSON()
      try scanner.each("accounts") { try $0.each("vaults") { try reader.readVault(&$0, attached) } }
      try scanner.end()
      return reader.found
    }
  }

  private mutating func readVault(_ scanner: inout JSONScanner, _ attached: (String, Int) throws -> SecretForm?) throws {
    var name = ""
    var drafts: [Draft] = []
    try scanner.object { scanner, field in
      switch field {
      case "attrs": name = try scanner.text(of: "name")
      case "items": try scanner.array { drafts.append(try Draft(&$0)) }
      default: try scanner.skip()
      }
    }
    for draft in drafts { try draft.finish(name, &found, attached) }
  }

  private struct Draft {
    private static let note = "003"
    /// The main secret among a section's fields, for items without a password.
    private static let mains: Set = ["ccnum", "private_key", "password", "credential", "wireless_password", "reg_code"]

    private var entry = ImportedEntry()
    private var category = "", state = ""
    private var notes: SecretForm?, main: SecretForm?
    private var files: [OnePasswordValue.File] = [], unknown: [String] = [], passkeys = 0

    init(_ scanner: inout JSONScanner) throws { try read(&scanner) }

    private mutating func read(_ scanner: inout JSONScanner) throws {
      try scanner.object { scanner, name in
        switch name {
        // Older archives have each item in an object of its own.
        case "item": try read(&scanner)
        case "file": try readFile(&scanner)
        case "favIndex": if try scanner.literal() != "0" { entry.tags.append("favorite") }
        case "createdAt": entry.created = entry.date("created", try scanner.dateText(), read: Self.moment)
        case "updatedAt": entry.modified = entry.date("modified", try scanner.dateText(), read: Self.moment)
        case "state": state = try scanner.textOrNothing()
        case "trashed": if try scanner.literal() == "true" { state = "trashed" }
        case "categoryUuid": category = try scanner.textOrNothing()
        case "overview": try readOverview(&scanner)
        case "details": try readDetails(&scanner)
        default: try scanner.skip()
        }
      }
    }

    private mutating func readOverview(_ scanner: inout JSONScanner) throws {
      var first = ""
      var others: [String] = []
      try scanner.object { scanner, name in
        switch name {
        case "title": entry.title = try scanner.textOrNothing()
        case "url": first = try scanner.textOrNothing()
        case "urls": try scanner.list { others.append(try $0.text(of: "url")) }
        case "tags": try scanner.list { entry.tags.append(try $0.textOrNothing()) }
        default: try scanner.skip()
        }
      }
      entry.urls = [first].filter { !$0.isEmpty } + others.filter { $0 != first }
    }

    private mutating func readDetails(_ scanner: inout JSONScanner) throws {
      try scanner.object { scanner, name in
        switch name {
        case "loginFields": try scanner.list { try readLoginField(&$0) }
        case "notesPlain": notes = try scanner.secretOrNothing()
        case "password": if let password = try scanner.secretOrNothing() { entry.value = password }
        case "sections": try scanner.list { try $0.each("fields") { try readField(&$0) } }
        case "passwordHistory": try scanner.list { try entry.readPrevious(&$0, "value", "time", read: Self.moment) }
        case "documentAttributes" where scanner.peek() == UInt8(ascii: "{"): try readFile(&scanner)
        case "passkey" where scanner.peek() == UInt8(ascii: "{"):
          passkeys += 1
          try scanner.skip()
        default: try scanner.skip()
        }
      }
    }

    private mutating func readLoginField(_ scanner: inout JSONScanner) throws {
      var (label, type, designation) = ("", "", "")
      var value: SecretForm?
      try scanner.object { scanner, name in
        switch name {
        case "value": value = try scanner.secretOrNothing()
        case "name": label = try scanner.textOrNothing()
        case "fieldType": type = try scanner.textOrNothing()
        case "designation": designation = try scanner.textOrNothing()
        default: try scanner.skip()
        }
      }
      switch designation {
      case "username": entry.user = value?.plainText ?? ""
      case "password": entry.value = value
      default: if type == "P" { entry.add(value, as: label) } else { entry.say(value?.plainText ?? "", as: label) }
      }
    }

    private mutating func readField(_ scanner: inout JSONScanner) throws {
      var (title, id) = ("", "")
      var value = OnePasswordValue()
      try scanner.object { scanner, name in
        switch name {
        case "title": title = try scanner.textOrNothing()
        case "id": id = try scanner.textOrNothing()
        case "value" where scanner.peek() == UInt8(ascii: "{"): try scanner.object { try value.read(&$0, kind: $1) }
        default: try scanner.skip()
        }
      }
      let name = title.isEmpty ? id : title
      if var file = value.file {
        if file.name.isEmpty { file.name = name }
        files.append(file)
      }
      try entry.takeSeed(value.oneTime, as: name)
      if let secret = value.secret {
        if main == nil, Self.mains.contains(id) || value.isKey { main = secret } else { entry.add(secret, as: name) }
      }
      if value.isUnknown { unknown.append(name) }
      for text in value.texts { entry.say(text, as: name) }
    }

    private mutating func readFile(_ scanner: inout JSONScanner) throws {
      var value = OnePasswordValue()
      try value.read(&scanner, kind: "file")
      if let file = value.file { files.append(file) }
    }

    private static func moment(_ seconds: String) -> Date? {
      UInt64(seconds).flatMap { $0 > 0 && $0 < 1 << 40 ? Date(timeIntervalSince1970: Double($0)) : nil }
    }

    func finish(_ vault: String, _ found: inout ImportedEntries, _ attached: (String, Int) throws -> SecretForm?) throws {
      var entry = entry
      entry.folder = vault
      guard state != "trashed", state != "deleted" else { return found.leaveOut(entry.label, LeftOut.inTrash) }
      if state == "archived" { entry.tags.append("archived") }
      if entry.value == nil { entry.value = main } else { entry.add(main, as: "password") }
      if category == Self.note, entry.value == nil { entry.value = notes } else { entry.add(notes, as: "notes") }
      for file in files { try found.attach(file.name, to: &entry) { try attached(file.path, $0) } }
      // A document may hold no text at all, and its file may be left out.
      if entry.hasSecret || files.isEmpty { found.add(entry) }
      for name in unknown { found.leaveOut(entry.label, part: name, LeftOut.unknownType) }
      found.leaveOut(entry.label, LeftOut.passkey, count: passkeys)
    }
  }
}

extension JSONScanner {
  fileprivate mutating func each(_ name: String, _ body: (inout JSONScanner) throws -> Void) throws {
    try object { scanner, field in
      if field == name { try scanner.list(body) } else { try scanner.skip() }
    }
  }
}

/// An object with one member, named by the kind.
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
