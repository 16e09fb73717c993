internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

/// Without the value.
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
    (id, history, written, self.fields) = (item.id.uuidString.lowercased(), item.history, Moment.text(item.written), fields)
    (service, account, field) = (item.name.service, item.name.account, item.name.field.isEmpty ? nil : item.name.field)
    (label, type, attributes) = (item.metadata.label, item.metadata.contentType, item.metadata.attributes)
    (created, modified) = (Moment.text(item.created), Moment.text(item.modified))
    (expires, revision, bytes) = (item.metadata.expires.map(Moment.text), item.revision, item.valueBytes)
  }

  /// In display order; `--field` reads by these names first.
  var description: [(String, String)] {
    [
      ("service", service), ("account", account), ("label", label), ("type", type), ("created", created), ("modified", modified),
      ("expires", expires ?? ""), ("revision", String(revision)), ("bytes", String(bytes)),
    ]
  }

  /// For people. An attribute with the name of another part is marked as an attribute.
  var rows: [[String]] {
    let said = description
    let attributes = attributes.sorted { $0.key < $1.key }.map { name, value in
      [said.contains { $0.0 == name } || name == "fields" ? "attribute \(name)" : name, value]
    }
    let fields = fields.map { $0.isEmpty ? [] : [["fields", $0.joined(separator: ", ")]] } ?? []
    return said.filter { !$0.1.isEmpty }.map { [$0.0, $0.1] } + attributes + fields
  }
}
