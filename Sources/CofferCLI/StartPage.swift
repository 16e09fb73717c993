internal import ArgumentParser
internal import CofferFormats
internal import CofferTerminal

/// The output of `coffer` alone: one screen, from which a new user can begin.
struct StartPage {
  let display: Display

  /// The cells before the names of a group's commands.
  private static let column = 13

  init(_ display: Display) { self.display = display }

  var text: String {
    """
    \(wrap("Keeps secrets in an encrypted vault and preferences in plain files."))
    \(wrap("People use 'vault'; programs use 'set' and 'get', which choose the store."))

    \(examples)

    \(groups.joined(separator: "\n"))
    \(row("Topics", HelpTopic.all.map(\.name)))

    \(wrap("'coffer --help' says what each is for, 'coffer help NAME' how it is used."))
    """
  }

  private var width: Int { TextWidth.of(display) }

  private var groups: [String] {
    CofferCommand.configuration.groupedSubcommands.map { group in
      row(group.name, group.subcommands.filter { $0.configuration.shouldDisplay }.compactMap { $0.configuration.commandName })
    }
  }

  private func row(_ title: String, _ names: [String]) -> String {
    let wrapped = TextWidth.wrap(names.joined(separator: " "), to: width - Self.column)
    return Style.bold.text(title, display) + TextWidth.blanks(Self.column - title.count)
      + wrapped.replacing("\n", with: "\n" + TextWidth.blanks(Self.column))
  }

  /// Each with its purpose beside it, or on a narrow screen under it.
  private var examples: String {
    let found = Example.of("")
    let column = (found.map(\.line.count).max() ?? 0) + 4
    let isWide = found.allSatisfy { column + $0.purpose.count <= width }
    return found.map { example in
      let blanks = isWide ? TextWidth.blanks(column - 2 - example.line.count) : "\n      "
      return "  \(example.line)\(blanks)\(Style.dim.text(example.purpose, display))"
    }.joined(separator: "\n")
  }

  private func wrap(_ text: String) -> String { TextWidth.wrap(text, to: width) }
}
