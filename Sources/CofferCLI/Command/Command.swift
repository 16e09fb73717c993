internal import ArgumentParser
internal import CofferTerminal

/// A command of this program. `Main` opens its context, claims standard input for the passphrase, and makes an exit status
/// of every error.
///
/// Groups of options do not hold groups: in a debug build ArgumentParser checks a group anew for each group around it, and
/// options four groups deep made every start three times as long.
protocol Command: ParsableCommand {
  associatedtype Options: CommandOptions
  var options: Options { get }
  /// Nil for a command that opens nothing.
  var opening: UnlockingOptions? { get }
  /// Whether the command starts another program, which may need the rights of a set-user-id file.
  var startsPrograms: Bool { get }
  /// Common options that do nothing here; its help leaves them out.
  static var idleOptions: Set<String> { get }
  /// Claims standard input for the command, once everything that needs no input is checked.
  func claimInput(_ context: Context) throws
  func perform(_ context: Context) throws
  /// Reported in the place of `error`.
  func failure(_ error: any Error) throws -> any Error
}

extension Command {
  var opening: UnlockingOptions? { nil }
  var startsPrograms: Bool { false }
  static var idleOptions: Set<String> { ["yes"] }
  func claimInput(_ context: Context) throws {}
  func failure(_ error: any Error) throws -> any Error { error }

  func answer(json: Bool) throws {
    LibraryNotices.bootstrap(quiet: options.quiet)
    let context = try Context(
      home: options.home, vault: options.vault, quiet: options.quiet, json: json, yes: options.yes, unlocking: opening)
    do {
      try claimInput(context)
      try CredentialSources(context).claimInput()
      try perform(context)
    } catch { throw try failure(error) }
  }
}

/// A command that may ask whether to go on. Few do.
protocol AskingCommand: Command {}

extension AskingCommand { static var idleOptions: Set<String> { [] } }

protocol OpeningCommand: Command { var unlocking: UnlockingOptions { get } }

extension OpeningCommand { var opening: UnlockingOptions? { unlocking } }

protocol CommandOptions: ParsableArguments {
  var home: String? { get }
  var vault: String? { get }
  var quiet: Bool { get }
  var yes: Bool { get }
  var json: Bool { get }
}

/// For an answer that no program reads.
struct CommonOptions: CommandOptions {
  @Option(help: .home) var home: String?
  @Option(help: .vault) var vault: String?
  @Flag(name: .quiet, help: .quiet) var quiet = false
  @Flag(help: .yes) var yes = false

  var json: Bool { false }
}

/// For an answer that a program may read.
struct AnswerOptions: CommandOptions {
  @Flag(help: "Print JSON, and errors in JSON on standard error.") var json = false
  @Option(help: .home) var home: String?
  @Option(help: .vault) var vault: String?
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
  fileprivate static var yes: ArgumentHelp { "Answer yes where the command would ask whether to go on." }
}

extension NameSpecification { fileprivate static var quiet: NameSpecification { [.long, .customShort("q")] } }
