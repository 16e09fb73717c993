internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault

struct ImportCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Add items from another program or vault, all of them or none.",
    discussion: """
      What a file is of is told by its content, or by --from. bitwarden takes JSON and CSV; 1password a .1pux, its export.data \
      and CSV; keepass XML and CSV, also of KeePassXC; chrome and firefox CSV. pass and gopass are folders, which gpg decrypts. \
      netrc, git-credentials, docker, aws and gh are read where those programs keep them, unless a file is given. coffer is \
      another vault, an export or a backup, opened by --other-key-file and the like or at a prompt; json is what 'coffer vault \
      export --reveal' prints; env an environment file, each variable of which becomes an account of --service; secret-service \
      is the keyring that answers on the bus of this session, whose items programs find again at 'coffer secret-service'. The \
      password becomes the value, further secrets and attached files become fields, addresses, folders and tags attributes, \
      earlier passwords previous versions. What is left out is reported. At a terminal the plan is shown first, and a question \
      asked. If items exist already, they are listed and nothing is imported, unless --on-duplicate is given: skip keeps \
      them, replace replaces them, newer keeps of each two the one that was changed later, both gives the imported one a free \
      name. --dry-run only prints what would happen. Without a file and --from, the command lists the secrets of other \
      programs on this machine.
      """)

  static var idleOptions: Set<String> { [] }

  @Argument(help: ArgumentHelp("The file or folder, - for standard input.", valueName: "file")) var path: String?
  @Option(help: ArgumentHelp("What it is of, where its content does not tell.", valueName: "program"))
  var from: ImportFormat?
  @Option(help: ArgumentHelp("The service of an environment file's variables.", valueName: "service")) var service: String?
  @Flag(help: "Of an entry of pass or gopass only the first line, the password.") var firstLine = false
  @Option(
    help: ArgumentHelp(
      "For names that are taken: fail, skip, replace, newer or both. [default: fail]", valueName: "what"))
  var onDuplicate: OnDuplicate?
  @Flag(help: ArgumentHelp("The same as --on-duplicate replace.", visibility: .hidden)) var replace = false
  @Flag(help: ArgumentHelp("The same as --on-duplicate skip.", visibility: .hidden)) var keep = false
  @Flag(help: "Change nothing, and print what would happen.") var dryRun = false
  @Flag(help: "List each item at a terminal too, where otherwise a total stands.") var verbose = false
  @OptionGroup(title: "The other vault") var other: OtherVaultOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard [replace, keep, onDuplicate != nil].filter(\.self).count <= 1 else {
      throw ValidationError("--replace, --keep and --on-duplicate exclude each other")
    }
    guard (service != nil) == (from == .env) || (from == nil && service != nil) else {
      throw ValidationError("--service names the service of an environment file's variables, and is for --from env alone")
    }
    guard !firstLine || from == .pass || from == .gopass else {
      throw ValidationError("--first-line is for --from pass and --from gopass alone")
    }
    guard path != nil || from?.hasUsualPlace ?? (service == nil) else {
      throw ValidationError("missing expected argument '<file>'")
    }
    guard path == nil || from != .secretService else {
      throw ValidationError("a keyring is asked for on the bus, and is no file")
    }
    guard path != "-" || from?.needsPath != true else {
      throw ValidationError(
        from == .coffer ? "a vault is a file, not standard input" : "a pass store is a folder, not standard input")
    }
    guard from == nil || from == .coffer || (other.isEmpty && !other.olderKey) else {
      throw ValidationError("--other-… and --older-key are about another vault, and for --from coffer alone")
    }
  }

  func claimInput(_ context: Context) throws {
    if path == "-" { try context.input.claim(for: "the file to import") }
  }

  func perform(_ context: Context) throws {
    guard path != nil || from != nil else { return try ImportableSecrets(context).show(json: options.json) }
    if !dryRun { try context.checkIsNoMirror() }
    let source = ImportSource(
      format: from, path: path, service: service, firstLineOnly: firstLine, other: other, context: context)
    try source.check()
    // For a copy of the vault, the vault's own key tells whether it may be one.
    var vault = if try source.isCopy() { OpenedVault.here(try context.unlockedVault()) } else { try context.openedVault() }
    let (reading, progress) = (context.progress(json: options.json, .reading), context.progress(json: options.json, .importing))
    defer {
      reading.clear()
      progress.clear()
    }
    var found = try source.read(reading, beside: vault)
    reading.clear()
    if !vault.takes(found.items) {
      context.note("so many items are more than the agent takes at once, so the vault is unlocked here")
      vault = .here(try context.unlockedVault())
    }
    if onDuplicate == .both {
      let taken = try vault.add(found.items, duplicates: .keep, keeping: 0, isTrial: true) { _ in }.kept
      found = try found.renamed(taken) { try vault.holds($0) }
    }
    if !context.showsPlans || verbose { for remark in found.remarks { context.note(remark) } }
    if context.showsPlans {
      let plan = ImportPlan(found, try add(found.items, to: vault, isTrial: true, context))
      Output.message(plan.text)
      if !verbose, !found.remarks.isEmpty { Output.message("--verbose names what is left out and renamed.") }
      guard try dryRun || context.agrees("Import them?") else {
        throw Failure(StoreError(.refused, "nothing was imported", cure: "y at the question, or --yes"))
      }
    }
    let report = try add(found.items, to: vault, isTrial: dryRun, context) { progress.show($0, found.items.count) }
    progress.clear()
    try tell(ImportPlan(found, report), found.leftOut, context)
    if dryRun { context.note("nothing was changed: this was --dry-run") }
  }

  private func tell(_ plan: ImportPlan, _ leftOut: [LeftOut], _ context: Context) throws {
    if options.json { return try Output.line(JSONText.encode(Answer(plan.rows, leftOut))) }
    let total = (dryRun ? "" : Sign.doneAtTerminal) + plan.total(isTrial: dryRun)
    guard !Output.isTerminal || verbose else { return try Output.line(total) }
    try Table.show(plan.rows, under: ["DONE", "SERVICE", "ACCOUNT", "FIELD"], footer: total)
  }

  private func add(
    _ items: [ImportedItem], to vault: borrowing OpenedVault, isTrial: Bool, _ context: Context,
    progress: (Int) -> Void = { _ in }
  ) throws -> ImportReport {
    let policy = onDuplicate?.policy ?? (replace ? .replace : keep ? .keep : .refuse)
    do throws(StoreError) {
      return try vault.add(
        items, duplicates: policy, keeping: HistoryOptions.standard(nil, context), isTrial: isTrial, progress: progress)
    } catch {
      guard error.kind == .alreadyExists else { throw error }
      throw OnDuplicate.failure(
        error, try vault.add(items, duplicates: .keep, keeping: 0, isTrial: true) { _ in }.kept)
    }
  }

  private struct Answer: Encodable {
    let added: [Name], replaced: [Name], kept: [Name], leftOut: [LeftOut]?
    struct Name: Encodable { let service: String, account: String, field: String? }

    init(_ rows: [[String]], _ leftOut: [LeftOut]) {
      let names = { (word: String) in
        rows.filter { $0[0] == word }.map { Name(service: $0[1], account: $0[2], field: $0.count > 3 ? $0[3] : nil) }
      }
      (added, replaced, kept) = (names("added"), names("replaced"), names("kept"))
      self.leftOut = leftOut.isEmpty ? nil : leftOut
    }
  }
}
