internal import ArgumentParser
internal import CofferTerminal

struct HelpPage {
  let command: CommandDefinition
  /// Complete, as a manual page, and not for every day.
  let isWhole: Bool

  /// Of most terminals, with a line for the prompt.
  private static let screen = 23

  func show() throws { try Pager.show(text(for: .output)) }

  func text(for display: Display) throws -> String { HelpMarkup.text(try blocks(for: display), for: display) }

  func blocks(for display: Display) throws -> [HelpMarkup] {
    let usage: [HelpMarkup] = isRoot && !isWhole ? [] : [.usage(command.usage)]
    let head = usage + [.paragraph(command.configuration.abstract)] + section("Examples", Example.of(command.path))
    guard !isWhole else { return try head + whole() }
    guard command.isFamily else {
      return head + section("Arguments", command.positionals) + section("Options", command.everyday)
        + [.paragraph("More: \(command.name) --help --all")]
    }
    let name = (["coffer help"] + command.words.dropFirst() + ["NAME"]).joined(separator: " ")
    let end = HelpMarkup.paragraph("More: \(name), or \(command.name) --help --all")
    let described = head + commands + [end]
    let lines = HelpMarkup.text(described, for: display).utf8.count { $0 == UInt8(ascii: "\n") } + 1
    return !isRoot && lines <= Self.screen ? described : head + [names, end]
  }

  private func whole() throws -> [HelpMarkup] {
    let configuration = command.configuration
    var blocks: [HelpMarkup] = configuration.discussion.isEmpty ? [] : [.paragraph(configuration.discussion)]
    blocks += commands
    blocks += section("Arguments", command.positionals)
    blocks += command.sections.flatMap { section($0.title, $0.options) }
    if command.unlocks { blocks.append(.paragraph("'coffer help unlocking' lists the options that open the vault.")) }
    if !configuration.aliases.isEmpty {
      blocks.append(.paragraph("Other words for it: " + configuration.aliases.joined(separator: ", ")))
    }
    if isRoot { blocks += [.title("Topics"), .table(HelpTopic.all.map { ($0.name, $0.abstract + ".") })] }
    return try blocks + (HelpTopic.named(command.path)?.blocks() ?? [])
  }

  private var isRoot: Bool { command.words.count == 1 }

  private var commands: [HelpMarkup] {
    command.groups.flatMap { title, commands -> [HelpMarkup] in
      let rows = commands.map { ($0.configuration.commandName ?? "", Self.firstLine($0.configuration.abstract)) }
      return [.title(title.isEmpty ? "Commands" : title), .table(rows)]
    }
  }

  private var names: HelpMarkup {
    let groups = command.groups.map { title, commands in
      (title.isEmpty ? "Commands" : title, commands.compactMap { $0.configuration.commandName }.joined(separator: " "))
    }
    return .table(groups + (isRoot ? [("Topics", HelpTopic.all.map(\.name).joined(separator: " "))] : []))
  }

  private func section(_ title: String, _ examples: [Example]) -> [HelpMarkup] {
    examples.isEmpty ? [] : [.title(title), .examples(examples)]
  }

  private func section(_ title: String, _ arguments: [ArgumentDefinition]) -> [HelpMarkup] {
    arguments.isEmpty ? [] : [.title(title), .table(arguments.map { ($0.marked, $0.text) })]
  }

  static func firstLine(_ text: String) -> String { String(text.prefix { $0 != "\n" }) }
}
