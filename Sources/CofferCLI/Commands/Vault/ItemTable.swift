internal import Coffer

/// Items, one a line.
enum ItemTable {
  static func show(_ items: [VaultItem], json: Bool) throws {
    if json { return try Output.line(JSONText.encode(items.map(ItemJSON.init))) }
    guard !items.isEmpty else { return }
    try Output.line(Columns.align(items.map { [$0.name.service, $0.name.account, $0.metadata.label] }))
  }
}
