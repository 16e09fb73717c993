internal import ArgumentParser
internal import Coffer
internal import CofferMemory
internal import CofferPlatform
internal import FoundationEssentials
internal import SystemPackage

/// The process: hardened before it reads anything, one way in and one way out. Every error becomes an exit status here and
/// nowhere else.
@main
enum Main {
  static func main() {
    Hardening.apply()
    let words = CommandWords.all.map(\.text)
    // Without its words every command would be the one that prints the help, and has done nothing.
    guard !words.isEmpty else { exit(report(unreadableWords, json: false).rawValue) }
    exit(run(CommandWords.split(ProgramName.arguments(words))).rawValue)
  }

  private static let unreadableWords = Failure(
    .io, kind: "io", "the arguments of the program cannot be read", cure: "mount /proc; nothing was done")

  static func run(_ arguments: [String]) -> ExitStatus {
    let json = CommonOptions.asksForJSON(arguments)
    do {
      try CommandWords.refuseUnreadable(arguments)
      try SecretArguments.refuse(arguments)
      try AppleWords.refuse(arguments)
      if let help = try HelpTopic.answer(arguments) {
        try Output.line(help)
        return .done
      }
      if arguments == ["--version"] {
        try Output.line(CofferCommand.configuration.version)
        return .done
      }
      try ProcessEnvironment.refuseUnreadable()
      var command = try parse(LeadingOptions.line(arguments))
      guard let ours = command as? any Command else {
        try command.run()
        return .done
      }
      if !type(of: ours).startsPrograms { Hardening.forbidNewPrivileges() }
      try ours.answer(json: json)
      return .done
    } catch {
      return report(error, arguments, json: json)
    }
  }

  /// A command that is named in full is parsed by itself, which takes half the time of going through the tree above it. Whatever
  /// that does not answer is the whole tree's to answer: it knows help and errors by their full names.
  ///
  /// A root without a `_superCommandName` is parsed twice more by ArgumentParser, for requests of a completion script, which takes as
  /// long as the line itself: the commands that scripts and other programs run often have one.
  private static func parse(_ line: LeadingOptions.Line) throws -> any ParsableCommand {
    if line.depth > 0, line.command.configuration.subcommands.isEmpty {
      do {
        let command = try line.command.parseAsRoot(Array(line.words.dropFirst(line.depth)))
        // For --help another command comes back, which would leave out the names above.
        if type(of: command) == line.command { return command }
      } catch {}
    }
    return try CofferCommand.parseAsRoot(line.words)
  }

  /// Says on standard error what went wrong, or on standard output what was asked for (help, the version).
  private static func report(_ error: any Error, _ arguments: [String] = [], json: Bool) -> ExitStatus {
    guard let failure = failure(error, arguments) else {
      // Newlines alone: the last line of what zsh asked for is a blank, which its script takes away.
      let text = CofferCommand.fullMessage(for: error).reversed().drop { $0 == "\n" }.reversed()
      do { try Output.write(String(text) + "\n") } catch { return report(error, json: json) }
      return .done
    }
    let isRun = LeadingOptions.moved(arguments).first == RunCommand.configuration.commandName
    let said = isRun ? failure.beforeCommand : failure
    if !said.isQuiet { Output.message(json ? said.json : said.text) }
    return said.status
  }

  /// What `error` means to who called; nil for what the parser throws to print help or the version.
  static func failure(_ error: any Error, _ arguments: [String] = []) -> Failure? {
    switch error {
    case let error as Failure: error
    case let error as StoreError: Failure(error)
    case let error as SecretMemoryError: Failure(StoreError(memory: error))
    case let error as CocoaError:
      Failure(StoreError(.io(EIO), "a file could not be handled", cure: "see the cause", underlying: error))
    case let error as Errno: Failure(StoreError(errno: error.rawValue, "finish", place: "a file"))
    case let error where CofferCommand.exitCode(for: error) == .success: nil
    default: UsageError.explain(error, arguments)
    }
  }
}
