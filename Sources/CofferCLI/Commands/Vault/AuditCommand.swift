internal import ArgumentParser
internal import Coffer
internal import CofferAgent
internal import CofferFormats
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

struct VaultAuditCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "Find secrets that are weak, reused, old, about to expire, or seen by a removed member.",
    discussion: """
      Values are checked only in memory; neither they nor their hashes are printed, and no server is asked. Only passwords can \
      be weak or reused: lines of text that are not tokens. In a vault on a server or with members, secrets from before the \
      last removal of a slot are seen: change them at their services. Exits with 0 if nothing was found, and otherwise with 2.
      """)

  @Argument(help: "Only items of this service or below it, or the item of this name.", completion: Completions.services)
  var service: String?
  @Option(help: ArgumentHelp("Report secrets unchanged for this long: 365d, 52w. [default: 365d]", valueName: "time"))
  var old: AuditTime?
  @Option(help: ArgumentHelp("Report secrets that expire within this time: 30d, 12h. [default: 30d]", valueName: "time"))
  var expiring: AuditTime?
  @Flag(help: "Report seen secrets also where the vault is in a file and has no members.") var seen = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let now = Date()
    let items = try context.itemsToRead()
    var audit = try Audit(
      now: now, oldest: now - (old ?? .year).seconds, soonest: now + (expiring ?? .month).seconds,
      removal: removal(items, context))
    let all = try items.list().filter { !LoginItems.isPointer($0) && service.map($0.name.isMeant(by:)) ?? true }
    try context.showing(.auditing) { progress in
      for (index, item) in all.enumerated() {
        progress.show(index, all.count)
        // An item that was deleted or expired in between has no findings.
        guard audit.look(at: item), !item.metadata.isWithheld, let value = try Self.value(item, items) else { continue }
        try audit.look(at: value.bytes, of: item)
      }
    }
    let passwords = audit.passwords
    let findings = audit.finish()
    try answer(findings, items: all.count, passwords: passwords, context)
    guard findings.isEmpty else { throw Failure.said(.failed) }
  }

  /// When the last slot of a vault with members was removed, as far as its log goes back.
  private func removal(_ items: VaultItems, _ context: Context) throws -> Date? {
    let isShared = seen || context.places.vault.url != nil
    guard try isShared || context.lockedVault().slots.contains(where: { $0.kind == .recipient }) else { return nil }
    return try items.ask(Calls.log, nil).filter { $0.event == .slotRemoved }.map(\.date).max()
  }

  private static func value(_ item: VaultItem, _ items: VaultItems) throws -> SecretForm? {
    do { return try items.get(item.name) } catch let error as StoreError where error.kind == .expired { return nil }
  }

  private func answer(_ findings: [Audit.AuditFinding], items: Int, passwords: Int, _ context: Context) throws {
    if options.json { return try Output.json(Answer(findings: findings, items: items, passwords: passwords)) }
    let rest = "looked at, \(passwords) of them passwords; \(Self.counts(findings))"
    let total = "\(counted(items, "item")) \(rest)"
    guard !findings.isEmpty else { return context.note(total) }
    try Table.show(Self.table(findings, total), elsewhere: findings.map { [$0.kind.rawValue, $0.service, $0.account, $0.what] })
    if !Output.isTerminal { context.note(total) }
  }

  private static func table(_ findings: [Audit.AuditFinding], _ total: String, _ time: LocalTime = LocalTime()) -> Table {
    Table(
      columns: [.fixed("FOUND"), .text("SERVICE"), .text("ACCOUNT"), .text("WHY", rank: 1)],
      rows: findings.map { finding in
        [
          Table.Cell(finding.kind.rawValue, finding.kind == .expired ? .red : .yellow),
          Table.Cell(finding.service), Table.Cell(finding.account), Table.Cell(finding.words(time)),
        ]
      }, footer: total)
  }

  private static func counts(_ findings: [Audit.AuditFinding]) -> String {
    let counts = Audit.Kind.allCases.map { kind in (kind, findings.count { $0.kind == kind }) }.filter { $0.1 > 0 }
    return counts.isEmpty ? "nothing was found" : counts.map { "\($1) \($0.rawValue)" }.joined(separator: ", ")
  }

  private struct Answer: Encodable { let findings: [Audit.AuditFinding], items: Int, passwords: Int }
}
