internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault

struct VaultNameCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "name", abstract: "Short names for vaults, which --vault takes in the place of a path or a URL.",
    discussion: """
      coffer --vault work vault list opens the vault that has the name work. A name has no slash, and what has one is a path; \
      ./work is the file of that name. The names are settings: coffer defaults read coffer.settings shows them too.
      """,
    subcommands: [VaultNameAddCommand.self, VaultNameRemoveCommand.self, VaultNameListCommand.self])
}

struct VaultNameAddCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Give a vault a name.",
    discussion:
      "The vault need not be there yet: coffer --vault work init makes it. A name that another vault has stays with it, unless "
      + "--replace."
  )

  @Argument(help: "The name.") var name: String
  @Argument(help: ArgumentHelp("Where the vault is: a path, or the URL of a server.", valueName: "place"), completion: .file())
  var path: String
  @Flag(help: "Take the name from the vault that has it.") var replace = false
  @OptionGroup var options: CommonOptions

  func perform(_ context: Context) throws {
    try VaultNames.check(name)
    let place = try VaultPlace.given(path).absolute()
    let names = VaultNames(context: context)
    let before = try names.path(of: name)
    if let before, before != place.text, !replace {
      throw StoreError(
        .alreadyExists, "another vault has the name", key: name, place: before,
        cure: "choose another name; --replace takes it from that vault, which stays where it is")
    }
    try names.set(name, to: place.text)
    let former = before.map { $0 == place.text ? "" : ", and no more the one at \(Printable.line($0))" } ?? ""
    context.note("\(Printable.line(name)) is the vault at \(place.text)\(former)")
  }
}

struct VaultNameRemoveCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Forget a name. The vault stays where it is.", aliases: ["rm"])

  @Argument(help: "The name.") var name: String
  @OptionGroup var options: CommonOptions

  func perform(_ context: Context) throws { try VaultNames(context: context).remove(name) }
}

struct VaultNameListCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Print the names with their paths.", aliases: ["ls"])

  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let all = try VaultNames(context: context).all()
    if options.json { return try Output.line(JSONText.encode(all.map { Answer(name: $0.name, path: $0.path) })) }
    if Output.isTerminal {
      return try Table(
        columns: [.text("NAME"), .text("PATH")], rows: all.map { [Table.Cell($0.name), Table.Cell($0.path)] },
        footer: all.isEmpty ? "no names" : counted(all.count, "name")
      ).show()
    }
    guard !all.isEmpty else { return }
    try Output.line(Columns.align(all.map { [$0.name, $0.path] }))
  }

  private struct Answer: Encodable { let name: String, path: String }
}
