internal import ArgumentParser

struct SSHCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ssh",
    abstract: "Have ssh and git use keys of the vault that no program reads.",
    discussion: """
      Answers as ssh's agent. A key is used by Coffer's agent alone: neither ssh nor this program gets it. A key may be for \
      some servers only, and may need a person's approval for each use.
      """,
    subcommands: [
      SSHNewCommand.self, SSHAddCommand.self, SSHListCommand.self, SSHEditCommand.self, SSHAllowCommand.self, SSHRunCommand.self,
      SSHInstallCommand.self, SSHAnswerCommand.self,
    ])
}
