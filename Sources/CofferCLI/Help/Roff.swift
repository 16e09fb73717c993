internal import CofferTerminal

/// A piece of a page in the macros of man(7).
enum Roff {
  case section(String)
  case subsection(String)
  case paragraph
  case br
  case text(String)
  case bold(String)
  /// A label, ready for the page, with its text and a line of code below.
  case item(String, String?, code: String? = nil)
  case code([String])

  var lines: [String] {
    switch self {
    case .section(let title): [#".SH "\#(Self.escaped(title.uppercased()))""#]
    case .subsection(let title): [#".SS "\#(Self.escaped(title))""#]
    case .paragraph: [".PP"]
    case .br: [".br"]
    case .text(let text): text.split(separator: "\n").map { Self.marked(String($0)) }
    case .bold(let text): [#"\fB\#(Self.escaped(text))\fR"#]
    case .item(let label, let text, let code):
      [".TP", label] + [text.map(Self.marked), code.map { #"\fB\#(Self.escaped($0))\fR"# }].compactMap(\.self)
    case .code(let lines): [".PP", ".nf"] + lines.map(Self.escaped) + [".fi"]
    }
  }

  /// `coffer-vault(1)` in bold.
  static func reference(_ page: String) -> String {
    let name = page.prefix { $0 != "(" }
    return #"\fB\#(escaped(String(name)))\fR"# + page.dropFirst(name.count)
  }

  /// `-q, --quiet`, with the value in italics.
  static func label(_ argument: ArgumentDefinition) -> String {
    let names = argument.spellings.map { #"\fB\#(escaped($0))\fR"# }.joined(separator: ", ")
    let value = argument.value.map { #"\fI\#(escaped(String($0.dropFirst().dropLast()).replacing("> <", with: " ")))\fR"# }
    return [names, value ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
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

  /// `text` for a page, with bold words in place of grave accents.
  static func marked(_ text: String) -> String {
    text.split(separator: "`", omittingEmptySubsequences: false).enumerated().map { position, part in
      let text = escaped(String(part))
      return position % 2 == 0 || part.isEmpty ? text : #"\fB\#(text)\fR"#
    }.joined()
  }

  private static func hexadecimal(_ scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}

extension HelpTopic {
  /// The topic in a page.
  func roff() throws -> [Roff] {
    guard !parts.isEmpty else {
      return [.section("Description"), .text("Every exit status of coffer has one meaning.")]
        + ExitStatus.allCases.map { .item("\($0.rawValue)", $0.meaning) }
    }
    let options: [Roff] =
      listsUnlocking ? [.section("Options")] + (try Self.unlocking.map { .item(Roff.label($0), $0.text) }) : []
    return parts.flatMap { part -> [Roff] in
      let text = part.blocks.flatMap(\.roff)
      // A section is a paragraph as well.
      if case .paragraph? = text.first { return [.section(part.section)] + text.dropFirst() }
      return [.section(part.section)] + text
    } + options
  }
}

extension HelpMarkup {
  fileprivate var roff: [Roff] {
    switch self {
    case .paragraph(let text): [.paragraph, .text(text)]
    case .list(let items): items.map { .item(#"\(bu"#, $0) }
    case .table(let rows): rows.map { .item(Roff.marked($0[0]), $0.dropFirst().joined(separator: "  ")) }
    case .code(let lines): [.code(lines)]
    }
  }
}
