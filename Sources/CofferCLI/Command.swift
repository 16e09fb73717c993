internal import ArgumentParser

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

/// The options of every command.
struct CommonOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Keep everything under this folder (also COFFER_HOME).", valueName: "dir"))
  var home: String?

  @Flag(name: [.long, .customShort("q")], help: "No notes on standard error, only errors.")
  var quiet = false

  @Flag(help: "Answer yes where the command would ask whether it shall go on.")
  var yes = false

  /// Whether a command line asks for JSON, even one that cannot be parsed: its error is JSON then. After `set`, --json is the
  /// type of a value.
  static func asksForJSON(_ arguments: [String]) -> Bool {
    let isSet = LeadingOptions.moved(arguments).first == "set"
    return arguments.prefix { $0 != "--" && !(isSet && $0 == "set") }.contains("--json")
  }
}

/// `--json`, for commands whose answer a program may read.
struct JSONOption: ParsableArguments {
  @Flag(help: "Answer in JSON, and errors in JSON on standard error.")
  var json = false
}
