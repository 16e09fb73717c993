internal import ArgumentParser
internal import FoundationEssentials

/// What help and manual pages are made of.
struct CommandDefinition {
  /// `coffer` first.
  let words: [String]
  let type: any ParsableCommand.Type
  /// Without hidden ones and options that have no effect there.
  let arguments: [ArgumentDefinition]

  init(_ names: [String], _ type: any ParsableCommand.Type) throws {
    words = ["coffer"] + names
    self.type = type
    let idle = (type as? any Command.Type)?.idleOptions ?? []
    arguments = try ArgumentDefinition.all(of: Self.alone(type)).filter { !idle.contains($0.name ?? "") }
  }

  /// A group has no arguments of its own, and the parser would describe all its commands too.
  private static func alone(_ type: any ParsableCommand.Type) -> any ParsableCommand.Type {
    guard !type.configuration.subcommands.isEmpty else { return type }
    return type.configuration.version.isEmpty ? Family.self : VersionedFamily.self
  }

  private struct Family: ParsableCommand {}
  private struct VersionedFamily: ParsableCommand { static let configuration = CommandConfiguration(version: "coffer") }

  var configuration: CommandConfiguration { type.configuration }
  var name: String { words.joined(separator: " ") }
  var path: String { words.dropFirst().joined(separator: " ") }
  var isFamily: Bool { !configuration.subcommands.isEmpty }

  /// The commands of a group by title; the first may have none.
  var groups: [(title: String, commands: [any ParsableCommand.Type])] {
    ([("", configuration.ungroupedSubcommands)] + configuration.groupedSubcommands.map { ($0.name, $0.subcommands) })
      .map { ($0.0, $0.1.filter { $0.configuration.shouldDisplay }) }.filter { !$0.1.isEmpty }
  }

  /// The commands below a group that do something.
  func leaves() throws -> [CommandDefinition] {
    guard isFamily else { return [self] }
    return try groups.flatMap(\.commands).flatMap { next in
      try CommandDefinition(Array(words.dropFirst()) + [next.configuration.commandName ?? ""], next).leaves()
    }
  }

  /// In the order of the declaration. Those that open the vault are in a topic of their own.
  var sections: [(title: String, options: [ArgumentDefinition])] {
    var sections: [(title: String, options: [ArgumentDefinition])] = []
    for option in arguments where option.kind != .positional && !option.opensVault {
      let title = option.sectionTitle ?? "Options"
      if let index = sections.firstIndex(where: { $0.title == title }) {
        sections[index].options.append(option)
      } else {
        sections.append((title, [option]))
      }
    }
    // What every command has comes last.
    return sections.filter { $0.title != "Options" } + sections.filter { $0.title == "Options" }
  }

  var positionals: [ArgumentDefinition] { arguments.filter { $0.kind == .positional } }
  var unlocks: Bool { arguments.contains { $0.opensVault } }

  var usage: String {
    if let usage = configuration.usage { return usage }
    return isFamily ? "\(name) COMMAND" : ([name] + positionals.map(\.use) + ["[options]"]).joined(separator: " ")
  }

  /// On the first page of help: at most 12, the required ones before those of an example, and those before all others, each
  /// in the order of the declaration.
  var everyday: [ArgumentDefinition] {
    let own = arguments.filter { $0.kind != .positional && !$0.opensVault && !$0.isCommon }
    let examples = Set(Example.of(path).flatMap { $0.line.split(separator: " ").map(String.init) })
    let ranks = own.map { !$0.isOptional ? 0 : $0.spellings.contains(where: examples.contains) ? 1 : 2 }
    let chosen = Set(own.indices.sorted { (ranks[$0], $0) < (ranks[$1], $1) }.prefix(12))
    return own.indices.filter(chosen.contains).map { own[$0] }
  }
}

/// An argument as the parser describes it (`--experimental-dump-help`).
struct ArgumentDefinition: Decodable {
  enum Kind: String, Decodable { case positional, option, flag }
  struct Name: Decodable { let kind: String, name: String }

  let kind: Kind
  let shouldDisplay: Bool, isOptional: Bool, isRepeating: Bool
  let sectionTitle: String?, valueName: String?, defaultValue: String?, abstract: String?
  let names: [Name]?, allValues: [String]?, parsingStrategy: String
  private let completionKind: [String: Kept]?

  private struct Kept: Decodable { let values: [String]? }
  private struct Tool: Decodable { let command: Info }
  private struct Info: Decodable { let arguments: [ArgumentDefinition]? }

  static func all(of type: any ParsableArguments.Type) throws -> [ArgumentDefinition] {
    let text = type._dumpHelp()
    let tool = try JSONDecoder().decode(Tool.self, from: Data(text.utf8))
    return (tool.command.arguments ?? []).filter(\.shouldDisplay)
  }

  /// `list`, `file`, `directory` or `custom`; nil where a shell cannot complete it.
  var completion: String? { completionKind?.keys.first ?? allValues.map { _ in "list" } }
  var values: [String]? { allValues ?? completionKind?["list"]?.values }
  /// Nil for a positional argument.
  var name: String? { names?.last { $0.kind == "long" }?.name }
  /// Whether it is one of ``UnlockingOptions``.
  var opensVault: Bool { sectionTitle.map { $0.hasPrefix("Unlocking") || $0 == "Secrets that exist" } ?? false }
  /// Whether every command takes it.
  var isCommon: Bool { name.map { ["home", "vault", "quiet", "yes", "json", "help", "version"].contains($0) } ?? false }

  /// `-q, --quiet`, `--home DIR`, `SERVICE`.
  var label: String { marked.replacing("`", with: "") }
  var marked: String {
    [spellings.map { "`\($0)`" }.joined(separator: ", "), value ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
  }

  /// The names as they are typed, short ones first.
  var spellings: [String] {
    let all = names ?? []
    return all.filter { $0.kind != "long" }.map { "-" + $0.name } + all.filter { $0.kind == "long" }.map { "--" + $0.name }
  }

  /// `DIR`; nil for a flag.
  var value: String? {
    let name = valueName ?? "value"
    return kind == .flag ? nil : name.contains(where: \.isUppercase) ? name : name.uppercased().replacing("> <", with: " ")
  }

  /// With its default.
  var text: String { [abstract, defaultValue.map { "[default: \($0)]" }].compactMap(\.self).joined(separator: " ") }

  var use: String {
    let word = (value ?? "") + (isRepeating ? " …" : "")
    return isOptional ? "[\(word)]" : word
  }
}
