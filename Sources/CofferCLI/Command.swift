internal import ArgumentParser

/// A command of this program: says what it takes, and does its work with a session that `Main` opened for it. `Main` also claims standard
/// input for the passphrase, and makes an exit status of every error.
protocol Command: ParsableCommand {
  associatedtype Options: CommandOptions
  var options: Options { get }
  /// Whether the command starts another program, which may need the rights of a set-user-id file.
  static var startsPrograms: Bool { get }
  /// Claims standard input for what comes from there beside the passphrase, after what can be judged before that.
  func claimInput(_ session: Session) throws
  func perform(_ session: Session) throws
  /// What `Main` is to tell of `error`.
  func failure(_ error: any Error) throws -> any Error
}

extension Command {
  static var startsPrograms: Bool { false }
  func claimInput(_ session: Session) throws {}
  func failure(_ error: any Error) throws -> any Error { error }

  /// The whole of a command, in a session of its own.
  func answer(json: Bool) throws {
    let session = try Session(options, json: json)
    do {
      try claimInput(session)
      try CredentialSources(session).claimInput()
      try perform(session)
    } catch { throw try failure(error) }
  }
}

/// The options that commands share: ``CommonOptions`` alone, ``AnswerOptions``, or one of them in ``Opening``.
protocol CommandOptions: ParsableArguments {
  var common: CommonOptions { get }
  var json: Bool { get }
  /// Nil for a command that opens nothing.
  var unlocking: UnlockingOptions? { get }
}

extension CommandOptions {
  var unlocking: UnlockingOptions? { nil }
}

/// The work of a command that has two names, done by what both take.
protocol CommandWork: CommandOptions {
  func claimInput(_ session: Session) throws
  func perform(_ session: Session) throws
}

extension CommandWork {
  func claimInput(_ session: Session) throws {}
}

extension Command where Options: CommandWork {
  func claimInput(_ session: Session) throws { try options.claimInput(session) }
  func perform(_ session: Session) throws { try options.perform(session) }
}

/// The options of every command.
struct CommonOptions: CommandOptions {
  @Option(help: ArgumentHelp("Keep everything under this folder (also COFFER_HOME).", valueName: "dir"))
  var home: String?

  @Flag(name: [.long, .customShort("q")], help: "No notes on standard error, only errors.")
  var quiet = false

  @Flag(help: "Answer yes where the command would ask whether it shall go on.")
  var yes = false

  var common: CommonOptions { self }
  var json: Bool { false }
}

/// The options of a command whose answer a program may read.
struct AnswerOptions: CommandOptions {
  @Flag(help: "Answer in JSON, and errors in JSON on standard error.")
  var json = false
  @OptionGroup var common: CommonOptions
}

/// The options of a command that opens the vault, before its others.
struct Opening<Others: CommandOptions>: CommandOptions {
  @OptionGroup(title: "Unlocking") var given: UnlockingOptions
  @OptionGroup var others: Others

  var common: CommonOptions { others.common }
  var json: Bool { others.json }
  var unlocking: UnlockingOptions? { given }
}
