internal import ArgumentParser

struct VaultCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "vault", abstract: "Manage the vault: its slots, pins, log, members and upkeep.",
    discussion: """
      The commands for items also work here, and then never touch a preference: 'coffer vault get NAME' reads only items of the \
      vault.
      """,
    groupedSubcommands: [
      CommandGroup(
        name: "Upkeep",
        subcommands: [
          VaultLogCommand.self, VaultVerifyCommand.self, VaultRepairCommand.self, VaultAuditCommand.self,
          VaultPruneCommand.self, VaultUseCommand.self,
        ]),
      CommandGroup(name: "Machines", subcommands: [VaultSyncCommand.self, VaultCloneCommand.self, VaultMirrorCommand.self]),
      CommandGroup(
        name: "Unlocking",
        subcommands: [
          VaultPassphraseCommand.self, VaultRotateCommand.self, SlotCommand.self, PinCommand.self, VaultInviteCommand.self,
          VaultJoinCommand.self, VaultMembersCommand.self, VaultGrantCommand.self, IdentityCommand.self,
        ]),
    ])

  /// The verbs of the root that also stand behind `vault`, and there mean items alone.
  static let itemCommands: [any ParsableCommand.Type] = [
    SetCommand.self, GetCommand.self, ShowCommand.self, EditCommand.self, DeleteCommand.self, RenameCommand.self,
    CopyCommand.self, ListCommand.self, FindCommand.self, OneTimeCommand.self, HistoryCommand.self, RevertCommand.self,
    UndeleteCommand.self,
  ]
}
