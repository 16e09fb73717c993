internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault
internal import SystemPackage

struct MergeCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "merge", abstract: "Take over what is newer in another vault, a copy or a backup of this one.",
    discussion: """
      The other vault is read and not changed; unless --other-… names what opens it, it is tried with what opens this one. Items \
      are the same by their id, or else by their name. What someone changed who knew the content of the other side stays; else \
      the newer value stays, the other one is kept as a former value, and the conflict is told. Renames and deletions are \
      followed. Logins are left out. All is done at once or nothing, and a second merge changes nothing. At a terminal the plan \
      is shown first, and a question asked. --dry-run only tells what would happen.
      """)

  static var idleOptions: Set<String> { [] }

  @Argument(help: ArgumentHelp("The other vault: its path, its URL or its name.", valueName: "place"), completion: .file())
  var path: String
  @Flag(help: "Change nothing, and print what would happen.") var dryRun = false
  @Flag(help: "List each item at a terminal too, where otherwise a total stands.") var verbose = false
  @OptionGroup(title: "History") var past: HistoryOptions
  @OptionGroup(title: "The other vault") var other: OtherVaultOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    try context.checkIsNoMirror()
    let path = try VaultNames(context: context).place(path)
    let other = OtherVault(path: path, options: other, context: context)
    try other.checkIsAnother(than: context.places.vault)
    var own = Credentials()
    let vault = try context.unlockedVault { own = try $0.copied() }
    let source = try other.unlock(beside: vault, orWith: own)
    let progress = context.progress(json: options.json, .comparing)
    defer { progress.clear() }
    if context.showsPlans {
      let plan = MergePlanText(try merge(source, into: vault, isTrial: true, progress, context))
      progress.clear()
      Output.message(try "\(title(source, vault))\n\(plan.text)")
      if verbose || plan.isShort { for remark in plan.remarks { Output.message("  \(remark)") } }
      guard try dryRun || plan.report.isEmpty || context.agrees("Merge them?") else {
        throw Failure(StoreError(.refused, "nothing was merged", cure: "y at the question, or --yes"))
      }
    }
    let report = try merge(source, into: vault, isTrial: dryRun, progress, context)
    progress.clear()
    try tell(MergePlanText(report), context)
    if dryRun { context.note("nothing was changed: this was --dry-run") }
  }

  /// - Parameter source: its key was found to be one that may be merged.
  private func merge(
    _ source: borrowing UnlockedVault, into vault: borrowing UnlockedVault, isTrial: Bool, _ progress: Progress,
    _ context: Context
  ) throws -> MergeReport {
    try vault.merge(
      source, keeping: past.keeping(nil, context), keptUntil: Settings(context).keptUntil, isTrial: isTrial,
      acceptingOlderKey: true, leavingOut: \.isOfLogin, progress: progress.show)
  }

  private func title(_ source: borrowing UnlockedVault, _ vault: borrowing UnlockedVault) throws -> String {
    let (other, own) = try (source.status(), vault.status())
    let kin =
      source.id == vault.id
      ? "the same vault at generation \(other.generation), this one is at \(own.generation)" : "another vault"
    return "\(Printable.line(source.place.description)), \(kin): \(counted(other.items, "item"))"
  }

  private func tell(_ plan: MergePlanText, _ context: Context) throws {
    if options.json { return try Output.line(JSONText.encode(plan.answer)) }
    if !context.showsPlans { for remark in plan.remarks { context.note(remark) } }
    let total = (dryRun ? "" : Sign.doneAtTerminal) + plan.total(isTrial: dryRun)
    guard !Output.isTerminal || verbose else { return try Output.line(total) }
    try Table.show(plan.rows, under: ["DONE", "SERVICE", "ACCOUNT", "FIELD"], footer: total)
  }
}
