internal import ArgumentParser
internal import Coffer
internal import CofferStorage
internal import CofferVault

/// Each file of the family lists its own commands, in the order of the help.
struct VaultCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "vault", abstract: "The encrypted store: items by service and account.",
    discussion: """
      An item is named by a service and an account, as in a keychain; a router key is the account of a service named after \
      its domain. ACCOUNT may be left out where one item matches.
      """,
    groupedSubcommands: [
      CommandGroup(name: "Items", subcommands: ItemCommands.all + ChangeCommands.all),
      CommandGroup(name: "Finding", subcommands: ListingCommands.all),
      CommandGroup(name: "History", subcommands: HistoryCommands.all),
      CommandGroup(name: "Vault", subcommands: [VaultInitCommand.self] + UpkeepCommands.all + [VaultNameCommand.self]),
      CommandGroup(
        name: "Opening", subcommands: [SlotCommand.self] + KeyCommands.all + [VaultJoinCommand.self, PinCommand.self]),
      CommandGroup(name: "Copies", subcommands: RecoveryCommands.all + TransferCommands.all),
    ])
}

/// SERVICE [ACCOUNT], as most vault commands take it.
struct ItemArguments: ParsableArguments {
  @Argument(help: "What the secret opens: a host, a URL, an app's domain.", completion: Completions.services) var service: String
  @Argument(help: "Whose it is; may be left out where one item matches.", completion: Completions.accounts) var account: String?

  /// As people write it: `service` or `service/account`.
  var description: String { (account ?? "").isEmpty ? service : "\(service)/\(account ?? "")" }

  /// Judges the names before anything is asked for to unlock with.
  ///
  /// - Throws: `.invalidName`.
  func check() throws { _ = try ItemName(service: service, account: account ?? "") }

  /// The item that is meant: the named one, or the only one of the service.
  ///
  /// - Throws: `.notFound`; `.ambiguous`, which names the accounts.
  func item(in items: VaultItems) throws -> VaultItem { try items.item(service: service, account: account) }

  /// The value of the item that is meant.
  ///
  /// - Throws: what ``item(in:)`` throws, `.expired`.
  func value(in items: VaultItems) throws -> SecretForm { try items.value(service: service, account: account) }
}
