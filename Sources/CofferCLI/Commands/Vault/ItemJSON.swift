internal import Coffer

/// An item's description in JSON; the value is added by who may show it.
struct ItemJSON: Encodable {
  let service: String, account: String, label: String, type: String
  let attributes: [String: String]
  let created: String, modified: String, expires: String?
  let revision: UInt64
  let bytes: Int

  init(_ item: VaultItem) {
    service = item.name.service
    account = item.name.account
    label = item.metadata.label
    type = item.metadata.contentType
    attributes = item.metadata.attributes
    created = Moment.text(item.created)
    modified = Moment.text(item.modified)
    expires = item.metadata.expires.map(Moment.text)
    revision = item.revision
    bytes = item.valueBytes
  }

  /// Names and values for people, in the order they are shown and asked for by `--field`.
  var fields: [(String, String)] {
    [
      ("service", service), ("account", account), ("label", label), ("type", type), ("created", created), ("modified", modified),
      ("expires", expires ?? ""), ("revision", String(revision)), ("bytes", String(bytes)),
    ] + attributes.sorted { $0.key < $1.key }
  }
}
