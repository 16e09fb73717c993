internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

struct VaultUseCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "use", abstract: "List the named vaults, or name one.",
    discussion: """
      'coffer --vault work list' opens the vault named work; COFFER_VAULT=work does so for a shell. A name has no slash, so \
      ./work is a file. The vault need not exist: 'coffer --vault work init' creates it. Names are settings: 'coffer defaults \
      read coffer.settings' shows them too.
      """)

  @Argument(help: "The name.") var name: String?
  @Argument(help: ArgumentHelp("The vault: a path or a server's URL.", valueName: "place")) var place: String?
  @Flag(help: "Take the name from the vault that has it.") var replace = false
  @Flag(help: "Forget the name. The vault stays where it is.") var remove = false
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard !remove || (name != nil && place == nil && !replace) else { throw ValidationError("--remove takes only a name") }
    guard name == nil || place != nil || remove else {
      throw ValidationError("the vault's place is missing: give NAME PLACE, or --remove to forget the name")
    }
  }

  func perform(_ context: Context) throws {
    let names = VaultNames(context: context)
    guard let name else { return try list(names) }
    if remove { return try names.remove(name) }
    try VaultNames.check(name)
    let place = try VaultPlace.given(place ?? "").absolute()
    let before = try names.path(of: name)
    if let before, before != place.text, !replace {
      throw StoreError(
        .alreadyExists, "another vault has the name", key: name, place: before,
        cure: "choose another name; --replace takes it from that vault, which stays where it is")
    }
    try names.set(name, to: place.text)
    let old = before.map { $0 == place.text ? "" : ", instead of the one at \(Printable.line($0))" } ?? ""
    context.note("\(Printable.line(name)) is the vault at \(place.text)\(old)")
  }

  private func list(_ names: VaultNames) throws {
    let all = try names.all()
    if options.json { return try Output.json(all.map { ["name": $0.name, "path": $0.path] }) }
    let rows = all.map { [$0.name, $0.path] }
    let count = all.isEmpty ? "no names" : counted(all.count, "name")
    try Table.show(Table(rows, under: ["NAME", "PATH"], footer: count), elsewhere: rows)
  }
}

struct VaultMembersCommand: OpeningCommand, AskingCommand {
  static let configuration = CommandConfiguration(
    commandName: "members", abstract: "List who can open the vault, or each vault of a project.",
    discussion: """
      A file 'coffer.vaults' in a project's folder names vaults, one a line, as 'coffer vault use' calls them on your machine. \
      There and below, 'coffer get', 'run' and 'inject' take an item from the first of them that has it, then from your own \
      vault. A terminal asks before a new or changed file is used; here --yes agrees to it. --vault and COFFER_VAULT come before \
      the file. Exits with the error of the first vault that cannot be read, after the members of the others.
      """)

  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let project = try ProjectVaults(context, agreeing: true)
    let vaults = try project?.contexts(context) ?? [context]
    let names = project?.names ?? [context.places.vault.description]
    var (members, failure) = ([Member](), Failure?.none)
    for (name, vault) in zip(names, vaults) {
      do { members += try vault.openedVault().slots().map { Member(name, $0) } } catch {
        // A user need not be a member of all.
        guard let found = Failure.of(error) else { throw error }
        if failure == nil { failure = found } else { context.note("\(name): \(found.what)") }
      }
    }
    if options.json {
      try Output.json(members)
    } else {
      // The label has the last day too.
      let rows = members.map { [$0.vault, $0.label.isEmpty ? $0.id : $0.label, $0.opens] }
      try Table.show(Table(rows, under: ["VAULT", "MEMBER", "OPENED BY"], footer: counted(rows.count, "slot")), elsewhere: rows)
    }
    if let failure { throw failure }
  }

  private struct Member: Encodable {
    let vault: String, id: String, opens: String, label: String, ends: Date?

    init(_ vault: String, _ slot: VaultStatus.Slot) {
      (self.vault, id, opens) = (vault, slot.summary.id.description, slot.summary.kind.description)
      (label, ends) = (slot.label, slot.ends)
    }
  }
}
