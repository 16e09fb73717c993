internal import ArgumentParser

struct VaultCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "vault", abstract: "The encrypted store: items by service and account.",
    discussion: """
      An item is named by a service and an account, as in a keychain; a router key is the account of a service named after \
      its domain. ACCOUNT may be left out where one item matches.
      """,
    subcommands: [
      VaultInit.self, VaultSet.self, VaultGet.self, VaultShow.self, VaultList.self, VaultFind.self, VaultDelete.self,
      VaultRename.self,
      VaultCopyCommand.self, VaultEdit.self,
      VaultVerify.self, VaultStatusCommand.self, VaultLog.self, SlotCommand.self, VaultPassphrase.self, VaultRotate.self,
      IdentityCommand.self, VaultBackup.self, VaultRestore.self, VaultRepairCommand.self, VaultExport.self, VaultImport.self,
      PinCommand.self,
    ])
}
