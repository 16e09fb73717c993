internal import ArgumentParser
internal import Coffer

/// The options of every command.
struct CommonOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Keep everything under this folder (also COFFER_HOME).", valueName: "dir"))
  var home: String?

  @Flag(name: [.long, .customShort("q")], help: "No notes on standard error, only errors.")
  var quiet = false

  @Flag(help: ArgumentHelp("Answer yes to every question.", visibility: .hidden))
  var yes = false

  /// Whether an unparsable command line asked for JSON, so that its error is JSON too. For `set`, --json is a value's type.
  static func asksForJSON(_ arguments: [String]) -> Bool {
    guard LeadingOptions.moved(arguments).first != "set" else { return false }
    return arguments.prefix { $0 != "--" }.contains("--json")
  }
}

/// `--json`, for commands whose answer a program may read.
struct JSONOption: ParsableArguments {
  @Flag(help: "Answer in JSON, and errors in JSON on standard error.")
  var json = false
}

/// A command of this program: does its work with a session, and leaves every error to `Main`.
protocol Command: ParsableCommand {
  var common: CommonOptions { get }
  var wantsJSON: Bool { get }
  /// Whether the command starts another program, which may need the rights of a set-user-id file.
  static var startsPrograms: Bool { get }
  func perform(_ session: Session) throws
}

extension Command {
  var wantsJSON: Bool { false }
  static var startsPrograms: Bool { false }
}

/// What a command works with.
final class Session {
  let places: Places
  let quiet: Bool
  let json: Bool
  let yes: Bool
  let input = StandardInput()

  init(_ options: CommonOptions, json: Bool) throws {
    // Through the environment, so that the library and every child process agree on the place.
    if let home = options.home { try ProcessEnvironment.set("COFFER_HOME", home) }
    places = try Places.standard()
    quiet = options.quiet
    self.json = json
    yes = options.yes
    LibraryNotices.bootstrap(quiet: quiet)
  }

  /// Says something that is not an error, unless --quiet.
  func note(_ text: String) {
    if !quiet { Output.message("coffer: note: \(text)") }
  }
}
