internal import ArgumentParser
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault

struct ExportCommand: OpeningCommand, AskingCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Write items to a new vault, or with --reveal in the clear.",
    discussion: """
      The new vault holds only the items, and no key, slot or history of this vault. Its secret comes from \
      --new-passphrase-file, --new-passphrase-fd, --new-key-file or a prompt. --reveal prints every value to standard output, as \
      JSON or an environment file; to a terminal only with --yes. --references is for 'coffer run --env-file'.
      """)

  enum Format: String, ExpressibleByArgument, CaseIterable { case json, env }

  @Argument(help: ArgumentHelp("The new vault's place; none with --reveal.", valueName: "place")) var place: String?
  @Option(help: ArgumentHelp("Only items of this service; may be repeated.", valueName: "service")) var service: [String] = []
  @Flag(help: "Print all values in the clear.") var reveal = false
  @Flag(help: "Print an environment file of references; no value is decrypted.") var references = false
  @Option(help: ArgumentHelp("The format of --reveal: json or env.", valueName: "format")) var format: Format = .json
  @Option(help: ArgumentHelp("A label for the new vault's way to unlock.", valueName: "text")) var label = ""
  @OptionGroup(title: "The new secret") var new: NewSecretOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard [reveal, references, place != nil].filter(\.self).count == 1 else {
      throw ValidationError(
        "give one of the new vault's place, --reveal and --references; "
          + "\(CommandText.coffer) export --reveal > items.json writes plain text")
    }
    guard format == .json || reveal else { throw ValidationError("--format needs --reveal") }
    guard !reveal || !(new.hasPassphrase || new.newKeyFile != nil) else {
      throw ValidationError("--reveal takes no new passphrase or key file")
    }
  }

  func claimInput(_ context: Context) throws {
    guard !reveal || !Output.isTerminal || context.yes else {
      throw Failure.usage("every value would be shown on the terminal", try: "a pipe or a file, or --yes to show them")
    }
    // A file of another program is in plain text.
    if let place, try VaultPlace.given(place).path != nil,
      [".json", ".csv", ".env", ".txt"].contains(where: place.lowercased().hasSuffix)
    {
      throw Failure.usage(
        "the place is a new vault's, and this is the name of a text file",
        try: "the command with '--reveal > \(CommandText.quoted(place))' at its end, which writes the items in plain text")
    }
    try NewSecrets(new: new, context: context).claimInput()
  }

  func perform(_ context: Context) throws {
    if references { return try EnvExport.references(context.itemsToRead(), services: service) }
    let vault = try context.openedVault()
    if reveal, format == .env { return try EnvExport.values(vault, services: service, context) }
    guard let place else { return try print(vault, context) }
    let secrets = NewSecrets(new: new, context: context)
    let target = try VaultPlace.given(place)
    let count = try secrets.usingOwn(forVaultAt: target) { credentials in
      context.spin("Exporting")
      defer { StatusLine.clear() }
      return try vault.export(
        to: target, of: context.places, services: service.isEmpty ? nil : service, with: credentials, label: label)
    }
    if options.json { return try Output.json(Answer(file: place, items: count)) }
    context.told("exported \(counted(count, "item")) to the new vault \(place)")
  }

  private func print(_ vault: borrowing OpenedVault, _ context: Context) throws {
    var isFirst = true
    try Output.write("{\"coffer\":1,\"items\":[")
    let isWanted = { EnvExport.isWanted($0, service) }
    try vault.forEachItem(withFields: true) {
      if isWanted($0) { context.leavesOut($0) }
    } _: { item, form in
      guard isWanted(item) else { return }
      try Output.write(isFirst ? "\n" : ",\n")
      isFirst = false
      try Output.write(JSONText.encode(ItemJSON(item)).dropLast() + ",\"value\":")
      try Output.write(SecretJSON.literal(form.bytes))
      try Output.write("}")
    }
    try Output.write("\n]}\n")
  }

  private struct Answer: Encodable { let file: String, items: Int }
}
