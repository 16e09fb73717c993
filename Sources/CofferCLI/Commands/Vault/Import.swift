internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault

struct ImportCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Add items from another program or vault, all or none.",
    discussion: """
      The content of a file shows its program, or --from names it; 'coffer help importing' lists the programs, and how their \
      entries become items. netrc, git-credentials, docker, aws and gh are read where those programs keep them, unless a file \
      is given. Omissions are reported. A terminal shows the plan and asks first, also about items that exist already. \
      Elsewhere these are listed and nothing is imported, unless --on-duplicate is given: skip keeps them, replace replaces \
      them, newer keeps the one changed later, both gives the imported one a free name. Without a file and --from, the command \
      lists the secrets of other programs on this machine.
      """)

  static var idleOptions: Set<String> { [] }

  @Argument(help: ArgumentHelp("The file or folder, - for standard input.", valueName: "file")) var path: String?
  @Option(help: ArgumentHelp("The program of the file, if its content does not show it.", valueName: "program"))
  var from: ImportFormat?
  @Option(help: ArgumentHelp("The service of an environment file's variables.", valueName: "service")) var service: String?
  @Flag(help: "Take only the first line, the password, of a pass or gopass entry.") var firstLine = false
  @Option(
    help: ArgumentHelp(
      "For existing names: fail, skip, replace, newer or both. [default: ask, or fail]", valueName: "what"))
  var onDuplicate: OnDuplicate?
  @Flag(help: ArgumentHelp("The same as --on-duplicate replace.", visibility: .hidden)) var replace = false
  @Flag(help: ArgumentHelp("The same as --on-duplicate skip.", visibility: .hidden)) var keep = false
  @Flag(help: "Only print what would happen.") var dryRun = false
  @Flag(help: "List each item at a terminal too, instead of a total.") var verbose = false
  @Flag(help: .olderCopy) var olderKey = false
  @OptionGroup(title: "The other vault") var other: OtherVaultOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard [replace, keep, onDuplicate != nil].filter(\.self).count <= 1 else {
      throw ValidationError("give one of --replace, --keep and --on-duplicate")
    }
    guard (service != nil) == (from == .env) || (from == nil && service != nil) else {
      throw ValidationError("--service needs --from env")
    }
    guard !firstLine || from == .pass || from == .gopass else {
      throw ValidationError("--first-line needs --from pass or --from gopass")
    }
    guard path != nil || from?.hasUsualPlace ?? (service == nil) else {
      throw ValidationError("missing expected argument '<file>'")
    }
    guard path == nil || from != .secretService else {
      throw ValidationError("--from secret-service takes no file: it asks the keyring on the bus")
    }
    guard path != "-" || from?.needsPath != true else {
      throw ValidationError(
        from == .coffer ? "a vault is a file, not standard input" : "a pass store is a folder, not standard input")
    }
    guard from == nil || from == .coffer || (other.isEmpty && !olderKey) else {
      throw ValidationError("--other-… and --older-key need --from coffer")
    }
  }

  func claimInput(_ context: Context) throws {
    if path == "-" { try context.input.claim(for: "the file to import") }
  }

  func perform(_ context: Context) throws {
    guard path != nil || from != nil else { return try ImportableSecrets(context).show(json: options.json) }
    if !dryRun { try context.checkIsNoMirror() }
    let source = ImportSource(
      format: from, path: path, service: service, firstLineOnly: firstLine, other: other, acceptsOlderKey: olderKey,
      context: context)
    try source.check()
    // For a copy of the vault, the vault's own key tells whether it may be one.
    var vault = if try source.isCopy() { OpenedVault.here(try context.unlockedVault()) } else { try context.openedVault() }
    var found = try context.showing(.reading) { try source.read($0, beside: vault) }
    if !vault.takes(found.items) {
      context.note("the agent does not take this many items at once, so the vault is unlocked here")
      vault = .here(try context.unlockedVault())
    }
    var choice = onDuplicate ?? (replace ? .replace : keep ? .skip : .fail), isAgreed = dryRun
    if choice == .fail, case let report = try add(found, to: vault, .keep, isTrial: true, context), !report.kept.isEmpty {
      choice = try decide(ImportPlan(found, report, .fail), context)
      isAgreed = true
    }
    if choice == .both { found = try found.renamed { try vault.add($0, duplicates: .replace, isTrial: true) } }
    if !context.showsPlans || verbose { for remark in found.remarks { context.note(remark) } }
    var isNeeded = true
    if context.showsPlans {
      let plan = ImportPlan(found, try add(found, to: vault, choice.policy, isTrial: true, context), choice)
      isNeeded = !plan.isEmpty
      if !isAgreed || dryRun {
        Output.message(plan.text)
        if !verbose, !found.remarks.isEmpty { Output.message("--verbose names what is left out and renamed.") }
      }
      guard try isAgreed || !isNeeded || context.agrees("Import them?") else {
        throw Failure(StoreError(.refused, "nothing was imported", cure: "y at the question, or --yes"))
      }
    }
    let report = try context.showing(.importing) { progress in
      try add(found, to: vault, choice.policy, isTrial: dryRun || !isNeeded, context) { progress.show($0, found.items.count) }
    }
    let plan = ImportPlan(found, report, choice)
    try tell(plan, found.leftOut, context)
    if dryRun { return context.note("nothing was changed (--dry-run)") }
    if context.showsPlans { for note in plan.advice { context.note(note) } }
  }

  /// Asks for the fate of the items that exist already, where a person can answer.
  private func decide(_ plan: ImportPlan, _ context: Context) throws -> OnDuplicate {
    let failure = OnDuplicate.failure(plan.taken, in: context.places.vault.description)
    if context.showsPlans || (dryRun && !context.quiet && !options.json) { Output.message(plan.text) }
    guard onDuplicate == nil, !dryRun, context.showsPlans, !context.yes, let terminal = Terminal() else { throw failure }
    Output.message(
      """
      Already in the vault: \(Printable.line(OnDuplicate.names(plan.taken))).
      Import, and of these: skip the imported, keep the newer or both, or replace yours? Enter imports nothing.
      """)
    guard let choice = OnDuplicate(typed: try terminal.line("[skip/newer/both/replace] ")) else { throw failure }
    return choice
  }

  private func tell(_ plan: ImportPlan, _ leftOut: [LeftOut], _ context: Context) throws {
    if options.json { return try Output.json(Answer(plan.rows, leftOut)) }
    let total = (dryRun ? "" : Sign.doneAtTerminal) + plan.total(isTrial: dryRun)
    guard !Output.isTerminal || verbose else { return try Output.sentence(total) }
    try Table.show(plan.rows, under: ["DONE", "SERVICE", "ACCOUNT", "FIELD"], footer: total)
  }

  private func add(
    _ found: ImportSource.Found, to vault: borrowing OpenedVault, _ policy: DuplicatePolicy, isTrial: Bool, _ context: Context,
    progress: (Int) -> Void = { _ in }
  ) throws -> ImportReport {
    var report = try vault.add(
      found.items, duplicates: policy, keeping: HistoryOptions.standard(nil, context), isTrial: isTrial, progress: progress)
    report.kept += found.unchanged
    return report
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
