package import Coffer
internal import CofferMemory
internal import CofferStorage
internal import CofferTerminal
internal import FoundationEssentials

/// The XML of KeePass, KeePassXC and `keepassxc-cli export`.
///
/// Source: keepass.info/help/kb/kdbx.html, and files of KeePassXC.
package struct KeePassXML {
  private var found = ImportedEntries()
  private var trash = ""
  private var files: [String: AttachedFile] = [:]

  package static func read(_ file: borrowing SecretBytes, place: String) throws -> ImportedEntries {
    try file.withUnsafeBytes { raw in
      var scanner = XMLScanner(raw, place: place)
      var reader = KeePassXML()
      try scanner.root("KeePassFile") { scanner, _ in
        try scanner.children { scanner, tag in
          switch tag.name {
          case "Meta": try reader.readMeta(&scanner)
          case "Root": try scanner.children("Group") { scanner, _ in try reader.readGroup(&scanner, path: nil, isTrash: false) }
          default: try scanner.skipContent()
          }
        }
      }
      return reader.found
    }
  }

  private mutating func readMeta(_ scanner: inout XMLScanner) throws {
    var hasTrash = true, id = ""
    try scanner.children { scanner, tag in
      switch tag.name {
      case "RecycleBinEnabled": hasTrash = try scanner.text().lowercased() != "false"
      case "RecycleBinUUID": id = try scanner.text()
      case "Binaries":
        try scanner.children("Binary") { scanner, tag in
          guard let id = tag.attributes["ID"] else { return try scanner.skipContent() }
          files[id] = try AttachedFile(&scanner, tag)
        }
      default: try scanner.skipContent()
      }
    }
    if hasTrash { trash = id }
  }

  /// - Parameter path: the parent groups; nil for the root, whose name is the database's.
  private mutating func readGroup(_ scanner: inout XMLScanner, path: [String]?, isTrash: Bool) throws {
    var isTrash = isTrash
    var name = ""
    try scanner.children { scanner, tag in
      switch tag.name {
      case "UUID": if try scanner.text() == trash, !trash.isEmpty { isTrash = true }
      case "Name": name = try scanner.text()
      case "Entry":
        let folder = path.map { ($0 + [name]).joined(separator: "/") } ?? ""
        try readEntry(&scanner, folder: folder, isTrash: isTrash)
      case "Group": try readGroup(&scanner, path: path.map { $0 + [name] } ?? [], isTrash: isTrash)
      default: try scanner.skipContent()
      }
    }
  }

  private mutating func readEntry(_ scanner: inout XMLScanner, folder: String, isTrash: Bool) throws {
    var draft = Draft()
    draft.entry.folder = folder
    try scanner.children { scanner, tag in
      switch tag.name {
      case "String": try draft.readString(&scanner)
      case "Tags": draft.entry.tags = try scanner.text().unicodeScalars.split { $0 == ";" || $0 == "," }.map { String($0) }
      case "Times": try draft.readTimes(&scanner)
      case "Binary": try readAttachment(&scanner, of: &draft)
      case "History": try scanner.children("Entry") { scanner, _ in try draft.readPrevious(&scanner) }
      default: try scanner.skipContent()
      }
    }
    var entry = try draft.finished()
    guard !isTrash else { return found.leaveOut(entry.label, LeftOut.inTrash) }
    for (name, file) in draft.attachments { try found.attach(name, to: &entry) { try file?.content(limit: $0) } }
    found.add(entry)
  }

  private func readAttachment(_ scanner: inout XMLScanner, of draft: inout Draft) throws {
    var name = "", file: AttachedFile?
    try scanner.children { scanner, tag in
      switch tag.name {
      case "Key": name = try scanner.text()
      case "Value":
        file = try AttachedFile(&scanner, tag)
        if let id = tag.attributes["Ref"] { file = files[id] }
      default: try scanner.skipContent()
      }
    }
    draft.attachments.append((name, file))
  }

  /// A file in Base64, unpacked once its entry is known to be imported.
  private struct AttachedFile {
    private let text: SecretForm
    private let isCompressed: Bool

    init?(_ scanner: inout XMLScanner, _ tag: XMLScanner.Tag) throws {
      guard let text = try scanner.secret() else { return nil }
      self.text = text
      isCompressed = tag.attributes["Compressed"]?.lowercased() == "true"
    }

    func content(limit: Int) throws -> SecretForm? {
      // Many entries may name one file: it is not decoded for each. gzip adds five bytes to 64 KiB at most.
      guard text.bytes.count / 4 * 3 <= limit + 4096 else { throw Gzip.tooLarge(limit) }
      guard let bytes = try SecretBase64.decode(text.bytes) else { return nil }
      guard isCompressed else {
        guard bytes.count <= limit else { throw Gzip.tooLarge(limit) }
        return SecretForm(bytes)
      }
      guard let file = try Gzip.unpack(bytes, limit: limit) else { return nil }
      return SecretForm(file)
    }
  }

  private struct Draft {
    var entry = ImportedEntry()
    var attachments: [(name: String, file: AttachedFile?)] = []
    private var expiry = "", expires = false
    private var seeds = KeePassSeeds()
    private var keys: Set<[UInt8]> = []

    mutating func readString(_ scanner: inout XMLScanner) throws {
      var key = ""
      var value: SecretForm?
      var isProtected = false
      try scanner.children { scanner, tag in
        switch tag.name {
        case "Key": key = try scanner.text()
        case "Value":
          isProtected = ["ProtectInMemory", "Protected"].contains { tag.attributes[$0]?.lowercased() == "true" }
          value = try scanner.secret()
        default: try scanner.skipContent()
        }
      }
      guard let value else { return }
      // A second one would replace the first, which would be lost.
      guard keys.insert(Array(key.utf8)).inserted else { throw scanner.damaged("an entry has two texts of one name") }
      take(key, value, isProtected)
    }

    private mutating func take(_ key: String, _ value: SecretForm, _ isProtected: Bool) {
      guard !seeds.take(key, value) else { return }
      switch key {
      case "Title": entry.title = value.plainText
      case "UserName": entry.user = value.plainText
      case "URL": entry.urls.insert(value.plainText, at: 0)
      case "Password": entry.value = value
      case "Notes": entry.add(value, as: "notes")
      case _ where key.hasPrefix("KP2A_URL"): entry.urls.append(value.plainText)
      case _ where isProtected: entry.add(value, as: key)
      default: entry.say(value.plainText, as: key)
      }
    }

    mutating func readPrevious(_ scanner: inout XMLScanner) throws {
      var previous = Draft()
      try scanner.children { scanner, tag in
        switch tag.name {
        case "String": try previous.readString(&scanner)
        case "Times": try previous.readTimes(&scanner)
        default: try scanner.skipContent()
        }
      }
      entry.add(previous: previous.entry.value, previous.entry.modified)
    }

    mutating func readTimes(_ scanner: inout XMLScanner) throws {
      try scanner.children { scanner, tag in
        switch tag.name {
        case "CreationTime": entry.created = entry.date("created", try scanner.text(), read: Self.moment)
        case "LastModificationTime": entry.modified = entry.date("modified", try scanner.text(), read: Self.moment)
        case "ExpiryTime": expiry = try scanner.text()
        case "Expires": expires = try scanner.text().lowercased() == "true"
        default: try scanner.skipContent()
        }
      }
    }

    func finished() throws -> ImportedEntry {
      var entry = entry
      try seeds.add(to: &entry)
      if expires { entry.expires = entry.date("expires", expiry, read: Self.moment) }
      return entry
    }

    /// ISO 8601, or in newer files the seconds since year 1, as eight bytes in Base64.
    private static func moment(_ text: String) -> Date? {
      if let moment = Moment.parse(text) { return moment }
      guard let bytes = Data(base64Encoded: text), bytes.count == 8 else { return nil }
      let seconds = bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
      let before1970: UInt64 = 62_135_596_800
      guard seconds > before1970, seconds - before1970 < 1 << 40 else { return nil }
      return Date(timeIntervalSince1970: Double(seconds - before1970))
    }
  }
}
