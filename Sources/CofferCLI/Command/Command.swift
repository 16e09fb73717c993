internal import ArgumentParser

/// A command of this program: declares its options, and does its work with the context that `Main` opened for it. `Main` also
/// claims standard input for the passphrase, and makes an exit status of every error.
///
/// A command holds its groups of options itself, not in groups that hold groups. In a debug build ArgumentParser checks a group
/// anew for each group around it, four times each: options four groups deep made every start of the program three times as long.
protocol Command: ParsableCommand {
  associatedtype Options: CommandOptions
  var options: Options { get }
  /// The options for unlocking; nil for a command that opens nothing.
  var opening: UnlockingOptions? { get }
  /// Whether the command starts another program, which may need the rights of a set-user-id file.
  static var startsPrograms: Bool { get }
  /// The common options that do nothing here, and that its help leaves out.
  static var idleOptions: Set<String> { get }
  /// Claims standard input for input of the command's own, once it has checked whatever needs no input.
  func claimInput(_ context: Context) throws
  func perform(_ context: Context) throws
  /// The error that `Main` reports in the place of `error`.
  func failure(_ error: any Error) throws -> any Error
}

extension Command {
  var opening: UnlockingOptions? { nil }
  static var startsPrograms: Bool { false }
  /// Few commands ask whether they shall go on.
  static var idleOptions: Set<String> { ["yes"] }
  func claimInput(_ context: Context) throws {}
  func failure(_ error: any Error) throws -> any Error { error }

  /// Runs the command from its context to its last line of output.
  func answer(json: Bool) throws {
    let context = try Context(
      home: options.home, vault: options.vault, quiet: options.quiet, json: json, yes: options.yes, unlocking: opening)
    do {
      try claimInput(context)
      try CredentialSources(context).claimInput()
      try perform(context)
    } catch { throw try failure(error) }
  }
}

/// A command that opens the vault.
protocol OpeningCommand: Command {
  var unlocking: UnlockingOptions { get }
}

extension OpeningCommand {
  var opening: UnlockingOptions? { unlocking }
}

/// The options that every command has.
protocol CommandOptions: ParsableArguments {
  var home: String? { get }
  var vault: String? { get }
  var quiet: Bool { get }
  var yes: Bool { get }
  var json: Bool { get }
}

/// The options of a command whose answer no program reads.
struct CommonOptions: CommandOptions {
  @Option(help: .home) var home: String?
  @Option(help: .vault, completion: .file()) var vault: String?
  @Flag(name: .quiet, help: .quiet) var quiet = false
  @Flag(help: .yes) var yes = false

  var json: Bool { false }
}

/// The options of a command whose answer a program may read.
struct AnswerOptions: CommandOptions {
  @Flag(help: "Answer in JSON, and errors in JSON on standard error.") var json = false
  @Option(help: .home) var home: String?
  @Option(help: .vault, completion: .file()) var vault: String?
  @Flag(name: .quiet, help: .quiet) var quiet = false
  @Flag(help: .yes) var yes = false
}

extension ArgumentHelp {
  fileprivate static var home: ArgumentHelp {
    ArgumentHelp("Keep everything under this folder (also COFFER_HOME).", valueName: "dir")
  }
  fileprivate static var vault: ArgumentHelp {
    ArgumentHelp("The vault: a path, a name, a URL or mirror:FILE (also COFFER_VAULT).", valueName: "place")
  }
  fileprivate static var quiet: ArgumentHelp { "No notes on standard error, only errors." }
  fileprivate static var yes: ArgumentHelp { "Answer yes where the command would ask whether it shall go on." }
}

extension NameSpecification {
  fileprivate static var quiet: NameSpecification { [.long, .customShort("q")] }
}
