internal import ArgumentParser
internal import Coffer
internal import CofferAgent
internal import CofferPlatform
internal import CofferSSH
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault

struct SSHAllowCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "allow", abstract: "Answer the open questions about keys, or permit a key's uses ahead.",
    discussion: """
      A question is open for a minute. Where nobody else can be asked, its program waits for --patience of 'coffer ssh run' \
      (20 s) alone. With KEY all uses that its rules admit need no answer for the time of \
      --time, until the vault is locked. A key with '--ask passphrase' needs the vault's passphrase.
      """)

  @Argument(help: ArgumentHelp("A key to permit ahead.", valueName: "key"), completion: Completions.names) var key: String?
  @Option(help: ArgumentHelp("How long KEY is permitted: up to 12h. [default: 10m]", valueName: "time")) var time: AgentTime?
  @OptionGroup var options: CommonOptions

  /// Of ``KeyApproval/Scope/time(seconds:)``.
  private static let longest = Duration.seconds(12 * 3600)

  func validate() throws {
    guard time == nil || key != nil else { throw ValidationError("--time needs a key") }
    guard time.map({ $0.duration <= Self.longest }) ?? true else { throw ValidationError("--time takes at most 12h") }
  }

  func perform(_ context: Context) throws {
    guard let key else { return try answer(context) }
    let agent = try context.keyAgent()
    let item = try ItemWords(service: key, account: nil).item(in: context.items())
    let seconds = time.map { UInt32(clamping: $0.duration.components.seconds) } ?? KeyApproval.Scope.shortTime
    try approve(agent, item.metadata.asking == KeyRules.Asking.passphrase.rawValue, context) {
      .ahead(item.name, seconds: seconds, passphrase: $0)
    }
    context.done("'\(item.name)' is allowed for \(time?.text ?? "10m")")
  }

  private func answer(_ context: Context) throws {
    guard let agent = try context.agent() else {
      try UnlockingStarter.check(context.places.vault)
      throw StoreError(.locked, "the vault is locked, so no key is in use", cure: "coffer unlock")
    }
    let questions = try agent.questions()
    guard !questions.isEmpty else { return context.told("there is no open question") }
    let rows = questions.enumerated().map { number, question in
      // Other programs and servers name themselves.
      ["\(number + 1)", Printable.line(question.asker), Printable.line(question.use), "at most \(question.left) s left"]
    }
    try Output.line(Columns.align(rows))
    guard let terminal = Terminal() else {
      throw Failure.usage("only a person can answer", try: "coffer ssh allow at a terminal")
    }
    for (number, question) in questions.enumerated() {
      let answer = try terminal.line("Allow \(number + 1)? \(KeyApproval.Scope.choices): ")
      if let scope = KeyApproval.Scope(typed: answer) {
        try approve(agent, question.needsPassphrase, context) { .yes(question.ticket, scope, passphrase: $0) }
      } else {
        try agent.allow(.no(question.ticket))
      }
    }
  }

  private func approve(
    _ agent: AgentClient, _ needsPassphrase: Bool, _ context: Context, _ approval: (SecretForm?) -> KeyApproval
  ) throws {
    guard needsPassphrase else { return try agent.allow(approval(nil)) }
    guard let person = Person(context) else {
      throw Failure.usage("this key needs the vault's passphrase", try: "coffer ssh allow at a terminal")
    }
    try Question("Passphrase of \(context.places.vault.short)").asked(
      wrong: { ($0 as? StoreError)?.kind == .wrongSecret ? "Wrong passphrase." : nil },
      { question in
        let typed = try person.secret(question).asPassphrase(from: person.name)
        try agent.allow(approval(SecretForm(typed)))
      })
  }
}

extension AgentClient {
  /// Those that wait for a person.
  func questions() throws(StoreError) -> [KeyQuestion] {
    try ask(Calls.uses, 0).compactMap { if case .question(let question) = $0 { question } else { nil } }
  }
}

extension KeyQuestion {
  /// The way of a forwarded use, or the program.
  fileprivate var asker: String {
    guard way.isEmpty else { return way }
    return program.isEmpty ? "an unknown program" : "\(program) (\(process))"
  }
  /// `login with 'github'`.
  var use: String { "\(purpose) with '\(key)'" }
}
