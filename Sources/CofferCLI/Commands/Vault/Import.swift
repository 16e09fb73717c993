internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferTerminal
internal import CofferVault

struct ImportCommand: OpeningCommand, AskingCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Add items from another program or vault, all or none.",
    discussion: """
      Coffer recognizes the program by the file's content, or --from names it; 'coffer help importing' lists the programs, and \
      explains how their entries become items. netrc, git-credentials, docker, aws and gh are read where those programs keep \
      them, unless a file is given. Omissions are reported. A terminal shows the plan and asks first, also about items that \
      exist already. Elsewhere these are listed and nothing is imported, unless --on-duplicate is given: skip keeps them, \
      replace replaces them, newer keeps the one changed later, both gives the imported one a free name. Without a file and \
      --from, the command lists the secrets of other programs on this machine.
      """)

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
    let rules: [(isMet: Bool, text: String)] = [
      ([replace, keep, onDuplicate != nil].filter(\.self).count <= 1, "give one of --replace, --keep and --on-duplicate"),
      ((service != nil) == (from == .env) || (from == nil && service != nil), "--service needs --from env"),
      (!firstLine || from == .pass || from == .gopass, "--first-line needs --from pass or --from gopass"),
      (path != nil || from?.hasUsualPlace ?? (service == nil), "missing expected argument '<file>'"),
      (path == nil || from != .secretService, "--from secret-service takes no file: it asks the keyring on the bus"),
      (
        path != "-" || from?.needsPath != true,
        from == .coffer ? "a vault is a file, not standard input" : "a pass store is a folder, not standard input"
      ),
      (from == nil || from == .coffer || (other.isEmpty && !olderKey), "--other-… and --older-key need --from coffer"),
    ]
    if let broken = rules.first(where: { !$0.isMet }) { throw ValidationError(broken.text) }
  }

  func claimInput(_ context: Context) throws { if path == "-" { try context.input.claim(for: "the file to import") } }

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
      // A person is not asked about items that the vault holds already as they are.
      let differing = try onDuplicate == nil && context.showsPlans ? differing(found, vault, context) : nil
      isAgreed = dryRun || differing?.isEmpty != true
      choice = try differing?.isEmpty == true ? .skip : decide(ImportPlan(found, report, .fail), differing ?? [], context)
    }
    if choice == .both { found = try found.renamed { try vault.add($0, duplicates: .replaceWithFields, isTrial: true) } }
    if !context.showsPlans || verbose { for remark in found.remarks { context.note(remark) } }
    var isNeeded = true
    if context.showsPlans {
      let plan = ImportPlan(found, try add(found, to: vault, choice.policy, isTrial: true, context), choice)
      isNeeded = !plan.isEmpty
      if !isAgreed || dryRun {
        Output.message(plan.text)
        if !verbose, !found.remarks.isEmpty { Output.message("--verbose names the entries that are left out or renamed.") }
      }
      if !isAgreed, isNeeded { try context.checkAgreed("Import them?", "imported") }
    }
    let report = try context.showing(.importing) { progress in
      try add(found, to: vault, choice.policy, isTrial: dryRun || !isNeeded, context) { progress.show($0, found.items.count) }
    }
    let plan = ImportPlan(found, report, choice)
    try tell(plan, found.leftOut, context)
    if choice == .newer, case let left = try plan.undated(differing(found, vault, context)), left > 0 {
      context.note(
        (left == 1 ? "1 differs and has no date, so yours stays" : "\(grouped(left)) differ and have no date, so yours stay")
          + "; --on-duplicate replace takes \(left == 1 ? "it" : "them")")
    }
    if dryRun { return context.note("nothing was changed (--dry-run)") }
    if context.showsPlans { for note in plan.advice { context.note(note) } }
  }

  /// Asks for the fate of the items that exist already, where a person can answer.
  private func decide(_ plan: ImportPlan, _ differing: [ItemName], _ context: Context) throws -> OnDuplicate {
    let failure = OnDuplicate.failure(plan.taken, in: context.places.vault.description)
    if context.showsPlans || (dryRun && !context.quiet && !options.json) { Output.message(plan.text) }
    guard onDuplicate == nil, !dryRun, context.showsPlans, !context.yes, let terminal = Terminal() else { throw failure }
    let (all, some) = (plan.taken.count, differing.count), isDated = plan.undated(differing) < some
    let count = some == all ? "" : "\(grouped(all)), of which \(grouped(some)) differ\(some == 1 ? "s" : ""): "
    Output.message(
      """
      Already in the vault: \(count)\(Printable.line(OnDuplicate.names(differing))).
        s  skip: leave yours as they are, and import the rest\(isDated ? "\n  n  newer: keep the one that was changed later" : "")
        b  both: import under a free name beside yours
        r  replace: put the imported in place of yours
      Enter imports nothing.
      """)
    let choice = OnDuplicate(typed: try terminal.line(isDated ? "[s/n/b/r] " : "[s/b/r] "))
    guard let choice, isDated || choice != .newer else { throw failure }
    return choice
  }

  /// What exists with another content.
  private func differing(_ found: ImportSource.Found, _ vault: borrowing OpenedVault, _ context: Context) throws -> [ItemName] {
    ImportPlan.whole(try add(found, to: vault, .replaceWithFields, isTrial: true, context).replaced)
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
