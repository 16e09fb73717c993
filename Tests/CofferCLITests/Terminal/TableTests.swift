import Testing

@testable import CofferCLI
@testable import CofferFormats
@testable import CofferTerminal

struct TableTests {
  private static let table = Table(
    columns: [.text("NAME"), .text("LABEL", rank: 2), .number("SIZE", rank: 3), .fixed("WHEN", rank: 1)],
    rows: [
      [Table.Cell("github.com"), Table.Cell("CI token"), Table.Cell("7"), Table.Cell("2 min ago")],
      [Table.Cell("日本語.jp"), Table.Cell("🔑 key"), Table.Cell("1024"), Table.Cell("")],
      [Table.Cell(String(repeating: "long", count: 300)), Table.Cell("", .red), Table.Cell("12"), Table.Cell("yesterday", .red)],
    ], footer: "3 items")

  @Test(arguments: [20, 21, 33, 60, 80, 200]) func `no line is wider than the terminal`(width: Int) {
    let lines = Self.table.text(Display(isTerminal: true, width: width)).split(separator: "\n")
    #expect(lines.count == 5)
    for line in lines { #expect(Cells.count(String(line)) <= width && line.last != " ", "\(line)") }
    #expect(lines[0].hasPrefix("NAME"), "the first column stays")
    #expect(lines[3].contains("…"))
  }

  @Test func `columns stand below each other whatever the width of their characters`() {
    let lines = Self.table.text(Display(isTerminal: true, width: 50)).split(separator: "\n").map(String.init)
    #expect(
      lines == [
        "NAME                     LABEL     SIZE  WHEN", "github.com               CI token     7  2 min ago",
        "日本語.jp                🔑 key    1024", "longlonglonglonglonglo…              12  yesterday", "3 items",
      ])
  }

  @Test func `only a terminal with colors gets any, and an empty column is left out`() {
    let rows = [[Table.Cell("a", .red), Table.Cell("")]]
    let table = Table(columns: [.text("ONE"), .text("TWO")], rows: rows, footer: "1 row")
    #expect(table.text(Display(isTerminal: true)) == "ONE\na\n1 row")
    #expect(
      table.text(Display(isTerminal: true, isColored: true))
        == "\u{1B}[1mONE\u{1B}[0m\n\u{1B}[31ma\u{1B}[0m\n\u{1B}[2m1 row\u{1B}[0m")
  }
}
