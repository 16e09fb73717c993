internal import ArgumentParser
internal import CofferTerminal

extension Arguments {
  /// Nil unless the line is `coffer` alone, `coffer help …`, `coffer vault help …` or `coffer --version`.
  func topic() throws -> String? {
    if given.isEmpty { return try help().text(for: .output) }
    if given == ["--version"] { return CofferCommand.configuration.version }
    guard rest.first == "help", !namesLeaf else { return nil }
    let names = (words.prefix(depth) + rest.dropFirst()).filter { $0 != "--man" && $0 != "--all" }
    let isManual = given.contains("--man")
    if names.count == 1, !CofferCommand.configuration.subcommands.contains(where: { $0.answers(to: names[0]) }),
      let topic = HelpTopic.named(names[0])
    {
      return try isManual ? ManualPage.page(of: topic).text.trimmedEnd : HelpMarkup.text(topic.blocks(), for: .output)
    }
    let path = try Self.path(names)
    // A group of commands is one page.
    if isManual { return try ManualPage.page(of: path.first ?? CofferCommand.self).text.trimmedEnd }
    return try page(path).text(for: .output)
  }

  /// Under the command's own name, even for an alias.
  func help() throws -> HelpPage { try page(Self.path(words.prefix(depth))) }

  private static func path(_ names: some Sequence<String>) throws(Failure) -> [any ParsableCommand.Type] {
    var path: [any ParsableCommand.Type] = []
    for name in names {
      let family = path.last ?? CofferCommand.self
      guard let (next, isOutside) = family.named(name) else {
        let words = ["coffer", "help"] + path.map { $0.configuration.commandName ?? "" }
        throw .usage(
          "there is no command or topic '\(Printable.line(name))'",
          try: meant(name, in: path).map {
            "\(LikelyNames.asked)\((words + [$0]).joined(separator: " "))? coffer --help lists them all"
          } ?? "coffer --help")
      }
      // `vault get` is `get`.
      path = (isOutside ? [] : path) + [next]
    }
    return path
  }

  /// The likely meaning of `name` behind `path`: a command of the vault, or a similar command or topic.
  private static func meant(_ name: String, in path: [any ParsableCommand.Type]) -> String? {
    guard path.isEmpty else { return path.last?.nearest(to: name) }
    if VaultCommand.configuration.subcommands.contains(where: { $0.answers(to: name) }) { return "vault \(Printable.line(name))" }
    return CofferCommand.nearest(to: name) ?? HelpTopic.nearest(to: name)?.name
  }

  private func page(_ path: [any ParsableCommand.Type]) throws -> HelpPage {
    HelpPage(
      command: try CommandDefinition(path.map { $0.configuration.commandName ?? "" }, path.last ?? CofferCommand.self),
      isWhole: given.contains("--all"))
  }

  /// Whether a word asks the parser for something that needs the whole tree of commands.
  var asksTree: Bool {
    rest.contains { word in
      ["--version", "--generate-completion-script", "--experimental-dump-help"].contains { word.hasPrefix($0) }
    }
  }
}
