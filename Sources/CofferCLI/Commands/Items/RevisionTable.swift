internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

enum RevisionTable {
  static func show(_ revisions: [VaultRevision], json: Bool) throws {
    if json { return try Output.line(JSONText.encode(revisions.map(Row.init))) }
    try Table.show(
      table(revisions),
      elsewhere: revisions.map {
        [
          String($0.item.revision), $0.state.rawValue, Moment.text($0.item.modified), counted($0.item.valueBytes, "byte"),
          $0.item.metadata.label,
        ]
      })
  }

  /// Deleted items and fields, with the end of the time to restore them.
  static func showDeleted(_ revisions: [VaultRevision], json: Bool) throws {
    if json { return try Output.line(JSONText.encode(revisions.map(Row.init))) }
    try Table.show(
      deletedTable(revisions),
      elsewhere: revisions.map { revision in
        let name = revision.item.name
        return [
          name.service, name.account, name.field, revision.item.metadata.label, Moment.text(revision.item.modified),
          "until \(revision.until.map(Moment.text) ?? "pruned")",
        ]
      })
  }

  private static func table(_ revisions: [VaultRevision], _ time: LocalTime = LocalTime()) -> Table {
    Table(
      columns: [
        .number("REVISION"), .fixed("STATE", rank: 2), .fixed("CHANGED"), .number("BYTES", rank: 3), .text("LABEL", rank: 1),
      ],
      rows: revisions.map { revision in
        let item = revision.item
        return [
          Table.Cell(String(item.revision)), state(revision),
          Table.Cell(time.ago(item.modified)), Table.Cell(grouped(item.valueBytes), .dim), Table.Cell(item.metadata.label),
        ]
      }, footer: counted(revisions.count, "version") + commands(revisions))
  }

  /// How to see and restore the previous version of an item that is not deleted.
  private static func commands(_ revisions: [VaultRevision]) -> String {
    guard let item = revisions.first(where: { $0.state == .former })?.item, revisions[0].state == .present else { return "" }
    let lines = [CommandText.item("get", item.name) + " --revision \(item.revision)", CommandText.item("revert", item.name)]
    return "; to see the previous one, or return to it:" + lines.map { "\n  " + Printable.line($0) }.joined()
  }

  private static func state(_ revision: VaultRevision) -> Table.Cell {
    switch revision.state {
    case .present: Table.Cell("current", .green)
    case .former: Table.Cell("previous")
    case .deleted: Table.Cell("deleted")
    }
  }

  private static func deletedTable(_ revisions: [VaultRevision], _ time: LocalTime = LocalTime()) -> Table {
    Table(
      columns: [
        .text("SERVICE"), .text("ACCOUNT"), .text("FIELD", rank: 1), .text("LABEL", rank: 3), .fixed("CHANGED", rank: 4),
        .fixed("GONE FOR GOOD", rank: 2),
      ],
      rows: revisions.map { revision in
        let (item, name) = (revision.item, revision.item.name)
        return [
          Table.Cell(name.service), Table.Cell(name.account), Table.Cell(name.field), Table.Cell(item.metadata.label),
          Table.Cell(time.ago(item.modified), .dim), Table.Cell(revision.until.map(time.ahead) ?? "when pruned"),
        ]
      },
      footer: revisions.isEmpty
        ? "no deleted items can be brought back" : "\(grouped(revisions.count)) that can be brought back")
  }

  private struct Row: Encodable {
    let item: ItemJSON, state: String, until: String?

    init(_ revision: VaultRevision) {
      (item, state) = (ItemJSON(revision.item), revision.state.rawValue)
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
