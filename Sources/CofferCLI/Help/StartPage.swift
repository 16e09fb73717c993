internal import ArgumentParser

/// What `coffer` alone says: one screen, from which a new user can begin.
enum StartPage {
  static var text: String {
    let width = Example.of("").map(\.line.count).max() ?? 0
    let examples = Example.of("").map { example in
      "  \(example.line)" + String(repeating: " ", count: width - example.line.count + 2) + example.purpose
    }
    let groups = CofferCommand.configuration.groupedSubcommands.map { group in
      let names = group.subcommands.filter { $0.configuration.shouldDisplay }.compactMap { $0.configuration.commandName }
      let title = group.name + String(repeating: " ", count: 13 - group.name.count)
      let wrapped = TextWidth.wrap(names.joined(separator: " "), to: 66, hanging: 0)
      return title + wrapped.replacing("\n", with: "\n" + String(repeating: " ", count: 13))
    }
    return """
      Keeps secrets in an encrypted vault and preferences in plain files.
      People use 'vault'; programs use 'set' and 'get', which choose the store.

      \(examples.joined(separator: "\n"))

      \(groups.joined(separator: "\n"))

      'coffer --help' says what each is for, 'coffer COMMAND --help' how it is used.
      'coffer help TOPIC': \(HelpTopic.all.map(\.name).joined(separator: " "))
      """
  }
}
