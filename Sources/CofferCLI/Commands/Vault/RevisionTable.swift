internal import Coffer
internal import CofferVault
internal import FoundationEssentials

/// Contents of the past, one a line.
enum RevisionTable {
  static func show(_ revisions: [VaultRevision], json: Bool) throws {
    if json { return try Output.line(JSONText.encode(revisions.map(Row.init))) }
    try Output.line(
      Columns.align(
        revisions.map { revision in
          let item = revision.item
          return [
            String(item.revision), revision.state.rawValue, Moment.text(item.modified), "\(item.valueBytes) bytes",
            item.metadata.label,
          ]
        }))
  }

  /// Deleted items and fields, with until when each can be brought back.
  static func showDeleted(_ revisions: [VaultRevision], json: Bool) throws {
    if json { return try Output.line(JSONText.encode(revisions.map(Row.init))) }
    guard !revisions.isEmpty else { return }
    try Output.line(
      Columns.align(
        revisions.map { revision in
          let name = revision.item.name
          return [
            name.service, name.account, name.field, revision.item.metadata.label, Moment.text(revision.item.modified),
            "until \(revision.until.map(Moment.text) ?? "pruned")",
          ]
        }))
  }

  private struct Row: Encodable {
    let item: ItemJSON, state: String, until: String?

    init(_ revision: VaultRevision) {
      item = ItemJSON(revision.item)
      state = revision.state.rawValue
      until = revision.until.flatMap { $0 == .distantFuture ? nil : Moment.text($0) }
    }

    private enum Key: String, CodingKey { case state, until }

    func encode(to encoder: any Encoder) throws {
      try item.encode(to: encoder)
      var fields = encoder.container(keyedBy: Key.self)
      try fields.encode(state, forKey: .state)
      try fields.encodeIfPresent(until, forKey: .until)
    }
  }
}
