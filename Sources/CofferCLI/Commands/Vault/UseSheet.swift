internal import CofferAgent
internal import CofferPlatform
internal import CofferTerminal
internal import FoundationEssentials

/// The log of uses of keys and values: the oldest row first, as they came.
enum UseSheet {
  /// The newest rows, of a log whose chain holds.
  static func show(most: Int?, _ context: Context) throws {
    let rows = try context.keyAgent().ask(Calls.uses, most.map { UInt64(clamping: $0) })
      .compactMap { entry -> UseRow? in if case .row(let row) = entry { row } else { nil } }
    // Fewer rows than asked for are all.
    let first = rows.count < most ?? .max ? rows.first?.number ?? 1 : 1
    let gone = first > 1 ? "rows before \(first) are gone" : nil
    if let gone, context.json || !Output.isTerminal { context.note(gone) }
    if context.json { return try Output.json(rows.map(Row.init)) }
    let time = LocalTime()
    try Table.show(
      Table(
        columns: [.number(""), .fixed(""), .fixed(""), .text(""), .text("", rank: 1), .fixed("", rank: 2), .text("")],
        rows: rows.map { row in cells(row, time.second(row.time)).map { Table.Cell($0) } },
        footer: [rows.isEmpty ? "no uses" : counted(rows.count, "row"), gone].compactMap(\.self).joined(separator: "; ")),
      elsewhere: rows.map { cells($0, Moment.text($0.time)) })
  }

  private static func cells(_ row: UseRow, _ time: String) -> [String] {
    ["\(row.number)", time, "\(row.kind)", row.name, row.program, row.process > 0 ? "\(row.process)" : "", text(of: row)]
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
