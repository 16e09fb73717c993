internal import ArgumentParser
internal import Coffer
internal import CofferAgent
internal import CofferDefaults
internal import CofferFormats
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

struct StatusCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show the vault, its last backup, the agent, logins and preferences.",
    discussion: """
      Only --details and --logins unlock the vault. Logins and the number of items are known while an agent holds it unlocked. \
      Each option shows one part alone. --agent exits with 1 if no agent runs and with 69 if it does not hold the vault; \
      --logins exits with 1 if nobody is logged in.
      """)

  @Flag(help: "The unlocked vault: items, generation, key epoch, pin, log, history and slots.") var details = false
  @Flag(help: "The agent: its vaults and how long it holds them.") var agent = false
  @Flag(help: "Logins: hosts and accounts, the active ones, and when tokens expire. Never a token.") var logins = false
  @Flag(help: "The paths in use. COFFER_HOME or --home moves them; otherwise the XDG variables apply.") var paths = false
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  func validate() throws {
    guard [details, agent, logins, paths].filter(\.self).count <= 1 else {
      throw ValidationError("give one part, or none for all")
    }
  }

  func perform(_ context: Context) throws {
    if details { return try VaultDetails.show(context) }
    if agent { return try AgentDetails.show(context) }
    if logins { return try LoginTable.show(context) }
    if paths { return try Self.showPaths(context) }
    try showAll(context)
  }

  private func showAll(_ context: Context) throws {
    let domains = try DefaultsDomain.list(in: context.places.defaults).map(\.name)
    let vault: LockedVault?
    do { vault = try context.lockedVault() } catch let error as StoreError
      where error.kind == .noVault && error.remedy != .returnVault && !context.readsMirror
    { vault = nil }
    let held = try held(context)
    let answer = Answer(
      vault: vault.map { vault in
        Answer.Vault(
          path: vault.place.description, id: vault.id.description, format: vault.formatVersion,
          slots: vault.slots.map(\.kind.description), problem: vault.ageProblem.map { "\($0.what); \($0.cure ?? "")" })
      }, agent: AgentReport(try context.agentStatus()), session: held?.logins, uses: held?.uses,
      ended: held.flatMap { $0.ended.isEmpty ? nil : $0.ended }, domains: domains)
    if options.json { return try Output.json(answer) }
    let backup = vault.flatMap { LastBackup(of: $0.id, context.places) }
    if Output.isTerminal { return try Pager.show(sheet(answer, held?.contents ?? "", backup, context, .output)) }
    try Output.line(text(answer, backup, context))
  }

  private static func showPaths(_ context: Context) throws {
    let places = context.places
    let rows = [
      ("vault", places.vault.text), ("defaults", places.defaults.appending("<domain>.plist").string),
      ("state", places.state.string), ("run", places.run.string),
    ]
    guard !context.json else { return try Output.json(Dictionary(uniqueKeysWithValues: rows)) }
    try Sheet.show(rows.map { [$0.0, $0.1] })
  }

  /// Nil if no agent holds the vault unlocked.
  private func held(_ context: Context) throws -> (logins: [LoginJSON], contents: String, uses: String?, ended: [String])? {
    context.questions = .nowhere
    do {
      guard let agent = try context.agent() else { return nil }
      let items = try context.items()
      return (
        try AuthAccounts(items: items).logins().map(LoginJSON.init),
        try Output.isTerminal && !options.json ? contents(items) : "", try uses(agent),
        try agent.ask(Calls.describe).status.slots.filter(\.hasEnded).map(\.label)
      )
    } catch let error as StoreError where [.locked, .noAgent].contains(error.kind) { return nil }  // It locked in between.
    catch let error as Failure where error.status == .locked { return nil }
  }

  /// Why the log of uses lacks rows; nil if it does not, and from an agent that keeps none.
  private func uses(_ agent: AgentClient) throws(StoreError) -> String? {
    do throws(StoreError) {
      return try agent.ask(Calls.uses, 0).lazy.compactMap { if case .note(let text) = $0 { text } else { nil } }.first
    } catch {
      guard error.kind == .unsupported else { throw error }
      return nil
    }
  }

  private func text(_ answer: Answer, _ backup: LastBackup?, _ context: Context) -> String {
    var rows: [[String]] = []
    if let vault = answer.vault {
      rows.append(["vault", vault.path])
      rows.append(["", "id \(vault.id), format \(vault.format)"])
      rows.append(["", "opens with: \(vault.slots.joined(separator: ", "))"])
      if let problem = vault.problem { rows.append(["", "problem: \(problem)"]) }
      if let backup { rows.append(["backup", "\(Moment.text(backup.date))  \(backup.path)"]) }
    } else {
      rows.append(["vault", "none at \(context.places.vault); \(CommandText.coffer) init creates one"])
    }
    rows.append(["agent", answer.agent.summary])
    if let logins = answer.session {
      let active = logins.filter(\.active).map { "\($0.host) as \($0.account)\($0.expired ? " (expired)" : "")" }
      rows.append(["session", active.isEmpty ? "nobody is logged in" : "logged in to " + active.joined(separator: ", ")])
    }
    if let uses = answer.uses { rows.append(["uses", uses]) }
    if let ended = answer.ended { rows.append(["members", Self.text(ended: ended)]) }
    rows.append([
      "domains", answer.domains.isEmpty ? "none in \(context.places.defaults)" : answer.domains.joined(separator: ", "),
    ])
    return Columns.align(rows)
  }

  private static func text(ended: [String]) -> String {
    "the last day is over: \(ended.map(Printable.line).joined(separator: ", ")); \(CommandText.coffer) vault rotate removes them"
  }

  /// `412 items, 1 expired, 2 expire soon`
  private func contents(_ items: VaultItems) throws -> String {
    let found = try items.find(ItemQuery(otherThan: LoginItems.pointers))
    let time = LocalTime(), soon = time.now + AuditTime.month.seconds
    var (expired, ending) = (0, 0)
    for position in 0..<found.count {
      guard let moment = try found[position].metadata.expires, moment < soon else { continue }
      if moment <= time.now { expired += 1 } else { ending += 1 }
    }
    return "\(grouped(found.count)) item\(found.count == 1 ? "" : "s")" + (expired > 0 ? ", \(grouped(expired)) expired" : "")
      + (ending > 0 ? ", \(grouped(ending)) expire\(ending == 1 ? "s" : "") soon" : "")
  }

  private static let oldBackup = 30.0 * 86_400

  private func backup(_ backup: LastBackup?, _ display: Display) -> String {
    guard let backup else { return Style.yellow.text("none yet", display) + "; \(CommandText.coffer) backup FILE creates one" }
    let time = LocalTime()
    let age = time.ago(backup.date)
    let isOld = time.now.timeIntervalSince(backup.date) > Self.oldBackup
    return (isOld ? Style.yellow.text(age, display) : age) + " (\(Printable.line(VaultPlace(backup.path).short)))"
  }

  /// A person knows a domain's name and not the vault's id.
  private func sheet(
    _ answer: Answer, _ contents: String, _ backup: LastBackup?, _ context: Context, _ display: Display
  ) -> String {
    var rows: [(name: String, text: String)] = []
    if let vault = answer.vault {
      let place = context.places.vault.short + (contents.isEmpty ? "" : "   \(contents)")
      rows = [("Vault", place), ("Opens by", vault.slots.joined(separator: ", "))]
      if !context.readsMirror { rows.append(("Backup", self.backup(backup, display))) }
      if let problem = vault.problem { rows.append(("Problem", Style.red.text(Printable.line(problem), display))) }
    } else {
      rows = [("Vault", "none at \(context.places.vault.short); \(CommandText.coffer) init creates one")]
    }
    rows.append(("Agent", answer.agent.short(display)))
    if let logins = answer.session {
      let active = logins.filter(\.active).map { login in
        Printable.line("\(login.host) as \(login.account)") + (login.expired ? Style.red.text(" (expired)", display) : "")
      }
      rows.append(("Logins", active.isEmpty ? "none" : active.joined(separator: ", ")))
    }
    if let uses = answer.uses { rows.append(("Uses", Style.red.text(Printable.line(uses), display))) }
    if let ended = answer.ended { rows.append(("Members", Style.red.text(Self.text(ended: ended), display))) }
    let domains = answer.domains.map(Printable.line)
    rows.append(("Preferences", domains.isEmpty ? "none" : domains.joined(separator: ", ")))
    return Sheet.text(rows, display)
  }

  private struct Answer: Encodable {
    let vault: Vault?
    let agent: AgentReport
    let session: [LoginJSON]?
    let uses: String?
    /// The labels of members whose last day is over.
    let ended: [String]?
    let domains: [String]
    struct Vault: Encodable {
      let path: String, id: String, format: Int, slots: [String]
      /// Why commands refuse to open it.
      let problem: String?
    }
  }
}

extension LockedVault {
  /// Objections of this machine that need no key.
  var ageProblem: Failure? {
    do throws(StoreError) {
      try checkAge()
      return nil
    } catch { return Failure(error) }
  }
}
