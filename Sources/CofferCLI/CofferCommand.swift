internal import ArgumentParser
internal import CofferTerminal

struct CofferCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "coffer",
    abstract: """
      Keeps secrets in an encrypted vault and preferences in plain files.
      'set NAME' stores a secret, 'set NAME VALUE --plain' a new preference.
      A secret is never an argument: it comes from a prompt, standard input or a file.
      """,
    discussion: """
      Start with 'coffer init'; 'coffer tour' is a demonstration on real files. \
      Data goes to standard output, messages to standard error, questions to the terminal. \
      Every exit status has one meaning: see 'coffer help exit-codes'.
      """,
    version: "coffer \(ProgramVersion.number)",
    groupedSubcommands: [
      CommandGroup(
        name: "Start",
        subcommands: [
          InitCommand.self, UnlockCommand.self, LockCommand.self, StatusCommand.self, DoctorCommand.self, RecoverCommand.self,
          TourCommand.self,
        ]),
      CommandGroup(
        name: "Items",
        subcommands: [
          SetCommand.self, GetCommand.self, ShowCommand.self, EditCommand.self, DeleteCommand.self, RenameCommand.self,
          CopyCommand.self, ListCommand.self, FindCommand.self, OneTimeCommand.self, HistoryCommand.self, RevertCommand.self,
          UndeleteCommand.self, GenerateCommand.self,
        ]),
      CommandGroup(
        name: "Copies",
        subcommands: [ImportCommand.self, ExportCommand.self, BackupCommand.self, RestoreCommand.self, MergeCommand.self]),
      CommandGroup(
        name: "Programs",
        subcommands: [
          RunCommand.self, InjectCommand.self, WatchCommand.self, LoginCommand.self, LogoutCommand.self, TokenCommand.self,
        ]),
      CommandGroup(
        name: "Groups",
        subcommands: [
          VaultCommand.self, DefaultsCommand.self, HelperCommand.self, SecretServiceCommand.self, SSHCommand.self,
          AgentCommand.self, ProviderCommand.self,
        ]),
      CommandGroup(
        name: "Program",
        subcommands: [
          InstallCommand.self, CompletionCommand.self, VersionCommand.self,
          ClipboardKeeperCommand.self,
        ]),
    ])
}
