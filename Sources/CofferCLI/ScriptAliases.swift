internal import ArgumentParser

/// The aliases of commands, which the parser leaves out of its completion scripts: after an alias the commands of the group
/// would be offered again.
enum ScriptAliases {
  /// `script` for bash or zsh, whose functions are named after the commands, with the aliases added.
  static func added(to script: String) -> String { added(to: script, CofferCommand.self, "_coffer") }

  private static func added(to script: String, _ family: any ParsableCommand.Type, _ function: String) -> String {
    let commands = family.configuration.subcommands.filter { $0.configuration.shouldDisplay }
    guard !commands.isEmpty else { return script }
    let names = commands.compactMap { $0.configuration.commandName }.joined(separator: "|")
    let aliases = commands.flatMap { $0.configuration.aliases }
    var script = script
    if !aliases.isEmpty {
      // The pattern of a `case` with every name of the group.
      script = script.replacing("\n        \(names)", with: "\n        \((aliases + [names]).joined(separator: "|"))")
        .replacing("\n    \(names)", with: "\n    \((aliases + [names]).joined(separator: "|"))")
    }
    for command in commands {
      let name = "\(function)_\(command.configuration.commandName ?? "")"
      for alias in command.configuration.aliases {
        // Before the last lines, which run the script: zsh reads it at the first tab.
        script = "\(Self.head(of: script))\(function)_\(alias)() { \(name) \"${@}\"; }\n\n\(Self.rest(of: script))"
      }
      script = added(to: script, command, name)
    }
    return script
  }

  /// The first line must stay the first: zsh looks there for the command's name.
  private static func head(of script: String) -> Substring {
    guard script.hasPrefix("#compdef"), let end = script.firstIndex(of: "\n") else { return "" }
    return script[...end]
  }

  private static func rest(of script: String) -> Substring { script.dropFirst(head(of: script).count) }
}
