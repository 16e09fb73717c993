internal import ArgumentParser
internal import CofferPlatform
internal import CofferTerminal

struct HelperCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "helper", abstract: "Store and serve the credentials of other programs.",
    discussion: "Other programs call these commands; 'coffer install' puts the names that they look for on PATH.",
    subcommands: [
      CredentialGitCommand.self, CredentialDockerCommand.self, CredentialAWSCommand.self, CredentialKubectlCommand.self,
      CredentialAskpassCommand.self, CredentialCargoCommand.self, CredentialKeyringCommand.self, CredentialAgeCommand.self,
    ])
}

struct CredentialGitCommand: HotCommand {
  static let configuration = CommandConfiguration(
    commandName: "git",
    abstract: "Speak git's credential protocol: get, store, erase, capability.",
    discussion: """
      With git-credential-coffer on PATH, 'git config --global credential.helper coffer' is all that git needs; its full path in \
      place of 'coffer' works in cron jobs too. A credential is an item: its service is the protocol and host, \
      https://github.com, its account the user. 'coffer set https://github.com ada' stores one by hand. Without one, git gets \
      the login of the host, else the item github.com itself. With credential.useHttpPath the path is part of the service. \
      Without a user, git gets the credential written last. An expired one is never returned. erase removes a password only if \
      git sends the same one. store never asks: while the vault is locked it does nothing. With GIT_TERMINAL_PROMPT=0 nothing is \
      asked at the terminal.
      """)

  @Argument(help: "get, store, erase or capability; others are ignored, as the protocol requires.") var operation: String
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: CommonOptions

  private var readsDescription: Bool { ["get", "store", "erase"].contains(operation) }

  func claimInput(_ context: Context) throws {
    if readsDescription { try context.input.claim(for: "the credential's description") }
  }

  func perform(_ context: Context) throws {
    guard operation != "capability" else { return try Output.write("version 0\ncapability authtype\ncapability state\n") }
    guard readsDescription else { return }
    if !Self.asksAtTerminal { context.questions = .notAtTerminal }
    let message = try GitMessage(from: 0)
    guard let service = GitHelper.service(message) else { return }
    guard operation != "store" else { return try store(service, message, context) }
    context.reason =
      operation == "get" ? "git wants the password of \(service)." : "git wants to forget the password of \(service)."
    let helper = GitHelper(items: try context.itemsToRead(), message: message, context: context)
    if operation == "get" { try helper.get(service) } else { try helper.erase(service) }
  }

  /// Git reports a used credential after every fetch, mostly a stored one, so nothing is asked.
  private func store(_ service: String, _ message: GitMessage, _ context: Context) throws {
    context.questions = .nowhere
    do { try GitHelper(items: try context.itemsToRead(), message: message, context: context).store(service) } catch {
      guard Failure.of(error)?.status == .locked else { throw error }
      if isatty(STDERR_FILENO) == 1 { context.note("the vault is locked; git's password was not stored") }
    }
  }

  /// Source: git(1), `GIT_TERMINAL_PROMPT`, which is a boolean as in git-config(1): false means that nobody is at the
  /// terminal.
  private static var asksAtTerminal: Bool {
    guard let value = ProcessEnvironment.value("GIT_TERMINAL_PROMPT") else { return true }
    return !["0", "false", "no", "off"].contains(value.lowercased())
  }

  mutating func take(_ line: inout HotLine) -> Bool {
    guard let operation = line.word() else { return false }
    (self.operation, unlocking, options) = (operation, line.unlockingOptions(), line.commonOptions())
    return true
  }
}

struct CredentialDockerCommand: HotCommand {
  static let configuration = CommandConfiguration(
    commandName: "docker",
    abstract: "Speak docker's credential protocol: store, get, erase, list, version.",
    discussion: """
      With docker-credential-coffer on PATH, "credsStore": "coffer" in ~/.docker/config.json is all that docker needs. A \
      credential is the item docker:SERVER, one for each server. Without one, get gives git's credential for https://SERVER. \
      Errors go to standard output with exit status 1, where docker's clients look for them.
      """)

  @Argument(help: "store, get, erase, list or version.") var action: String?
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: CommonOptions

  private var known: DockerHelper.Action? { action.flatMap(DockerHelper.Action.init(rawValue:)) }

  func claimInput(_ context: Context) throws { if let known, known != .list { try context.input.claim(for: "docker's request") } }

  func perform(_ context: Context) throws {
    if action == "version" { return try Output.line("docker-credential-coffer (coffer) v\(ProgramVersion.number)") }
    guard let word = action else { throw DockerHelper.Refusal.usage }
    guard let known else { throw DockerHelper.Refusal.unknownAction(word) }
    try DockerHelper(context: context).perform(known)
  }

  func failure(_ error: any Error) throws -> any Error {
    guard let failure = Failure.of(error), failure.status != .pipeClosed else { return error }
    let cure = failure.cure.map { "; try: \($0)" } ?? ""
    try Output.line(Printable.line(failure.detail.map { "\(failure.what): \($0)" } ?? failure.what) + cure)
    return Failure.said(.notFound)
  }

  mutating func take(_ line: inout HotLine) -> Bool {
    (action, unlocking, options) = (line.word(), line.unlockingOptions(), line.commonOptions())
    return true
  }
}
