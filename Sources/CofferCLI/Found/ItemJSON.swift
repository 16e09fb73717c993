internal import ArgumentParser
internal import Coffer
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

/// An item's description in JSON, without its value.
struct ItemJSON: Encodable {
  let service: String, account: String
  /// Only for a field of an item.
  let field: String?
  let label: String, type: String
  let attributes: [String: String]
  let created: String, modified: String, written: String, expires: String?
  let revision: UInt64
  let bytes: Int
  let history: Int
  let id: String
  let fields: [String]?

  init(_ item: VaultItem, fields: [String]? = nil) {
    id = item.id.uuidString.lowercased()
    history = item.history
    written = Moment.text(item.written)
    self.fields = fields
    service = item.name.service
    account = item.name.account
    field = item.name.field.isEmpty ? nil : item.name.field
    label = item.metadata.label
    type = item.metadata.contentType
    attributes = item.metadata.attributes
    created = Moment.text(item.created)
    modified = Moment.text(item.modified)
    expires = item.metadata.expires.map(Moment.text)
    revision = item.revision
    bytes = item.valueBytes
  }

  /// The description of an item beside its attributes, in display order; `--field` reads it by these names first.
  var description: [(String, String)] {
    [
      ("service", service), ("account", account), ("label", label), ("type", type), ("created", created), ("modified", modified),
      ("expires", expires ?? ""), ("revision", String(revision)), ("bytes", String(bytes)),
    ]
  }

  /// Names and values for people. An attribute with the name of another part is marked as an attribute.
  var rows: [[String]] {
    let said = description
    let attributes = attributes.sorted { $0.key < $1.key }.map { name, value in
      [said.contains { $0.0 == name } || name == "fields" ? "attribute \(name)" : name, value]
    }
    let fields = fields.map { $0.isEmpty ? [] : [["fields", $0.joined(separator: ", ")]] } ?? []
    return said.filter { !$0.1.isEmpty }.map { [$0.0, $0.1] } + attributes + fields
  }
}
