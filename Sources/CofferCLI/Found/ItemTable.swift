internal import ArgumentParser
internal import Coffer
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

/// Items, one per line.
enum ItemTable {
  /// Items that are printed together: enough for few system calls, few enough to be held.
  private static let chunk = 512

  /// Prints items; JSON includes the names of their fields.
  static func show(_ items: [VaultItem], json: Bool, _ fields: [ItemName: [String]]) throws {
    try show(items.count, json: json, fields) { items[$0] }
  }

  static func show(_ items: ItemDescriptions, json: Bool, _ fields: [ItemName: [String]]) throws {
    try show(items.count, json: json, fields) { try items[$0] }
  }

  /// Prints each item as it comes to a program, so that only some of them are held at once.
  private static func show(
    _ count: Int, json: Bool, _ fields: [ItemName: [String]], _ item: (Int) throws -> VaultItem
  ) throws {
    if json { return try showJSON(count, fields, item) }
    if Output.isTerminal { return try table((0..<count).map(item)).show() }
    var widths = Columns.Widths()
    for position in 0..<count { widths.add(cells(try item(position))) }
    for start in stride(from: 0, to: count, by: chunk) {
      try Output.line(Columns.align(try (start..<min(count, start + chunk)).map { cells(try item($0)) }, widths))
    }
  }

  private static func cells(_ item: VaultItem) -> [String] { [item.name.service, item.name.account, item.metadata.label] }

  private static func showJSON(_ count: Int, _ fields: [ItemName: [String]], _ item: (Int) throws -> VaultItem) throws {
    guard count > 0 else { return try Output.line("[]") }
    for start in stride(from: 0, to: count, by: chunk) {
      let end = min(count, start + chunk)
      // Without the brackets of each part, the parts form one list.
      let rows = try (start..<end).map { position in
        let item = try item(position)
        return ItemJSON(item, fields: fields[item.name] ?? [])
      }
      let part = JSONText.encode(rows).utf8.dropFirst().dropLast()
      try Output.write((start == 0 ? "[" : ",") + String(decoding: part, as: UTF8.self) + (end == count ? "]\n" : ""))
    }
  }

  /// For a person, with marks for new and expired items.
  static func table(_ items: [VaultItem], _ time: LocalTime = LocalTime()) -> Table {
    Table(
      columns: [
        .text("SERVICE"), .text("ACCOUNT"), .text("LABEL", rank: 2), .fixed("CHANGED", rank: 3), .fixed("EXPIRES", rank: 1),
      ],
      rows: items.map { item in
        let expires = item.metadata.expires
        return [
          Table.Cell(item.name.service), Table.Cell(item.name.account), Table.Cell(item.metadata.label),
          Table.Cell(time.ago(item.modified), .dim),
          Table.Cell(expires.map(time.expiry) ?? "", expires.map { $0 <= time.now } ?? false ? .red : nil),
        ]
      }, footer: total(items.count))
  }

  static func total(_ count: Int) -> String { count == 0 ? "no items" : "\(grouped(count)) item\(count == 1 ? "" : "s")" }
}
