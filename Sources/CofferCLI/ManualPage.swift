internal import ArgumentParser
internal import CofferTerminal

/// Made of the same blocks as the help.
struct ManualPage {
  /// `coffer-vault`.
  let name: String
  let section: Int
  /// One line.
  let purpose: String
  let body: [String]

  var fileName: String { "\(name).\(section)" }

  var text: String {
    let words = [Roff.escaped(name.uppercased()), String(section), ProgramVersion.date, "coffer \(ProgramVersion.number)"]
    let head = ".TH " + words.map { "\"\($0)\"" }.joined(separator: " ")
    // Options are not broken at their hyphens, and lines are not justified.
    let lines = [head, ".nh", ".ad l", Roff.section("Name"), Roff.escaped(name) + #" \- "# + Roff.escaped(purpose)]
    return (lines + body + [Roff.section("See also"), others]).joined(separator: "\n") + "\n"
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
    ManualPage(name: "coffer-\(topic.name)", section: 7, purpose: topic.abstract, body: Roff.lines(of: try topic.blocks()))
  }

  /// - Parameter type: the root, or a command right behind it, whose own commands are parts of its page.
  static func page(of type: any ParsableCommand.Type) throws -> ManualPage {
    let isRoot = type == CofferCommand.self
    let command = try CommandDefinition(isRoot ? [] : [type.configuration.commandName ?? ""], type)
    let parts = isRoot || !command.isFamily ? [] : try command.leaves()
    let body = try ([command] + parts).enumerated().flatMap { position, command in
      let blocks = try HelpPage(command: command, isWhole: true).blocks(for: Display(isTerminal: false))
      return (position == 0 ? [] : [Roff.section(command.name)]) + Roff.lines(of: blocks, inPart: position > 0)
    }
    return ManualPage(
      name: command.words.joined(separator: "-"), section: 1,
      purpose: HelpPage.firstLine(command.configuration.abstract).trimmingDot, body: body)
  }
}
