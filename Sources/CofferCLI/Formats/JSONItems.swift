internal import Coffer
internal import CofferStorage
internal import CofferVault
internal import FoundationEssentials

/// The items of what `coffer vault export --reveal` printed.
enum JSONItems {
  private static let version = 1

  /// Reads `{"coffer":1,"items":[…]}`, or the list alone.
  ///
  /// - Throws: `.damaged`, naming the line and never what stands there; `.newerFormat`.
  static func read(_ file: borrowing SecretBytes, place: String) throws -> [ImportedItem] {
    try file.withUnsafeBytes { raw in
      var scanner = JSONScanner(raw, place: place)
      var items: [ImportedItem] = []
      if scanner.peek() == UInt8(ascii: "[") {
        try scanner.array { items.append(try item(&$0, place)) }
      } else {
        try scanner.object { scanner, field in
          switch field {
          case "coffer": try check(try scanner.number(), place)
          case "items": try scanner.array { items.append(try item(&$0, place)) }
          default: throw scanner.damaged("an unknown field beside the items")
          }
        }
      }
      try scanner.end()
      return items
    }
  }

  private static func check(_ found: Int, _ place: String) throws(StoreError) {
    guard found > version else { return }
    throw StoreError(
      .newerFormat(found: found, supported: version), "the file has version \(found), and this version reads \(version)",
      place: place, cure: "update coffer")
  }

  /// What stands in one item. A field of another name is refused: a misspelt one would be lost without a word.
  private static func item(_ scanner: inout JSONScanner, _ place: String) throws -> ImportedItem {
    var service: String?
    var account = ""
    var part = ""
    var metadata = ItemMetadata()
    var created: Date?
    var modified: Date?
    var value: SecretBytes?
    try scanner.object { scanner, field in
      switch field {
      case "service": service = try scanner.text()
      case "account": account = try scanner.text()
      case "field": part = try scanner.text()
      case "label": metadata.label = try scanner.text()
      case "type": metadata.contentType = try scanner.text()
      case "attributes": metadata.attributes = try attributes(&scanner)
      case "created": created = try moment(&scanner)
      case "modified": modified = try moment(&scanner)
      case "expires": metadata.expires = try moment(&scanner)
      case "revision", "bytes", "history": _ = try scanner.number()
      // Another vault gives an item another id, and sees its value for the first time.
      case "id", "written": _ = try scanner.text()
      case "value": value = try secret(&scanner)
      default: throw scanner.damaged("an unknown field of an item")
      }
    }
    guard let service else { throw scanner.damaged("an item has no service") }
    guard let value else { throw scanner.damaged("an item has no value") }
    let name: ItemName
    do throws(StoreError) {
      let item = try ItemName(service: service, account: account)
      name = part.isEmpty ? item : try item.field(named: part)
    } catch {
      throw error.ofImported(account.isEmpty ? service : "\(service)/\(account)", place: place, line: scanner.line)
    }
    return ImportedItem(
      name: name, form: SecretForm(value, metadata: metadata), created: created,
      modified: modified)
  }

  private static func attributes(_ scanner: inout JSONScanner) throws -> [String: String] {
    var attributes: [String: String] = [:]
    try scanner.object { scanner, name in
      guard attributes.updateValue(try scanner.text(), forKey: name) == nil else {
        throw scanner.damaged("an attribute is given twice")
      }
    }
    return attributes
  }

  private static func moment(_ scanner: inout JSONScanner) throws -> Date? {
    guard try !scanner.isNull() else { return nil }
    guard let moment = Moment.parse(try scanner.text()) else { throw scanner.damaged("a time is not ISO 8601") }
    return moment
  }

  private static func secret(_ scanner: inout JSONScanner) throws -> SecretBytes {
    guard scanner.peek() == UInt8(ascii: "{") else { return try scanner.secretText() }
    var bytes: SecretBytes?
    try scanner.object { scanner, field in
      guard field == "base64" else { throw scanner.damaged("a value is neither text nor base64") }
      guard let decoded = try SecretBase64.decode(scanner.secretText()) else { throw scanner.damaged("a value is no Base64") }
      bytes = consume decoded
    }
    guard let bytes else { throw scanner.damaged("a value is neither text nor base64") }
    return bytes
  }
}

/// Base64 and back to bytes, within guarded memory. Source: RFC 4648, section 4, with padding and nothing else.
enum SecretBase64 {
  /// Hands the Base64 of `raw` to `put`, byte by byte. Foundation's encoder would leave a copy in ordinary memory.
  static func encode(_ raw: UnsafeRawBufferPointer, _ put: (UInt8) -> Void) {
    let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    for start in stride(from: 0, to: raw.count, by: 3) {
      let have = min(3, raw.count - start)
      let bits = (0..<3).reduce(0) { $0 << 8 | ($1 < have ? Int(raw[start + $1]) : 0) }
      for digit in 0..<4 { put(digit <= have ? alphabet.utf8Start[bits >> (18 - 6 * digit) & 63] : UInt8(ascii: "=")) }
    }
  }

  /// The bytes that `text` spells; nil when it is no Base64.
  static func decode(_ text: borrowing SecretBytes) throws -> SecretBytes? {
    let count = text.count
    guard count.isMultiple(of: 4) else { return nil }
    let padding = text.withUnsafeBytes { raw in raw.suffix(2).count { $0 == UInt8(ascii: "=") } }
    var bytes = try SecretBytes(zeros: count / 4 * 3 - padding)
    let isValid = text.withUnsafeBytes { raw in bytes.withUnsafeMutableBytes { write(raw, padding, to: $0) } }
    guard isValid else { return nil }
    return consume bytes
  }

  private static func write(_ raw: UnsafeRawBufferPointer, _ padding: Int, to out: UnsafeMutableRawBufferPointer) -> Bool {
    for start in stride(from: 0, to: raw.count, by: 4) {
      var bits: UInt32 = 0
      for index in start..<start + 4 {
        let isPadding = index >= raw.count - padding
        guard let value = isPadding ? 0 : value(raw[index]) else { return false }
        bits = bits << 6 | value
      }
      for (place, shift) in [16, 8, 0].enumerated() {
        let at = start / 4 * 3 + place
        if at < out.count {
          out[at] = UInt8(truncatingIfNeeded: bits >> UInt32(shift))
        } else if bits >> UInt32(shift) & 0xFF != 0 {
          return false  // Bits beyond the end: a second spelling of the same bytes.
        }
      }
    }
    return true
  }

  private static func value(_ digit: UInt8) -> UInt32? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}

extension StoreError {
  /// The same error about the name of an entry to be imported: which one it is, and where it stands.
  func ofImported(_ entry: String, place: String, line: Int? = nil) -> StoreError {
    StoreError(
      kind, (line.map { "line \($0): " } ?? "") + what, key: entry, place: place, cure: "\(commandCure); nothing was imported",
      underlying: underlying)
  }
}
