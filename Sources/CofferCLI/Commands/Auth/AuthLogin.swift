internal import ArgumentParser
internal import Coffer
internal import CofferPlatform

/// What a login takes, under either of its names.
struct LoginOptions: ParsableArguments {
  @Argument(help: "The host, for example github.com.") var host: String
  // Here only so that a token in the wrong place is refused with its reason, and not quoted by the parser.
  @Argument(help: .hidden) var surplus: [String] = []
  @Option(help: ArgumentHelp("Whose token it is, where a host knows several.", valueName: "name")) var account: String?
  @Flag(help: "Take the token from standard input.") var withToken = false
  @Option(help: ArgumentHelp("When the token stops being handed out: 30d, 12h, 2026-12-31.", valueName: "when"))
  var expires: String?
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption

  static let discussion = """
    The token comes from standard input with --with-token, else from the hidden prompt. It replaces the one of that account, \
    which becomes the active one of its host.
    """

  func perform(_ session: Session) throws {
    guard surplus.isEmpty else { throw SecretArguments.refusal("a token") }
    let host = try AuthHost.check(host)
    let account = try StoredName.check(account ?? AuthAccounts.unnamed, as: "account")
    let expires = try expires.map { try Expiry.parse($0) }
    try CredentialSources(options: unlocking, session: session).claimInput()
    if withToken { try session.input.claim(for: "the token") }
    let accounts = AuthAccounts(items: try session.items(unlocking))
    let token = try token(for: host)
    try accounts.store(token, host, account, expires: expires)
    session.note("logged in to \(Printable.line(host)) as \(Printable.line(account))")
  }

  private func token(for host: String) throws -> SecretBytes {
    guard withToken else {
      guard let terminal = Terminal() else {
        throw Failure.usage("there is no token, and no terminal to ask at", try: "--with-token, and the token on standard input")
      }
      return try terminal.secret("Token for \(Printable.line(host)): ")
    }
    let read = try SecretReader.read(
      STDIN_FILENO, limit: SecretReader.largestValue, what: "the token", place: "standard input")
    let token = try read.withoutTrailingNewline(.lineFeedOrCRLF)
    guard token.count > 0 else {
      throw Failure.usage("the token is empty", try: "the token on standard input; nothing was stored")
    }
    return token
  }
}

struct AuthLogin: Command {
  static let configuration = CommandConfiguration(
    commandName: "login", abstract: "Store a token for a host.", discussion: LoginOptions.discussion)
  @OptionGroup var options: LoginOptions
  @OptionGroup var common: CommonOptions
  func perform(_ session: Session) throws { try options.perform(session) }
}

struct LoginCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "login", abstract: "Log in to a host (the same as 'coffer auth login').", discussion: LoginOptions.discussion)
  @OptionGroup var options: LoginOptions
  @OptionGroup var common: CommonOptions
  func perform(_ session: Session) throws { try options.perform(session) }
}
