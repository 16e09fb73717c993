internal import ArgumentParser
internal import Coffer

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// The process: hardened before it reads anything, one way in and one way out. Every error becomes an exit status here and
/// nowhere else.
@main
enum Main {
  static func main() {
    Hardening.apply()
    exit(run(Array(CommandLine.arguments.dropFirst())).rawValue)
  }

  static func run(_ arguments: [String]) -> ExitStatus {
    var json = CommonOptions.asksForJSON(arguments)
    do {
      try SecretArguments.refuse(arguments)
      if let help = try HelpTopic.answer(arguments) {
        try Output.line(help)
        return .done
      }
      var command = try CofferCommand.parseAsRoot(LeadingOptions.moved(arguments))
      guard let ours = command as? any Command else {
        try command.run()
        return .done
      }
      json = ours.wantsJSON
      if !type(of: ours).startsPrograms { Hardening.forbidNewPrivileges() }
      try ours.perform(Session(ours.common, json: json))
      return .done
    } catch {
      return report(error, arguments, json: json)
    }
  }

  /// Says on standard error what went wrong, or on standard output what was asked for (help, the version).
  static func report(_ error: any Error, _ arguments: [String] = [], json: Bool) -> ExitStatus {
    let failure: Failure
    switch error {
    case let error as Failure: failure = error
    case let error as StoreError: failure = Failure(error)
    case let error as SecretMemoryError: failure = Failure(StoreError(memory: error))
    case let error where CofferCommand.exitCode(for: error) == .success:
      do { try Output.write(CofferCommand.fullMessage(for: error).trimmedEnd + "\n") } catch { return report(error, json: json) }
      return .done
    default: failure = UsageError.explain(error, arguments)
    }
    if !failure.isQuiet { Output.message(json ? failure.json : failure.text) }
    return failure.status
  }
}
