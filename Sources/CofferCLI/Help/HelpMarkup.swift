internal import CofferTerminal

/// A piece of a page of help, as in the catalogue. Typed words stand between grave accents. A page is displayed at a
/// terminal, in a pipe or as a manual page.
enum HelpMarkup {
  case title(String)
  case usage(String)
  case paragraph(String)
  case list([String])
  /// Without its heads.
  case table([(String, String)])
  case code([String])
  case examples([Example])

  static func blocks(of text: ArraySlice<Substring>) -> [HelpMarkup] {
    var blocks: [HelpMarkup] = []
    var lines = text
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
    if lines[0].hasPrefix("|") {
      return .table(lines.dropFirst(2).map(cells).map { ($0[0], $0.dropFirst().joined(separator: "  ")) })
    }
    guard lines[0].hasPrefix("- ") else { return .paragraph(linked(lines.joined(separator: " "))) }
    var items: [String] = []
    for line in lines {
      if line.hasPrefix("- ") {
        items.append(String(line.dropFirst(2)))
      } else {
        items[items.count - 1] += " " + line.drop { $0 == " " }
      }
    }
    return .list(items.map(linked))
  }

  private static func cells(_ line: Substring) -> [String] {
    line.split(separator: "|").map { linked($0.drop { $0 == " " }.description.trimmedEnd) }
  }

  /// A link becomes the help that says the same.
  private static func linked(_ text: String) -> String {
    links.reduce(text) { $0.replacing("<doc:\($1.page)>", with: "`\($1.help)`") }
  }

  private static let links: [(page: String, help: String)] = [
    ("CommandLineAgent", "coffer help agent --all"), ("CommandLineVault", "coffer help vault"),
    ("CommandLineRun", "coffer help run"), ("Agent", "coffer help agent --all"),
  ]

  static func text(_ blocks: [HelpMarkup], for display: Display) -> String {
    blocks.map { block in
      if case .title = block { block.text(for: display) + "\n" } else { block.text(for: display) + "\n\n" }
    }.joined().trimmedEnd
  }

  private func text(for display: Display) -> String {
    let width = TextWidth.of(display)
    switch self {
    case .title(let text): return Style.bold.text(text + ":", display)
    case .usage(let text): return Style.bold.text("Usage:", display) + " " + TextWidth.wrap(text, to: width - 7, hanging: 7)
    case .paragraph(let text):
      let lines = text.split(separator: "\n").map { TextWidth.wrap(String($0), to: width) }
      return Self.styled(lines.joined(separator: "\n"), display)
    case .list(let items):
      return Self.styled(items.map { "- " + TextWidth.wrap($0, to: width - 2, hanging: 2) }.joined(separator: "\n"), display)
    case .table(let rows):
      return Self.styled(TextWidth.definitions(rows.map { ($0.0.replacing("`", with: ""), $0.1) }, to: width), display)
    case .code(let lines): return lines.map { "  " + $0 }.joined(separator: "\n")
    case .examples(let examples): return Self.text(examples, for: display)
    }
  }

  /// The purpose stands beside its line, or above it without room.
  private static func text(_ examples: [Example], for display: Display) -> String {
    let width = TextWidth.of(display)
    let column = (examples.map(\.line.count).max() ?? 0) + 4
    let isWide = examples.allSatisfy { column + $0.purpose.count <= width }
    return examples.map { example in
      guard !isWide else {
        return "  \(example.line)\(TextWidth.blanks(column - 2 - example.line.count))\(Style.dim.text(example.purpose, display))"
      }
      let purpose = TextWidth.wrap("# " + example.purpose, to: width - 2, hanging: 2).split(separator: "\n")
      return (purpose.map { "  " + Style.dim.text(String($0), display) } + ["  " + example.line]).joined(separator: "\n")
    }.joined(separator: "\n")
  }

  /// Typed words in bold in place of their marks, in each line by itself, because pagers want it; the marks stay where nothing is
  /// bold.
  private static func styled(_ text: String, _ display: Display) -> String {
    guard display.isColored else { return text }
    var isTyped = false
    return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      let parts = line.split(separator: "`", omittingEmptySubsequences: false).enumerated().map { position, part in
        if position > 0 { isTyped.toggle() }
        return isTyped ? Style.bold.text(String(part), display) : String(part)
      }
      return parts.joined()
    }.joined(separator: "\n")
  }
}
