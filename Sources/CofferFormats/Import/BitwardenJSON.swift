package import Coffer
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import FoundationEssentials

/// The JSON export of Bitwarden and Vaultwarden.
///
/// Source: bitwarden.com/help/condition-bitwarden-import, and `libs/common/src/models/export` of
/// github.com/bitwarden/clients.
package struct BitwardenJSON {
  /// By id: entries may precede their folders and collections in the file.
  private var folders: [String: String] = [:]
  private var drafts: [Draft] = []
  private var isEncrypted = false

  /// - Throws: `.damaged`, naming the line and never its text; a usage failure for an encrypted export.
  package static func read(_ file: borrowing SecretBytes, place: String) throws -> ImportedEntries {
    try file.withUnsafeBytes { raw in
      var scanner = JSONScanner(raw, place: place)
      var reader = BitwardenJSON()
      try scanner.object { scanner, name in
        switch name {
        case "encrypted": reader.isEncrypted = try scanner.literal() == "true"
        case "folders", "collections": try scanner.array { try reader.readFolder(&$0) }
        case "items": try scanner.array { reader.drafts.append(try Draft(&$0)) }
        default: try scanner.skip()
        }
      }
      try scanner.end()
      guard !reader.isEncrypted else {
        throw Failure.usage(
          "the export in \(place) is encrypted, and only Bitwarden can read it",
          try: "an export as .json, not as .json (Encrypted); or bw export --format json --raw | coffer import -")
      }
      var found = ImportedEntries()
      for draft in reader.drafts { draft.finish(reader.folders, &found) }
      return found
    }
  }

  private mutating func readFolder(_ scanner: inout JSONScanner) throws {
    var id = "", name = ""
    try scanner.object { scanner, field in
      switch field {
      case "id": id = try scanner.textOrNothing()
      case "name": name = try scanner.textOrNothing()
      default: try scanner.skip()
      }
    }
    folders[id] = name
  }

  /// Type and folder may come last in the file.
  private struct Draft {
    private enum Kind: String { case login = "1", note = "2", card = "3", identity = "4", key = "5" }

    private var entry = ImportedEntry()
    private var kind = ""
    private var notes: SecretForm?
    private var folder = "", collections: [String] = []
    private var isDeleted = false, passkeys = 0
    private var attachments: [String] = [], links: [String] = []

    init(_ scanner: inout JSONScanner) throws {
      try scanner.object { scanner, name in
        switch name {
        case "type": kind = try scanner.literal()
        case "name": entry.title = try scanner.textOrNothing()
        case "notes": notes = try scanner.secretOrNothing()
        case "favorite": if try scanner.literal() == "true" { entry.tags.append("favorite") }
        case "folderId": folder = try scanner.textOrNothing()
        case "collectionIds": try scanner.list { collections.append(try $0.textOrNothing()) }
        case "creationDate": entry.created = entry.date("created", try scanner.dateText())
        case "revisionDate": entry.modified = entry.date("modified", try scanner.dateText())
        case "deletedDate": isDeleted = try !scanner.textOrNothing().isEmpty
        case "archivedDate": entry.say(try scanner.textOrNothing(), as: "archived")
        case "login" where scanner.peek() == UInt8(ascii: "{"): try readLogin(&scanner)
        case "card" where scanner.peek() == UInt8(ascii: "{"): try readParts(&scanner, value: "number", secrets: ["code"])
        case "sshKey" where scanner.peek() == UInt8(ascii: "{"): try readParts(&scanner, value: "privateKey", secrets: [])
        case "identity" where scanner.peek() == UInt8(ascii: "{"):
          try readParts(&scanner, value: nil, secrets: ["ssn", "passportNumber", "licenseNumber"])
        case "fields": try scanner.list { try readField(&$0) }
        case "passwordHistory": try scanner.list { try entry.readPrevious(&$0, "password", "lastUsedDate") }
        // Only their names are in this export.
        case "attachments": try scanner.list { attachments.append(try $0.text(of: "fileName")) }
        default: try scanner.skip()
        }
      }
    }

    private mutating func readLogin(_ scanner: inout JSONScanner) throws {
      try scanner.object { scanner, name in
        switch name {
        case "username": entry.user = try scanner.textOrNothing()
        case "password": entry.value = try scanner.secretOrNothing()
        case "totp": try entry.takeSeed(OneTimeSeed(scanner.secretOrNothing()), as: name)
        case "uris": try scanner.list { entry.urls.append(try $0.text(of: "uri")) }
        case "fido2Credentials":
          try scanner.list {
            passkeys += 1
            try $0.skip()
          }
        default: try scanner.skip()
        }
      }
    }

    private mutating func readParts(_ scanner: inout JSONScanner, value: String?, secrets: Set<String>) throws {
      try scanner.object { scanner, name in
        switch name {
        case value: entry.value = try scanner.secretOrNothing()
        // The field of one-time codes is shown as the code.
        case _ where secrets.contains(name): entry.add(try scanner.secretOrNothing(), as: name == "code" ? "cvc" : name)
        default: entry.say(try scanner.textOrNothing(), as: name)
        }
      }
    }

    /// A custom field: text, hidden, boolean, or a link to another field.
    private mutating func readField(_ scanner: inout JSONScanner) throws {
      var field = "", type = "", value: SecretForm?
      try scanner.object { scanner, name in
        switch name {
        case "name": field = try scanner.textOrNothing()
        case "type": type = try scanner.literal()
        case "value": value = try scanner.secretOrNothing()
        default: try scanner.skip()
        }
      }
      // The linked field is imported by its own name.
      guard type != "3" else { return links.append(field) }
      // Bitwarden shows text and booleans in the clear. A kind of a later version is kept as a secret.
      if type == "0" || type == "2" { entry.say(value?.plainText ?? "", as: field) } else { entry.add(value, as: field) }
    }

    func finish(_ folders: [String: String], _ found: inout ImportedEntries) {
      var entry = entry
      guard !isDeleted else { return found.leaveOut(entry.label, LeftOut.inTrash) }
      guard let kind = Kind(rawValue: kind) else { return found.leaveOut(entry.label, LeftOut.unknownType) }
      let places = ([folder] + collections).compactMap { folders[$0] }.filter { !$0.isEmpty }
      entry.folder = places.first ?? ""
      for place in places.dropFirst() { entry.say(place, as: "folder") }
      if kind == .note, entry.value == nil { entry.value = notes } else { entry.add(notes, as: "notes") }
      entry.isKept = !(entry.user + entry.urls.joined()).isEmpty || !entry.attributes.isEmpty
      found.add(entry)
      for name in attachments { found.leaveOut(entry.label, part: name, LeftOut.attachment) }
      for name in links { found.leaveOut(entry.label, part: name, LeftOut.link) }
      found.leaveOut(entry.label, LeftOut.passkey, count: passkeys)
    }
  }
}

extension JSONScanner {
  /// The elements of a list; any other value is skipped.
  mutating func list(_ body: (inout JSONScanner) throws -> Void) throws {
    if peek() == UInt8(ascii: "[") { try array(body) } else { try skip() }
  }

  /// The member `name` of an object; empty if it is missing or `null`.
  mutating func text(of name: String) throws -> String {
    var text = ""
    try object { scanner, member in
      if member == name { text = try scanner.textOrNothing() } else { try scanner.skip() }
    }
    return text
  }

  /// As text or as a number; empty for `null`.
  mutating func dateText() throws(StoreError) -> String {
    guard peek() != UInt8(ascii: "\"") else { return try text() }
    let date = try literal()
    return date == "null" ? "" : date
  }
}

extension ImportedEntry {
  mutating func readPrevious(
    _ scanner: inout JSONScanner, _ value: String, _ time: String, read: (String) -> Date? = Moment.parse
  ) throws {
    var password: SecretForm?, date: Date?
    try scanner.object { scanner, name in
      switch name {
      case value: password = try scanner.secretOrNothing()
      case time: date = self.date("previous password", try scanner.dateText(), read: read)
      default: try scanner.skip()
      }
    }
    add(previous: password, date)
  }
}
