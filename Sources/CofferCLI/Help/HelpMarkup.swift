/// The text of a help topic: paragraphs, lists, tables and code, as the pages of the catalogue write them.
enum HelpMarkup {
  case paragraph(String)
  case list([String])
  /// Without its heads.
  case table([[String]])
  case code([String])

  static func blocks(of text: String) -> [HelpMarkup] {
    var blocks: [HelpMarkup] = []
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)[...]
    while let line = lines.first {
      if line.isEmpty {
        lines = lines.dropFirst()
      } else if line.hasPrefix("```") {
        let code = lines.dropFirst().prefix { !$0.hasPrefix("```") }
        blocks.append(.code(code.map(String.init)))
        lines = lines.dropFirst(code.count + 2)
      } else {
        let block = lines.prefix { !$0.isEmpty }
        lines = lines.dropFirst(block.count)
        blocks.append(self.block(Array(block)))
      }
    }
    return blocks
  }

  private static func block(_ lines: [Substring]) -> HelpMarkup {
    if lines[0].hasPrefix("|") { return .table(lines.dropFirst(2).map(cells)) }
    guard lines[0].hasPrefix("- ") else { return .paragraph(plain(lines.joined(separator: " "))) }
    var items: [String] = []
    for line in lines {
      if line.hasPrefix("- ") {
        items.append(String(line.dropFirst(2)))
      } else {
        items[items.count - 1] += " " + line.drop { $0 == " " }
      }
    }
    return .list(items.map { plain($0[...].description) })
  }

  private static func cells(_ line: Substring) -> [String] {
    line.split(separator: "|").map { plain($0.drop { $0 == " " }.description.trimmedEnd) }
  }

  /// The text without its marks; a link names the help that says the same.
  private static func plain(_ text: String) -> String {
    links.reduce(text.replacing("`", with: "")) { $0.replacing("<doc:\($1.page)>", with: $1.help) }
  }

  private static let links: [(page: String, help: String)] = [
    ("CommandLineAgent", "coffer help agent"), ("CommandLineVault", "coffer help vault"), ("CommandLineRun", "coffer help run"),
    ("Agent", "coffer help agent"),
  ]

  /// The lines of a terminal.
  func text(width: Int) -> String {
    switch self {
    case .paragraph(let text): TextWidth.wrap(text, to: width, hanging: 0)
    case .list(let items): items.map { "- " + TextWidth.wrap($0, to: width - 2, hanging: 2) }.joined(separator: "\n")
    case .table(let rows): TextWidth.definitions(rows.map { ($0[0], $0.dropFirst().joined(separator: "  ")) }, to: width)
    case .code(let lines): lines.map { "  " + $0 }.joined(separator: "\n")
    }
  }
}
