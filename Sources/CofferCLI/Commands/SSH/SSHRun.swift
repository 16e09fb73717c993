internal import ArgumentParser
internal import Coffer
internal import CofferAgent
internal import CofferPlatform
internal import CofferSSH
internal import CofferTerminal
internal import SystemPackage

struct SSHRunCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Answer ssh and git, in this process.",
    usage: "coffer ssh run [options] [-- COMMAND [WORDS …]]",
    discussion: """
      Listens where SSH_AUTH_SOCK shall point. Coffer's agent holds the keys, not this process. While the vault is locked, a \
      request waits: for this machine's secret, then for the program of --prompt, then for 'coffer unlock' at a terminal. After \
      --patience it fails. A question about a key goes to the program of --prompt, else to the terminal of the program that \
      asks, else to 'coffer ssh allow'. With a command, only that gets the socket, which ends with it, and the exit status is \
      the command's. Exits with 73 if another program listens there.
      """)

  @Option(
    help: ArgumentHelp("Listen at this path. [default: ssh.sock in the folder of the agent's socket]", valueName: "path"),
    completion: .file())
  var socket: String?
  @Option(help: ArgumentHelp("Offer this key alone, by its item's name; may be repeated.", valueName: "name"))
  var key: [String] = []
  @Option(help: ArgumentHelp("Offer the keys of this vault too: a path or a name; may be repeated.", valueName: "vault"))
  var also: [String] = []
  @OptionGroup var waiting: WaitingOptions
  @Argument(parsing: .postTerminator, help: "The command and its words.") var command: [String] = []
  @OptionGroup var options: CommonOptions

  var startsPrograms: Bool { !command.isEmpty }

  func perform(_ context: Context) throws {
    try context.checkIsNoMirror()
    // systemd would start it again and again.
    if ProcessEnvironment.value("LISTEN_PID") == nil { try UnlockingStarter.check(context.places.vault) }
    let face = try SSHFace(settings(context))
    guard command.isEmpty else { return try run(with: face, context) }
    // Before there are threads, so that only this one takes signals.
    let held = HeldSignals([SIGINT, SIGTERM, SIGHUP])
    let listener = try passedListener(context) ?? SSHListener(at: path(orNamed: SSHInstallCommand.socketName, context))
    context.note("answers ssh; export SSH_AUTH_SOCK=\(listener.path)")
    let service = Self.serve(face, listener)
    _ = held.wait()
    if let error = service.stop({ face.stop() }) { throw error }
  }

  private static func serve(_ face: SSHFace, _ listener: consuming SSHListener) -> ServiceThread {
    let listener = Handover(listener)
    return ServiceThread("ssh") { () throws(StoreError) in try face.run(on: listener.take()) }
  }

  private func run(with face: SSHFace, _ context: Context) throws {
    // Another one may run in the same folder.
    let listener = try SSHListener(at: path(orNamed: "ssh-\(getpid()).sock", context))
    var environment = ChildEnvironment()
    try environment.set("SSH_AUTH_SOCK", listener.path.string)
    let waiting = Handover(listener)
    // The parser has repaired words that are not UTF-8.
    let launch = Launch(words: CommandWords.last(command.count), environment: environment, files: [])
    var service: ServiceThread?
    defer { _ = service?.stop { face.stop() } }
    let ending = try MaskedCommand(nil).run(launch) { service = Self.serve(face, try waiting.take()) }
    if let error = service?.stop({ face.stop() }) { throw error }
    ending.leave()
  }

  /// - Parameter name: of the socket in the folder of the agent's, if no path is given.
  private func path(orNamed name: String, _ context: Context) throws -> FilePath {
    guard let socket else { return context.places.run.appending(name) }
    try GivenPath.check(socket)
    return try TrustedPath.absolute(FilePath(socket))
  }

  /// The socket of a service manager; nil if none started this process. Source: sd_listen_fds(3).
  private func passedListener(_ context: Context) throws -> SSHListener? {
    guard ProcessEnvironment.value("LISTEN_PID") == "\(getpid())", ProcessEnvironment.value("LISTEN_FDS") == "1" else {
      return nil
    }
    return try SSHListener(
      passed: SSHListener.firstPassed, path: path(orNamed: SSHInstallCommand.socketName, context))
  }

  private func settings(_ context: Context) throws -> SSHFaceSettings {
    guard let client = try context.possibleAgent() else {
      throw Failure.usage("keys are used in the agent alone", try: "coffer ssh run, without the options that avoid the agent")
    }
    let others = try also.map { name in
      let place = try VaultPlace.given(VaultNames(context: context).place(name)).absolute()
      return vault(
        AgentClient(folder: context.places.run, vault: place, options: VaultOptions(pins: nil)), at: place,
        UnlockingStarter(prompt: waiting.prompt, vault: place, context))
    }
    let own = vault(client, at: context.places.vault, UnlockingStarter(prompt: waiting.prompt, context))
    var settings = SSHFaceSettings(vaults: [own] + others)
    if !key.isEmpty { settings.keys = Set(key) }
    if let patience = waiting.patience { settings.patience = patience.duration }
    let note = context.notes
    settings.note = { (error: StoreError) in note("refused: \(error.kind == .noAgent ? "the vault is locked" : error.what)") }
    return settings
  }

  private func vault(_ client: AgentClient, at place: VaultPlace, _ starter: UnlockingStarter) -> SSHVault {
    var vault = SSHVault(client: client) { (mayAsk) throws(StoreError) in
      try UnlockingStarter.check(place)
      return try starter.start(mayAsk: mayAsk)
    }
    vault.hasOwnKey = starter.hasOwnKey
    guard starter.hasPrompt else { return vault }
    vault.startAsking = { (ticket) throws(StoreError) in try starter.start(["ssh", "answer", "\(ticket)"], mayAsk: true) }
    return vault
  }
}

/// `ssh run` starts it for each question, if a program asks.
struct SSHAnswerCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "answer", abstract: "Answer a question about a key by the program that asks for passphrases.",
    shouldDisplay: false)

  @Argument(help: "The question's ticket.") var ticket: UInt64
  @OptionGroup var options: CommonOptions

  func perform(_ context: Context) throws {
    guard let client = try context.possibleAgent(), var program = Askpass.chosen(hasTerminal: false) else {
      throw Failure.usage("no program asks", try: "coffer ssh allow")
    }
    guard let question = try client.questions().first(where: { $0.ticket == ticket }) else {
      throw StoreError(
        .notFound, "there is no such question", key: "\(ticket)", cure: "coffer ssh allow lists those that are open")
    }
    program.patience = .seconds(Int64(question.left))
    var asked = Question(question.choices, reason: question.sentence)
    for left in (0..<Question.tries).reversed() {
      do { return try client.allow(question.approval(program.secret(asked))) } catch let error as StoreError {
        guard error.kind == .wrongSecret, left > 0 else { throw error }
        asked = asked.again("This is not the vault's passphrase.", left: left)
      } catch {
        // Closing the window is an answer.
        try client.allow(.no(ticket))
        throw error
      }
    }
  }
}
