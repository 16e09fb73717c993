internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault

struct MergeCommand: OpeningCommand, AskingCommand {
  static let configuration = CommandConfiguration(
    commandName: "merge", abstract: "Merge newer changes from another vault, a copy or a backup.",
    discussion: """
      The other vault is only read; without --other-…, this vault's secrets are tried on it. Items match by id, else by name. A \
      change wins if its author knew the other side's version; else the newer value wins, the other becomes a previous version \
      even with --no-history, and the conflict is reported. Renames and deletions are followed, and previous and deleted values \
      are taken over. Logins are left out. All changes are made at once or none, and a second merge changes nothing. A terminal \
      shows the plan and asks first.
      """)

  @Argument(help: ArgumentHelp("The other vault: its path, its URL or its name.", valueName: "place")) var path: String
  @Flag(help: "Only print what would happen.") var dryRun = false
  @Flag(help: "List each item at a terminal too, instead of a total.") var verbose = false
  @OptionGroup(title: "History") var past: HistoryOptions
  @Flag(help: .olderCopy) var olderKey = false
  @OptionGroup(title: "The other vault") var other: OtherVaultOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    try context.checkIsNoMirror()
    let path = try VaultNames(context: context).place(path)
    let other = OtherVault(path: path, options: other, acceptsOlderKey: olderKey, context: context)
    try other.checkIsAnother(than: context.places.vault)
    var own = Credentials()
    let vault = try context.unlockedVault { own = try $0.copied() }
    let source = try other.unlock(beside: vault, orWith: own)
    if context.showsPlans {
      let plan = MergePlanText(report: try merge(source, into: vault, isTrial: true, context))
      Output.message(try "\(title(source, vault))\n\(plan.text)")
      if verbose || plan.isShort { for remark in plan.remarks { Output.message("  \(remark)") } }
      if !dryRun, !plan.report.isEmpty { try context.checkAgreed("Merge them?", "merged") }
    }
    let report = try merge(source, into: vault, isTrial: dryRun, context)
    try tell(MergePlanText(report: report), context)
    if dryRun { context.note("nothing was changed (--dry-run)") }
  }

  /// - Parameter source: its key was found to be one that may be merged.
  private func merge(
    _ source: borrowing UnlockedVault, into vault: borrowing UnlockedVault, isTrial: Bool, _ context: Context
  ) throws -> MergeReport {
    try context.showing(.comparing) { progress in
      try vault.merge(
        source, keeping: past.keeping(nil, context), keptUntil: Settings(context).keptUntil, isTrial: isTrial,
        acceptingOlderKey: true, leavingOut: \.isOfLogin, progress: progress.show)
    }
  }

  private func title(_ source: borrowing UnlockedVault, _ vault: borrowing UnlockedVault) throws -> String {
    let (other, own) = try (source.status(), vault.status())
    let kin =
      source.id == vault.id
      ? "the same vault at generation \(other.generation), this one is at \(own.generation)" : "another vault"
    let items = try source.count(ItemQuery(otherThan: LoginItems.pointers))
    return "\(Printable.line(source.place.description)), \(kin): \(counted(items, "item"))"
  }

  private func tell(_ plan: MergePlanText, _ context: Context) throws {
    if options.json { return try Output.json(plan.answer) }
    if !context.showsPlans { for remark in plan.remarks { context.note(remark) } }
    let total = (dryRun ? "" : Sign.doneAtTerminal) + plan.total(isTrial: dryRun)
    guard !Output.isTerminal || verbose else { return try Output.line(total) }
    try Table.show(plan.rows, under: ["DONE", "SERVICE", "ACCOUNT", "FIELD"], footer: total)
  }
}
