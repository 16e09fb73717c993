internal import ArgumentParser
internal import CofferPlatform
internal import CofferTerminal

struct HelperCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "helper", abstract: "Keep the credentials of other programs.",
    discussion: "Those programs call these; 'coffer install' puts the names that they look for on PATH.",
    subcommands: [
      CredentialGitCommand.self, CredentialDockerCommand.self, CredentialAWSCommand.self, CredentialKubectlCommand.self,
      CredentialAskpassCommand.self, CredentialCargoCommand.self, CredentialKeyringCommand.self,
    ])
}

struct CredentialGitCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "git",
    abstract: "Speak git's credential protocol: get, store, erase, capability.",
    discussion: """
      With git-credential-coffer on PATH, 'git config --global credential.helper coffer' is all that git needs; with the path of \
      git-credential-coffer in the place of the word, jobs of cron find it too. A credential is the item whose service is the \
      protocol and host, https://github.com, and whose account is the user; 'coffer set https://github.com ada' stores one \
      by hand. Where there is none the login of the host is meant, and else the item github.com itself. With \
      credential.useHttpPath the path is part of the service. Without a user the credential that was written last is given. An \
      expired one is not; erase removes a password only if it is the one that was refused. store asks nobody: while \
      the vault is locked it does nothing. With GIT_TERMINAL_PROMPT=0 nothing is asked at the terminal.
      """)

  @Argument(help: "get, store, erase or capability; any other is ignored, as the protocol wants it.") var operation: String
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
    switch operation {
    case "get": try helper.get(service)
    default: try helper.erase(service)
    }
  }

  /// Stores a credential that git used with success. Git reports one after every fetch, mostly a stored one, so nothing is
  /// asked.
  private func store(_ service: String, _ message: GitMessage, _ context: Context) throws {
    context.questions = .nowhere
    do { try GitHelper(items: try context.itemsToRead(), message: message, context: context).store(service) } catch {
      guard Failure.of(error)?.status == .locked else { throw error }
      if isatty(STDERR_FILENO) == 1 { context.note("the vault is locked, so it was not asked to keep git's password") }
    }
  }

  /// Source: git(1), `GIT_TERMINAL_PROMPT`, which is a boolean as in git-config(1): false means that nobody is at the
  /// terminal.
  private static var asksAtTerminal: Bool {
    guard let value = ProcessEnvironment.value("GIT_TERMINAL_PROMPT") else { return true }
    return !["0", "false", "no", "off"].contains(value.lowercased())
  }
}

struct CredentialDockerCommand: OpeningCommand {
  static let configuration = CommandConfiguration(
    commandName: "docker",
    abstract: "Speak docker's credential protocol: store, get, erase, list, version.",
    discussion: """
      With docker-credential-coffer on PATH, "credsStore": "coffer" in ~/.docker/config.json is all that docker needs. A \
      credential is the item of the service docker:SERVER; there is one for each server. Without one, get gives what git \
      would get for https://SERVER. Errors are on standard output, with exit status 1, because that is where docker's \
      clients look for them.
      """)

  @Argument(help: "store, get, erase, list or version.") var action: String?
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var options: CommonOptions

  private var known: DockerHelper.Action? { action.flatMap(DockerHelper.Action.init(rawValue:)) }

  func claimInput(_ context: Context) throws {
    if let known, known != .list { try context.input.claim(for: "docker's request") }
  }

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
}

extension CredentialGitCommand: HotCommand {
  mutating func take(_ line: inout HotLine) -> Bool {
    guard let operation = line.word() else { return false }
    (self.operation, unlocking, options) = (operation, line.unlockingOptions(), line.commonOptions())
    return true
  }
}

extension CredentialDockerCommand: HotCommand {
  mutating func take(_ line: inout HotLine) -> Bool {
    (action, unlocking, options) = (line.word(), line.unlockingOptions(), line.commonOptions())
    return true
  }
}
