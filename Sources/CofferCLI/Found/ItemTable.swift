internal import CofferFormats
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

enum ItemTable {
  /// Printed together: enough for few system calls, few enough to be held.
  private static let chunk = 512

  /// JSON includes the names of fields, and a terminal marks them.
  static func show(_ items: [VaultItem], json: Bool, _ fields: [ItemName: [String]]) throws {
    try show(items.count, json: json, fields) { items[$0] }
  }

  static func show(_ items: ItemDescriptions, json: Bool, _ fields: [ItemName: [String]]) throws {
    try show(items.count, json: json, fields) { try items[$0] }
  }

  /// Each as it comes to a program, so that only some are held at once.
  private static func show(_ count: Int, json: Bool, _ fields: [ItemName: [String]], _ item: (Int) throws -> VaultItem) throws {
    if json { return try showJSON(count, fields, item) }
    if Output.isTerminal { return try table((0..<count).map(item), fields).show() }
    for start in stride(from: 0, to: count, by: chunk) {
      try Output.line(Columns.tabs((start..<min(count, start + chunk)).map { row(try item($0)) }))
    }
  }

  /// A list of keys has the same columns.
  private static func row(_ item: VaultItem) -> [String] {
    let expires = item.metadata.expires.map(Moment.text) ?? ""
    return [item.name.description, "vault", item.metadata.label, Moment.text(item.modified), expires]
  }

  private static func showJSON(_ count: Int, _ fields: [ItemName: [String]], _ item: (Int) throws -> VaultItem) throws {
    guard count > 0 else { return try Output.line("[]") }
    for start in stride(from: 0, to: count, by: chunk) {
      let end = min(count, start + chunk)
      // Without their brackets the parts form one list.
      let rows = try (start..<end).map { position in
        let item = try item(position)
        return ItemJSON(item, fields: fields[item.name] ?? [])
      }
      let part = JSONText.encode(rows).utf8.dropFirst().dropLast()
      try Output.write((start == 0 ? "[" : ",") + String(decoding: part, as: UTF8.self) + (end == count ? "]\n" : ""))
    }
  }

  private static func table(_ items: [VaultItem], _ fields: [ItemName: [String]], _ time: LocalTime = LocalTime()) -> Table {
    Table(
      columns: [
        .text("SERVICE"), .text("ACCOUNT"), .text("LABEL", rank: 2), .fixed("", rank: 3), .fixed("CHANGED", rank: 4),
        .fixed("EXPIRES", rank: 1),
      ],
      rows: items.map { item in
        [
          Table.Cell(item.name.service), Table.Cell(item.name.account), Table.Cell(item.metadata.label),
          Table.Cell(marks(fields[item.name] ?? [])), Table.Cell(time.ago(item.modified), .dim),
          Table.Cell(item.metadata.expires.map(time.expiry) ?? "", item.hasExpired(at: time.now) ? .red : nil),
        ]
      }, footer: total(items, time))
  }

  /// `⏱ ⚿2`: a one-time code, and two other fields.
  static func marks(_ fields: [String], _ display: Display = .output) -> String {
    let others = fields.count { $0 != OneTimeURI.field }
    return [
      others < fields.count ? Sign.code.text(display) : "", others > 0 ? Sign.fields.text(display) + String(others) : "",
    ].filter { !$0.isEmpty }.joined(separator: " ")
  }

  /// `3 items · 1 expired`
  static func total(_ items: [VaultItem], _ time: LocalTime = LocalTime()) -> String {
    let expired = items.count { $0.hasExpired(at: time.now) }
    return (items.isEmpty ? "no items" : "\(grouped(items.count)) item\(items.count == 1 ? "" : "s")")
      + (expired > 0 ? "\(Sign.between.text(.output))\(grouped(expired)) expired" : "")
  }
}

extension VaultItem {
  /// The attribute `user`, which imports store beside another account, or the account.
  var userName: String { metadata.attributes["user"] ?? name.account }

  func hasExpired(at now: Date) -> Bool { metadata.expires.map { $0 <= now } ?? false }
}
