internal import ArgumentParser
internal import CofferTerminal

/// The help of one command, for a terminal or a pipe.
struct HelpPage {
  let command: CommandDefinition
  let display: Display

  /// - Parameter display: the reader.
  init(_ command: CommandDefinition, for display: Display = .output) {
    self.command = command
    self.display = display
  }

  /// Prints it, at a terminal by the pager where it is longer than the screen.
  func show() throws { try Pager.show(text()) }

  /// - Throws: where the parser's own description of the options cannot be read.
  func text() throws -> String {
    let configuration = command.configuration
    var parts = [titled("OVERVIEW:", paragraphs("OVERVIEW: " + configuration.abstract))]
    if !configuration.discussion.isEmpty { parts.append(paragraphs(configuration.discussion)) }
    parts.append(titled("USAGE:", TextWidth.wrap("USAGE: " + command.usage, to: width, hanging: 7)))
    parts.append(section("ARGUMENTS:", command.positionals.map { ($0.label, $0.text) }))
    parts += command.sections.map { section($0.title.uppercased() + ":", $0.options.map { ($0.label, $0.text) }) }
    if command.unlocks {
      parts.append(
        titled("UNLOCKING:", paragraphs("UNLOCKING: see 'coffer help unlocking' for the options that open the vault.")))
    }
    parts += command.groups.map { title, commands in
      section(
        (title.isEmpty ? "" : title.uppercased() + " ") + "SUBCOMMANDS:",
        commands.map { ($0.configuration.commandName ?? "", Self.firstLine($0.configuration.abstract)) })
    }
    if !configuration.aliases.isEmpty {
      parts.append(titled("ALSO:", "ALSO: " + configuration.aliases.joined(separator: ", ")))
    }
    parts.append(examples)
    if command.words.count == 1 { parts.append(section("TOPICS:", HelpTopic.all.map { ($0.name, $0.abstract) })) }
    if let topic = HelpTopic.named(command.path) { parts.append(try topic.text(for: display)) }
    if command.isFamily {
      let words = command.words.dropFirst() + ["<command>"]
      parts.append(paragraphs("See 'coffer help \(words.joined(separator: " "))' for one of them."))
    }
    return parts.filter { !$0.isEmpty }.joined(separator: "\n\n")
  }

  private var width: Int { TextWidth.of(display) }

  private var examples: String {
    let found = Example.of(command.path)
    guard !found.isEmpty else { return "" }
    let lines = found.map { example in
      let purpose = TextWidth.wrap("# " + example.purpose, to: width - 2, hanging: 2)
      return purpose.split(separator: "\n").map { "  " + Style.dim.text(String($0), display) } + ["  " + example.line]
    }
    return titled("EXAMPLES:", "EXAMPLES:\n" + lines.joined().joined(separator: "\n"))
  }

  private func paragraphs(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { TextWidth.wrap(String($0), to: width) }
      .joined(separator: "\n")
  }

  private func section(_ title: String, _ rows: [(String, String)]) -> String {
    rows.isEmpty ? "" : titled(title, title + "\n" + TextWidth.definitions(rows, to: width))
  }

  /// `text`, which begins with `title`, with the title in bold.
  private func titled(_ title: String, _ text: String) -> String { Style.bold.text(title, display) + text.dropFirst(title.count) }

  static func firstLine(_ text: String) -> String { String(text.prefix { $0 != "\n" }) }
}
