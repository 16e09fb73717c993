internal import ArgumentParser
internal import CofferPlatform

/// The help of one command, for a terminal or a pipe.
struct HelpPage {
  let command: CommandDefinition
  let width: Int

  /// - Parameter width: the longest line.
  init(_ command: CommandDefinition, width: Int = TextWidth.ofOutput) {
    self.command = command
    self.width = width
  }

  /// - Throws: where the parser's own description of the options cannot be read.
  func text() throws -> String {
    var parts = [paragraph("OVERVIEW: " + command.configuration.abstract)]
    if !command.configuration.discussion.isEmpty { parts.append(paragraph(command.configuration.discussion)) }
    parts.append(TextWidth.wrap("USAGE: " + command.usage, to: width, hanging: 7))
    parts.append(section("ARGUMENTS:", command.positionals.map { ($0.label, $0.text) }))
    parts += command.sections.map { section($0.title.uppercased() + ":", $0.options.map { ($0.label, $0.text) }) }
    if command.unlocks { parts.append("UNLOCKING: see 'coffer help unlocking' for the options that open the vault.") }
    parts += command.groups.map { title, commands in
      section(
        (title.isEmpty ? "" : title.uppercased() + " ") + "SUBCOMMANDS:",
        commands.map { ($0.configuration.commandName ?? "", Self.firstLine($0.configuration.abstract)) })
    }
    if !command.configuration.aliases.isEmpty {
      parts.append("ALSO: " + command.configuration.aliases.joined(separator: ", "))
    }
    parts.append(examples)
    if command.words.count == 1 { parts.append(section("TOPICS:", HelpTopic.all.map { ($0.name, $0.abstract) })) }
    if let topic = HelpTopic.named(command.path) { parts.append(try topic.text(width: width)) }
    if command.isFamily {
      let words = command.words.dropFirst() + ["<command>"]
      parts.append("See 'coffer help \(words.joined(separator: " "))' for one of them.")
    }
    return parts.filter { !$0.isEmpty }.joined(separator: "\n\n")
  }

  private var examples: String {
    let found = Example.of(command.path)
    guard !found.isEmpty else { return "" }
    return "EXAMPLES:\n" + found.map { "  # \($0.purpose)\n  \($0.line)" }.joined(separator: "\n")
  }

  private func paragraph(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { TextWidth.wrap(String($0), to: width, hanging: 0) }
      .joined(separator: "\n")
  }

  private func section(_ title: String, _ rows: [(String, String)]) -> String {
    guard !rows.isEmpty else { return "" }
    return title + "\n" + TextWidth.definitions(rows, to: width)
  }

  static func firstLine(_ text: String) -> String { String(text.prefix { $0 != "\n" }) }
}

/// Lines of a given length.
enum TextWidth {
  /// The terminal's columns, or those of `COLUMNS`; 80 for a pipe. Longer lines than 120 are hard to read.
  static var ofOutput: Int {
    var size = winsize()
    if let given = ProcessEnvironment.value("COLUMNS").flatMap({ Int($0) }), given > 0 { return min(max(given, 40), 120) }
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return min(max(Int(size.ws_col), 40), 120)
  }

  /// `text` in lines of at most `width`, all but the first behind `hanging` blanks. A longer word has a line of its own.
  static func wrap(_ text: String, to width: Int, hanging: Int) -> String {
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ", omittingEmptySubsequences: true) {
      if !line.isEmpty, line.count + 1 + word.count + (lines.isEmpty ? 0 : hanging) > width {
        lines.append(line)
        line = ""
      }
      line += (line.isEmpty ? "" : " ") + word
    }
    return (lines + [line]).joined(separator: "\n" + String(repeating: " ", count: hanging))
  }

  /// Each name with its text beside it; under a name that is too long.
  static func definitions(_ rows: [(String, String)], to width: Int) -> String {
    let column = min(26, (rows.map(\.0.count).max() ?? 0) + 4)
    return rows.map { name, text in
      let wrapped =
        String(repeating: " ", count: column)
        + wrap(text, to: width - column, hanging: 0)
        .split(separator: "\n").joined(separator: "\n" + String(repeating: " ", count: column))
      guard name.count + 4 <= column else { return "  \(name)\n\(wrapped)" }
      return "  \(name)" + wrapped.dropFirst(name.count + 2)
    }.joined(separator: "\n")
  }
}
