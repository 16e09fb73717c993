/// The macros of man(7).
enum Roff {
  /// The titles of a part are below its own.
  static func lines(of blocks: [HelpMarkup], inPart: Bool = false) -> [String] {
    var lines: [String] = []
    for line in blocks.flatMap({ Self.lines(of: $0, inPart) }) {
      // A title begins a paragraph.
      if line == ".PP", lines.last?.hasPrefix(".S") ?? true { continue }
      lines.append(line)
    }
    return lines
  }

  private static func lines(of block: HelpMarkup, _ inPart: Bool) -> [String] {
    switch block {
    case .title(let title): [inPart ? subsection(title) : section(title)]
    case .usage(let usage): inPart ? [".PP", bold(usage)] : [section("Synopsis"), bold(usage), section("Description")]
    case .paragraph(let text): [".PP"] + text.split(separator: "\n").map { marked(String($0)) }
    case .list(let items): items.flatMap { [".TP", #"\(bu"#, marked($0)] }
    case .table(let rows): rows.flatMap { [".TP", marked($0.0), marked($0.1)].filter { !$0.isEmpty } }
    case .code(let lines): [".PP", ".nf"] + lines.map(escaped) + [".fi"]
    case .examples(let examples):
      examples.flatMap { [".TP", escaped($0.purpose.prefix(1).uppercased() + $0.purpose.dropFirst() + ":"), bold($0.line)] }
    }
  }

  static func section(_ title: String) -> String { #".SH "\#(escaped(title.uppercased()))""# }
  private static func subsection(_ title: String) -> String { #".SS "\#(escaped(title))""# }
  private static func bold(_ text: String) -> String { #"\fB\#(escaped(text))\fR"# }

  /// `coffer-vault(1)` in bold.
  static func reference(_ page: String) -> String {
    let name = page.prefix { $0 != "(" }
    return bold(String(name)) + page.dropFirst(name.count)
  }

  /// `text` as a page has it: no character of it begins a request or an escape, and all of them are ASCII. Source: groff_char(7).
  static func escaped(_ text: String) -> String {
    let line = text.unicodeScalars.map { scalar -> String in
      switch scalar {
      case "\\": #"\e"#
      case "-": #"\-"#
      case "\"": #"\(dq"#
      case "~": #"\(ti"#
      case "^": #"\(ha"#
      case "`": #"\(ga"#
      case "'": #"\(aq"#
      default: scalar.isASCII ? String(scalar) : #"\[u\#(hexadecimal(scalar))]"#
      }
    }.joined()
    return line.hasPrefix(".") ? #"\&"# + line : line
  }

  /// With bold words in place of grave accents.
  private static func marked(_ text: String) -> String {
    text.split(separator: "`", omittingEmptySubsequences: false).enumerated().map { position, part in
      position % 2 == 0 || part.isEmpty ? escaped(String(part)) : bold(String(part))
    }.joined()
  }

  private static func hexadecimal(_ scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}
