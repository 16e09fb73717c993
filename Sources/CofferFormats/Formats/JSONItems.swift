package import Coffer
package import CofferMemory
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

package enum JSONItems {
  private static let version = 1

  /// Reads `{"coffer":1,"items":[…]}`, or the bare list.
  ///
  /// - Throws: `.damaged`, naming the line and never its text; `.newerFormat`.
  package static func read(_ file: borrowing SecretBytes, place: String) throws -> [ImportedItem] {
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
          default: throw scanner.damaged("there is an unknown field beside the items")
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

  /// The fields of one item. Unknown fields are refused: a misspelled one would be lost silently.
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
      // In another vault the item gets another id, and its value is new.
      case "id", "written": _ = try scanner.text()
      case "value": value = try secret(&scanner)
      default: throw scanner.damaged("an item has an unknown field")
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
    return ImportedItem(name: name, form: SecretForm(value, metadata: metadata), created: created, modified: modified)
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
      guard let decoded = try SecretBase64.decode(scanner.secretText()) else { throw scanner.damaged("a value is not Base64") }
      bytes = consume decoded
    }
    guard let bytes else { throw scanner.damaged("a value is neither text nor base64") }
    return bytes
  }
}

extension StoreError {
  /// With the label and the place of an imported entry.
  package func ofImported(_ entry: String, place: String, line: Int? = nil) -> StoreError {
    StoreError(
      kind, (line.map { "line \($0): " } ?? "") + what, key: entry, place: place, cure: "\(commandCure); nothing was imported",
      underlying: underlying)
  }
}
