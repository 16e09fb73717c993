internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault

/// Opens something with the secret of a vault's slot: with the sources, else with a person's, in three tries at most.
struct Opening: ~Copyable {
  private let context: Context
  private let slots: [SlotSummary]
  private let place: VaultPlace
  private let question: String
  private let given: CredentialSources.Given

  /// Reads the sources, without a question.
  ///
  /// - Parameter question: for the passphrase; that of `place` unless given.
  init(
    _ slots: [SlotSummary], of place: VaultPlace, _ context: Context, asking question: String? = nil, warning: Bool = false
  ) throws {
    (self.context, self.slots, self.place) = (context, slots, place)
    self.question = question ?? "Passphrase of \(place.short)"
    given = try CredentialSources(context, warning: warning).given(for: slots)
  }

  var needsPerson: Bool { given.lacksPassphrase }

  /// Lends the credentials to `body`, and others after wrong typed ones.
  ///
  /// - Parameter body: opens with the credentials; its second argument says whether a person typed them.
  /// - Throws: a failure with status 69 without a source or person; errors of `body`.
  borrowing func open<Result: ~Copyable>(_ body: (consuming Credentials, Bool) throws -> Result) throws -> Result {
    guard given.lacksPassphrase, let person = Person(context) else {
      guard !given.credentials.isEmpty else { throw CredentialSources.nothing(place) }
      let credentials = try given.credentials.copied()
      if credentials.passphrase != nil { context.spin("Unlocking") }
      defer { StatusLine.clear() }
      return try body(credentials, false)
    }
    let wrong = given.credentials.keyFile == nil ? "Wrong passphrase." : "Wrong passphrase or key file."
    return try advising { try asked(person, wrong, body) }
  }

  private borrowing func asked<Result: ~Copyable>(
    _ person: borrowing Person, _ wrong: String, _ body: (consuming Credentials, Bool) throws -> Result
  ) throws -> Result {
    try Question(question, reason: context.reason).asked(
      wrong: { error in (error as? StoreError)?.kind == .wrongSecret ? wrong : nil },
      { question in
        let credentials = try asking(person, question)
        context.spin("Unlocking")
        defer { StatusLine.clear() }
        return try body(credentials, true)
      })
  }

  /// After so many wrong passphrases, the person may have forgotten it.
  private borrowing func advising<Result: ~Copyable>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as StoreError where error.kind == .wrongSecret {
      throw StoreError(
        error.kind, error.what, key: error.key, place: error.place,
        cure: (hasRecoveryCode ? "coffer recover, if you forgot it. If" : "if")
          + " you are certain it is right, the vault file may have been altered; see 'coffer doctor'",
        underlying: error.underlying)
    }
  }

  private var hasRecoveryCode: Bool { slots.contains { $0.kind == .recoveryCode } }

  private borrowing func asking(_ person: borrowing Person, _ question: Question) throws -> Credentials {
    var credentials = try given.credentials.copied()
    let typed = try person.secret(question)
    // A code may be typed wherever a passphrase may. A passphrase may look like a code, so it is tried as both.
    if hasRecoveryCode, try RecoveryCode.isCode(typed) { credentials.recoveryCode = try typed.duplicate() }
    credentials.passphrase = try typed.asPassphrase(from: person.name)
    return credentials
  }
}

/// The person to ask for a secret: at the terminal, or before a program with its own window.
enum Person: ~Copyable {
  case atTerminal(Terminal)
  case before(Askpass)

  init?(_ context: Context) {
    switch context.questions {
    case .nowhere: return nil
    case .notAtTerminal:
      guard let program = Askpass.chosen(hasTerminal: false) else { return nil }
      self = .before(program)
    case .anywhere:
      let terminal = Terminal()
      if let program = Askpass.chosen(hasTerminal: terminal != nil) {
        self = .before(program)
      } else {
        guard let terminal else { return nil }
        self = .atTerminal(terminal)
      }
    }
  }

  var name: String {
    // Beside ``secret(_:)`` in one closure, the optimizer of Swift 6.3.1 crashes if this is inlined.
    @inline(never) get {
      switch self {
      case .atTerminal: "the terminal"
      case .before(let program): program.path
      }
    }
  }

  func secret(_ question: Question) throws -> SecretBytes {
    switch self {
    case .atTerminal(let terminal): try terminal.secret(question)
    case .before(let program): try program.secret(question)
    }
  }
}
