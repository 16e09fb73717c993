internal import ArgumentParser

struct AgentCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "agent", abstract: "The process that keeps the vault unlocked for your shells.",
    discussion: """
      'coffer unlock' starts it where none runs. It answers programs of the same user alone, hands out items and never the \
      vault's key, and locks after a time without use, after a working day, and when the machine was suspended.
      """,
    subcommands: [AgentStart.self, AgentStatusCommand.self, AgentStop.self, AgentInstall.self])
}
