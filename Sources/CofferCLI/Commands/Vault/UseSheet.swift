internal import CofferAgent
internal import CofferPlatform
internal import CofferTerminal
internal import FoundationEssentials

/// The log of uses of keys and values: the oldest row first, as they came.
struct UseSheet {
  private let rows: [UseRow]

  /// The newest rows, of a log whose chain holds.
  init(_ context: Context, most: Int?) throws {
    rows = try context.keyAgent().ask(Calls.uses, most.map { UInt64(clamping: $0) })
      .compactMap { entry -> UseRow? in if case .row(let row) = entry { row } else { nil } }
  }

  func show(json: Bool) throws {
    if json { return try Output.json(rows.map(Row.init)) }
    guard Output.isTerminal else {
      return try Output.write(rows.map { Columns.tabs([Self.cells($0, Moment.text($0.time))]) + "\n" }.joined())
    }
    let time = LocalTime()
    let cells = rows.map { row in Self.cells(row, time.second(row.time)).map { Table.Cell($0) } }
    let columns: [Table.Column] = [
      .number(""), .fixed(""), .fixed(""), .text(""), .text("", rank: 1), .fixed("", rank: 2), .text(""),
    ]
    let count = rows.isEmpty ? "no uses" : counted(rows.count, "row")
    try Pager.show(Table(columns: columns, rows: cells, footer: count).text(.output))
  }

  private static func cells(_ row: UseRow, _ time: String) -> [String] {
    [
      "\(row.number)", time, "\(row.kind)", row.name, row.program, row.process > 0 ? "\(row.process)" : "", text(of: row),
    ]
  }

  private static func text(of row: UseRow) -> String {
    // A login is at the last server of its way.
    var servers = row.host.split(separator: " > ").map(String.init)
    let last = row.kind == .login && !row.detail.isEmpty ? servers.popLast() : nil
    let host = last.map { (servers + ["\(row.detail)@\($0)"]).joined(separator: " > ") }
    let facts = [
      host ?? (row.kind == .refused || row.host.isEmpty ? row.detail : "\(row.detail) \(row.host)".trimmedText),
      row.approval.isEmpty ? "" : "approved: \(row.approval)", row.count > 1 ? "\(row.count) times" : "",
    ]
    return facts.filter { !$0.isEmpty }.joined(separator: ", ")
  }

  private struct Row: Encodable {
    let number: UInt64, time: String, use: String, item: String?, name: String, detail: String, host: String, hostKey: String
    let user: UInt32, process: UInt32, start: UInt64, program: String, client: String, approval: String, count: UInt32

    init(_ row: UseRow) {
      (number, time, use, name) = (row.number, Moment.text(row.time), "\(row.kind)", row.name)
      (item, detail, host) = (row.item?.uuidString.lowercased(), row.detail, row.host)
      (hostKey, user, process, start) = (row.hostKey, row.user, row.process, row.start)
      (program, client, approval, count) = (row.program, row.client, row.approval, row.count)
    }
  }
}
