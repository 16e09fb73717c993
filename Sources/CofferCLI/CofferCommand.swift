internal import ArgumentParser
internal import CofferTerminal

struct CofferCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "coffer",
    abstract: """
      Keeps secrets in an encrypted vault and preferences in plain files.
      set and get choose the store; vault and defaults name it.
      A secret is never an argument: it comes from input, a file or a prompt.
      """,
    discussion: """
      Start with 'coffer tour', which does the main job on real files and explains it, or with 'coffer init'. \
      Data goes to standard output, messages to standard error, questions to the terminal. \
      Every exit status has one meaning: see 'coffer help exit-codes'.
      """,
    version: "coffer \(ProgramVersion.number)",
    groupedSubcommands: [
      CommandGroup(
        name: "Everyday",
        subcommands: [
          TourCommand.self, InitCommand.self, StatusCommand.self, SetCommand.self, GetCommand.self, DeleteCommand.self,
          ListCommand.self, ExplainCommand.self, KeysCommand.self, WatchCommand.self,
        ]),
      CommandGroup(name: "Vault", subcommands: [VaultCommand.self, RecoverCommand.self]),
      CommandGroup(name: "Preferences", subcommands: [DefaultsCommand.self]),
      CommandGroup(
        name: "Programs",
        subcommands: [
          RunCommand.self, InjectCommand.self, CredentialCommand.self, AuthCommand.self, LoginCommand.self, LogoutCommand.self,
          UnlockCommand.self, LockCommand.self, AgentCommand.self, GenerateCommand.self, DoctorCommand.self,
          SecretServiceCommand.self, InstallCommand.self, UninstallCommand.self, CompletionCommand.self, EnvCommand.self,
          VersionCommand.self,
          ClipboardKeeperCommand.self,
        ]),
    ])
}
