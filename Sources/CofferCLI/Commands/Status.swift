internal import ArgumentParser
internal import Coffer
internal import CofferDefaults
internal import CofferTerminal
internal import CofferVault

struct StatusCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "One screen: the vault, what opens it, the agent, logins, and the domains of preferences.",
    discussion: "Unlocks nothing and asks for nothing; logins are told where the agent holds the vault unlocked.")

  static var idleOptions: Set<String> { ["yes"] }

  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let domains = try DefaultsDomain.list(in: context.places.defaults).map(\.name)
    let vault: LockedVault?
    do { vault = try context.lockedVault() } catch let error as StoreError {
      guard error.kind == .noVault, !context.readsMirror else { throw error }
      vault = nil
    }
    let answer = Answer(
      vault: vault.map { vault in
        Answer.Vault(
          path: vault.place.description, id: vault.id.description, format: vault.formatVersion,
          slots: vault.slots.map(\.kind.description), problem: vault.ageProblem.map { "\($0.what); \($0.cure ?? "")" })
      }, agent: AgentReport(try context.agentStatus()), session: try logins(context), domains: domains)
    if options.json { return try Output.line(JSONText.encode(answer)) }
    if Output.isTerminal { return try Pager.show(sheet(answer, context, .output)) }
    try Output.line(text(answer, context))
  }

  /// Nil if the agent does not know them.
  private func logins(_ context: Context) throws -> [LoginJSON]? {
    context.questions = .nowhere
    do {
      guard try context.agent() != nil else { return nil }
      return try AuthAccounts(items: try context.items()).logins().map(LoginJSON.init)
    } catch let error as StoreError where [.locked, .noAgent].contains(error.kind) { return nil }  // It locked in between.
    catch let error as Failure where error.status == .locked { return nil }
  }

  private func text(_ answer: Answer, _ context: Context) -> String {
    var rows: [[String]] = []
    if let vault = answer.vault {
      rows.append(["vault", vault.path])
      rows.append(["", "id \(vault.id), format \(vault.format)"])
      rows.append(["", "opens with: \(vault.slots.joined(separator: ", "))"])
      if let problem = vault.problem { rows.append(["", "problem: \(Printable.line(problem))"]) }
    } else {
      rows.append(["vault", "none at \(context.places.vault); coffer init makes one"])
    }
    rows.append(["agent", answer.agent.summary])
    if let logins = answer.session {
      let active = logins.filter(\.active).map { "\($0.host) as \($0.account)\($0.expired ? " (expired)" : "")" }
      rows.append(["session", active.isEmpty ? "nobody is logged in" : "logged in to " + active.joined(separator: ", ")])
    }
    rows.append([
      "domains", answer.domains.isEmpty ? "none in \(context.places.defaults)" : answer.domains.joined(separator: ", "),
    ])
    return Columns.align(rows)
  }

  /// For a person, who knows a domain's name and not the vault's id.
  private func sheet(_ answer: Answer, _ context: Context, _ display: Display) -> String {
    var rows: [(name: String, text: String)] = []
    if let vault = answer.vault {
      rows = [("Vault", context.places.vault.short), ("Opens by", vault.slots.joined(separator: ", "))]
      if let problem = vault.problem { rows.append(("Problem", Style.red.text(Printable.line(problem), display))) }
    } else {
      rows = [("Vault", "none at \(context.places.vault.short); coffer init makes one")]
    }
    rows.append(("Agent", answer.agent.short(display)))
    if let logins = answer.session {
      let active = logins.filter(\.active).map { login in
        Printable.line("\(login.host) as \(login.account)") + (login.expired ? Style.red.text(" (expired)", display) : "")
      }
      rows.append(("Logins", active.isEmpty ? "none" : active.joined(separator: ", ")))
    }
    let domains = answer.domains.map(Printable.line)
    rows.append(("Domains", domains.isEmpty ? "none in \(context.places.defaults)" : domains.joined(separator: ", ")))
    return Sheet.text(rows, display)
  }

  private struct Answer: Encodable {
    let vault: Vault?
    let agent: AgentReport
    let session: [LoginJSON]?
    let domains: [String]
    struct Vault: Encodable {
      let path: String, id: String, format: Int, slots: [String]
      /// Why commands refuse to open it.
      let problem: String?
    }
  }
}

extension LockedVault {
  /// This machine's objections to the vault, as far as they are known without a key.
  var ageProblem: Failure? {
    do throws(StoreError) {
      try checkAge()
      return nil
    } catch { return Failure(error) }
  }
}

struct EnvCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "env", abstract: "Print the paths in use.",
    discussion: "COFFER_HOME or --home moves all of them; otherwise the XDG variables apply.")

  @OptionGroup var options: AnswerOptions

  func perform(_ context: Context) throws {
    let places = context.places
    let rows = [
      ("vault", places.vault.text), ("defaults", places.defaults.appending("<domain>.plist").string),
      ("state", places.state.string), ("run", places.run.string),
    ]
    guard !options.json else {
      return try Output.line(JSONText.encode(Dictionary(uniqueKeysWithValues: rows)))
    }
    try Sheet.show(rows.map { [$0.0, $0.1] })
  }
}
