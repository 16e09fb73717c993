internal import ArgumentParser

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
