internal import ArgumentParser
internal import CofferPlatform
internal import CofferPostgres
internal import CofferTerminal

/// The process: hardened before it reads anything, with one way in and one way out. Errors become exit statuses only here.
@main
enum Main {
  static func main() {
    Hardening.apply()
    EnvironmentPassphrase.take()
    // Before a place is read. libpq is loaded when a server's place is opened.
    PostgresVaults.use()
    let line = CommandWords.all
    // Without its words every command would print the help instead, and have done nothing.
    guard !line.isEmpty else { exit(report(unreadableWords, nil).rawValue) }
    exit((run(hot: line) ?? run(Arguments(line))).rawValue)
  }

  private static let unreadableWords = Failure(
    .io, kind: "io", "the arguments of the program cannot be read", cure: "mount /proc; nothing was done")

  /// Nil if ArgumentParser must read the line.
  private static func run(hot line: [ByteWord]) -> ExitStatus? {
    guard let command = HotWords.command(line) else { return nil }
    do {
      try ProcessEnvironment.refuseUnreadable()
      try perform(command, json: command.options.json)
      return .done
    } catch {
      return report(error, Arguments(line))
    }
  }

  private static func run(_ arguments: Arguments) -> ExitStatus {
    do {
      // A word that is being typed is refused when it is entered.
      if let answer = try TabAnswer.text(to: arguments.given) {
        try Output.line(answer)
        return .done
      }
      if let refusal = arguments.refusal { throw refusal }
      if let text = try arguments.topic() {
        try Pager.show(text)
        return .done
      }
      try ProcessEnvironment.refuseUnreadable()
      var command = try parse(arguments)
      guard let ours = command as? any Command else {
        // Only ``ClipboardKeeper`` starts its command. The rest is a group, or the parser's --help.
        if arguments.asksTree || command is ClipboardKeeperCommand { try command.run() } else { try arguments.help().show() }
        return .done
      }
      try perform(ours, json: arguments.wantsJSON)
      return .done
    } catch {
      return report(error, arguments)
    }
  }

  private static func perform(_ command: any Command, json: Bool) throws {
    if !command.startsPrograms { Hardening.forbidNewPrivileges() }
    try command.answer(json: json)
  }

  /// Parses the words by their own command: with the whole tree of commands ArgumentParser takes twice the time, and builds
  /// the tree again for each error. Help (for full names) and the version need the tree.
  static func parse(_ arguments: Arguments) throws -> any ParsableCommand {
    guard arguments.namesLeaf else { return try CofferCommand.parseAsRoot(arguments.words) }
    do {
      let command = try arguments.command.parseAsRoot(Array(arguments.rest))
      // For --help another command comes back.
      if type(of: command) == arguments.command { return command }
    } catch {
      // Without any words the parser would add the help, and with the wrong name.
      guard arguments.asksTree || arguments.rest.isEmpty else { throw UsageError.explain(error, arguments) }
    }
    return try CofferCommand.parseAsRoot(arguments.words)
  }

  /// - Parameter arguments: nil if they could not be read.
  private static func report(_ error: any Error, _ arguments: Arguments?) -> ExitStatus {
    guard let failure = failure(error, arguments) else {
      // Only newlines: a reply for zsh ends in a blank, which its script removes.
      let text = CofferCommand.fullMessage(for: error).reversed().drop { $0 == "\n" }.reversed()
      do { try Output.write(String(text) + "\n") } catch { return report(error, arguments) }
      return .done
    }
    // Under any of its names.
    let isRun = arguments.map { $0.command == RunCommand.self } ?? false
    let said = isRun ? failure.beforeCommand : failure
    if said.isQuiet { return said.status }
    if arguments?.wantsJSON == true {
      Output.record(said.json)
    } else {
      Output.message(said, cure: said.command(after: arguments?.given ?? []))
    }
    return said.status
  }

  /// Nil if the parser prints help or the version.
  static func failure(_ error: any Error, _ arguments: Arguments? = nil) -> Failure? {
    if let failure = Failure.of(error) { return failure }
    return CofferCommand.exitCode(for: error) == .success ? nil : UsageError.explain(error, arguments)
  }
}
