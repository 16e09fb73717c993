internal import ArgumentParser
internal import CofferTerminal

/// A manual page in the macros of man(7), made of the same definitions as the help.
struct ManualPage {
  /// `coffer-vault`.
  let name: String
  let section: Int
  /// One line.
  let purpose: String
  let body: [Roff]

  var fileName: String { "\(name).\(section)" }

  var text: String {
    let words = [Roff.escaped(name.uppercased()), String(section), ProgramVersion.date, "coffer \(ProgramVersion.number)"]
    let head = ".TH " + words.map { "\"\($0)\"" }.joined(separator: " ")
    // Options are not broken at their hyphens, and lines are not justified.
    let lines = [head, ".nh", ".ad l"] + Roff.section("Name").lines + [Roff.escaped(name) + #" \- "# + Roff.escaped(purpose)]
    return (lines + body.flatMap(\.lines) + Roff.section("See also").lines + [others]).joined(separator: "\n") + "\n"
  }

  private var others: String {
    let main = name == "coffer" ? ["coffer-vault(1)", "coffer-run(1)"] : ["coffer(1)"]
    let topics = ["coffer-unlocking(7)", "coffer-environment(7)", "coffer-exit-codes(7)"].filter { $0 != "\(name)(\(section))" }
    return (main + topics).map(Roff.reference).joined(separator: ",\n")
  }

  /// coffer(1), a page for each group or command right behind it, and one for each topic that no command has.
  static func all() throws -> [ManualPage] {
    let commands = try CommandDefinition([], CofferCommand.self).groups.flatMap(\.commands).map { try page(of: $0) }
    return try [page(of: CofferCommand.self)] + commands
      + HelpTopic.all.filter { topic in !commands.contains { $0.name == "coffer-\(topic.name)" } }.map(page)
  }

  static func page(of topic: HelpTopic) throws -> ManualPage {
    ManualPage(name: "coffer-\(topic.name)", section: 7, purpose: topic.abstract, body: try topic.roff())
  }

  /// - Parameter type: the root, or a command right behind it.
  static func page(of type: any ParsableCommand.Type) throws -> ManualPage {
    let isRoot = type == CofferCommand.self
    let command = try CommandDefinition(isRoot ? [] : [type.configuration.commandName ?? ""], type)
    let leaves = isRoot ? [] : try command.leaves()
    let uses = isRoot || !command.isFamily ? [command.usage] : leaves.map(\.briefUsage)
    var body = [Roff.section("Synopsis")] + Array(uses.map { [.bold($0)] }.joined(separator: [.br]))
    body += [.section("Description"), .text(command.configuration.abstract.replacing("\n", with: " "))]
    body += command.configuration.discussion.isEmpty ? [] : [.paragraph, .text(command.configuration.discussion)]
    if isRoot { body += list(of: command) } else { body += details(of: command, leaves) }
    if let topic = HelpTopic.named(command.path) { body += try topic.roff() }
    return ManualPage(
      name: command.words.joined(separator: "-"), section: 1,
      purpose: HelpPage.firstLine(command.configuration.abstract).trimmingDot, body: body)
  }

  private static func list(of root: CommandDefinition) -> [Roff] {
    root.groups.flatMap { title, commands in
      [Roff.section(title + " commands")]
        + commands.map {
          .item(Roff.reference("coffer-\($0.configuration.commandName ?? "")(1)"), HelpPage.firstLine($0.configuration.abstract))
        }
    } + [.section("Topics")]
      + HelpTopic.all.map { .item(Roff.reference("coffer-\($0.name)(\($0.name == "agent" ? 1 : 7))"), $0.abstract + ".") }
      + examples(of: root, Roff.section)
  }

  private static func details(of command: CommandDefinition, _ leaves: [CommandDefinition]) -> [Roff] {
    guard command.isFamily else { return options(of: command, Roff.section) + examples(of: command, Roff.section) }
    return leaves.flatMap { leaf in
      [.section(leaf.name), .text(leaf.configuration.abstract), .paragraph, .bold(leaf.usage)]
        + (leaf.configuration.discussion.isEmpty ? [] : [.paragraph, .text(leaf.configuration.discussion)])
        + options(of: leaf, Roff.subsection) + examples(of: leaf, Roff.subsection)
    }
  }

  private static func options(of command: CommandDefinition, _ head: (String) -> Roff) -> [Roff] {
    let given = command.positionals + command.sections.flatMap(\.options)
    let options: [Roff] = given.isEmpty ? [] : [head("Options")] + given.map { .item(Roff.label($0), $0.text) }
    guard command.unlocks else { return options }
    return options + [.paragraph, .text("For the options that open the vault see coffer-unlocking(7).")]
  }

  private static func examples(of command: CommandDefinition, _ head: (String) -> Roff) -> [Roff] {
    let found = Example.of(command.path)
    guard !found.isEmpty else { return [] }
    return [head("Examples")]
      + found.map { example in
        let purpose = example.purpose.prefix(1).uppercased() + example.purpose.dropFirst()
        return .item(Roff.escaped(purpose + ":"), nil, code: example.line)
      }
  }
}
