internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferStorage
internal import CofferVault
internal import SystemPackage

struct VaultExportCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Write items to a new vault with its own secret, or with --reveal as JSON or an environment file in the clear.",
    discussion: """
      The new vault holds the items and nothing else: no key, slot or history of this one. Its secret comes from \
      --new-passphrase-file, --new-passphrase-fd, --new-key-file or a prompt. --reveal prints every value to standard output; \
      to a terminal only with --yes. \
      --references prints an environment file with a reference in place of each value, for 'coffer run --env-file'.
      """)

  enum Format: String, ExpressibleByArgument, CaseIterable { case json, env }

  @Argument(help: ArgumentHelp("The new vault's file; none with --reveal.", valueName: "file")) var file: String?
  @Option(help: ArgumentHelp("Only items of this service; may be repeated.", valueName: "service")) var service: [String] = []
  @Flag(help: "Print all values in the clear.") var reveal = false
  @Flag(help: "Print an environment file of references; no value is decrypted.") var references = false
  @Option(help: ArgumentHelp("In which form --reveal prints: json or env.", valueName: "format")) var format: Format = .json
  @Option(help: ArgumentHelp("A name for the way of opening the new vault.", valueName: "text")) var label = ""
  @OptionGroup(title: "The new secret") var new: NewSecretOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard [reveal, references, file != nil].filter(\.self).count == 1 else {
      throw ValidationError("give the new vault's file, --reveal, or --references, and one of them only")
    }
    guard format == .json || reveal else { throw ValidationError("--format is for --reveal") }
    guard !reveal || !(new.hasPassphrase || new.newKeyFile != nil) else {
      throw ValidationError("--reveal seals nothing: a new passphrase or key file has no use")
    }
  }

  func claimInput(_ context: Context) throws {
    guard !reveal || !Output.isTerminal || context.yes else {
      throw Failure.usage("every value would be shown on the terminal", try: "a pipe or a file, or --yes if that is meant")
    }
    try NewSecrets(new: new, context: context).claimInput()
  }

  func perform(_ context: Context) throws {
    if references { return try EnvExport.references(context.items(), services: service) }
    let vault = try context.unlockedVault()
    if reveal, format == .env { return try EnvExport.values(vault, services: service, context) }
    guard let file else { return try print(vault, context) }
    let secrets = NewSecrets(new: new, context: context)
    let target = VaultPlace(file)
    let count = try secrets.usingOwn(forVaultAt: target.file()) { credentials in
      try vault.export(to: target, services: service.isEmpty ? nil : service, with: credentials, label: label)
    }
    if options.json { return try Output.line(JSONText.encode(Answer(file: file, items: count))) }
    context.note("exported \(counted(count, "item")) to \(file), a vault of its own")
  }

  private func print(_ vault: borrowing UnlockedVault, _ context: Context) throws {
    var isFirst = true
    try Output.write("{\"coffer\":1,\"items\":[")
    let isWanted = { (item: VaultItem) in service.isEmpty || service.contains(item.name.service) }
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

struct VaultImportCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Add items from a file, all of them or none.",
    discussion: """
      json is what 'coffer vault export --reveal' prints. env is an environment file: each variable becomes an account of \
      --service, and variables that are references already are left out. pass is the folder of a pass store, which gpg decrypts: \
      the last part of an entry's path is the account, the rest the service. \
      Where an item exists already nothing is imported, unless --on-duplicate says what shall become of it. --dry-run only tells what \
      would happen.
      """)

  enum Format: String, ExpressibleByArgument, CaseIterable { case json, env, pass }

  @Argument(help: ArgumentHelp("The file, - for standard input; the folder of a pass store.", valueName: "file")) var path:
    String?
  @Option(help: ArgumentHelp("What kind of file it is: json, env or pass.", valueName: "format")) var from: Format
  @Option(help: ArgumentHelp("The service of an environment file's variables.", valueName: "service")) var service: String?
  @Flag(help: "Of an entry of pass only the first line, the password.") var firstLine = false
  @Option(
    help: ArgumentHelp("What becomes of an item whose name is taken: skip, replace or fail (which is usual).", valueName: "what"))
  var onDuplicate: OnDuplicate?
  @Flag(help: ArgumentHelp("The same as --on-duplicate replace.", visibility: .hidden)) var replace = false
  @Flag(help: ArgumentHelp("The same as --on-duplicate skip.", visibility: .hidden)) var keep = false
  @Flag(help: "Change nothing, and print what would happen.") var dryRun = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard [replace, keep, onDuplicate != nil].filter(\.self).count <= 1 else {
      throw ValidationError("--replace, --keep and --on-duplicate exclude each other")
    }
    guard (service != nil) == (from == .env) else {
      throw ValidationError("--service names the service of an environment file's variables, and is for --from env alone")
    }
    guard !firstLine || from == .pass else { throw ValidationError("--first-line is for --from pass alone") }
    guard path != nil || from == .pass else { throw ValidationError("missing expected argument '<file>'") }
    guard path != "-" || from != .pass else { throw ValidationError("a pass store is a folder, not standard input") }
  }

  func claimInput(_ context: Context) throws {
    if path == "-" { try context.input.claim(for: "the file to import") }
  }

  func perform(_ context: Context) throws {
    let vault = try context.unlockedVault()
    let progress = Progress(context, json: options.json)
    defer { progress.clear() }
    let items = try items(context, progress)
    let report = try add(items, to: vault, progress)
    progress.clear()
    if options.json { return try Output.line(JSONText.encode(Answer(report))) }
    let rows = [("added", report.added), ("replaced", report.replaced), ("kept", report.kept)]
      .flatMap { word, names in names.map { [word, $0.service, $0.account] } }
    if !rows.isEmpty { try Output.line(Columns.align(rows)) }
    if dryRun { context.note("nothing was changed: this was --dry-run") }
  }

  private func items(_ context: Context, _ progress: Progress) throws -> [ImportedItem] {
    let file = path ?? PassStore.standard ?? ""
    let place = file == "-" ? "standard input" : file
    switch from {
    case .json: return try JSONItems.read(content(file, context), place: place)
    case .env:
      return try EnvItems.read(content(file, context), service: service ?? "", place: place) { name in
        context.note("'\(name)' is a reference already, and stays in the file")
      }
    case .pass:
      return try PassStore(folder: FilePath(file)).items(firstLineOnly: firstLine, progress: progress, note: context.note)
    }
  }

  /// Bytes of a file, at most: some ten thousand items.
  private static let largestFile = 64 << 20

  private func content(_ file: String, _ context: Context) throws -> SecretBytes {
    let limit = Self.largestFile
    guard file == "-" else { return try SecretReader.file(file, limit: limit, what: "the file") }
    return try SecretReader.read(0, limit: limit, what: "the file", place: "standard input")
  }

  private func add(_ items: [ImportedItem], to vault: borrowing UnlockedVault, _ progress: Progress) throws -> ImportReport {
    let policy = onDuplicate?.policy ?? (replace ? .replace : keep ? .keep : .refuse)
    do throws(StoreError) {
      return try vault.add(items, duplicates: policy, isTrial: dryRun) { progress.show($0, items.count) }
    } catch {
      guard error.kind == .alreadyExists else { throw error }
      throw StoreError(
        error.kind, error.what, key: error.key, place: error.place,
        cure: "--on-duplicate replace or --on-duplicate skip says what becomes of such items")
    }
  }

  private struct Answer: Encodable {
    let added: [Name], replaced: [Name], kept: [Name]
    struct Name: Encodable { let service: String, account: String }

    init(_ report: ImportReport) {
      added = Self.names(report.added)
      replaced = Self.names(report.replaced)
      kept = Self.names(report.kept)
    }

    private static func names(_ names: [ItemName]) -> [Name] { names.map { Name(service: $0.service, account: $0.account) } }
  }
}

/// `--on-duplicate`: what becomes of an imported value whose name is taken.
enum OnDuplicate: String, ExpressibleByArgument, CaseIterable {
  case skip, replace, fail

  var policy: DuplicatePolicy {
    switch self {
    case .skip: .keep
    case .replace: .replace
    case .fail: .refuse
    }
  }
}

/// Hand items out, and take items in.
enum TransferCommands {
  static let all: [any ParsableCommand.Type] = [VaultExportCommand.self, VaultImportCommand.self]
}
