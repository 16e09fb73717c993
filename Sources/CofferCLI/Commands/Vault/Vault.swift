internal import ArgumentParser
internal import Coffer
internal import CofferStorage
internal import CofferVault

/// Each file of the group lists its own commands, in the order of the help.
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

extension ArgumentHelp {
  static var service: ArgumentHelp {
    "What the secret opens: a host, a URL, an app's domain. Or the item's name as SERVICE/ACCOUNT, or coffer://…."
  }
  static var account: ArgumentHelp { "Whose it is; may be left out where one item matches." }
}

/// SERVICE [ACCOUNT], as most vault commands take it.
struct ItemArguments: ParsableArguments {
  @Argument(help: .service, completion: Completions.services) var service: String
  @Argument(help: .account, completion: Completions.accounts) var account: String?

  var description: String { words.description }

  private var words: ItemWords { ItemWords(service: service, account: account) }

  /// Checks the names before any question for secrets.
  ///
  /// - Throws: `.invalidName`; a usage failure for an invalid reference.
  func check() throws { try words.check() }

  /// The named item, or the only one of the service.
  ///
  /// - Throws: `.notFound`; `.ambiguous`.
  func item(in items: VaultItems) throws -> VaultItem { try words.item(in: items) }

  /// The name of an existing or restorable item.
  ///
  /// - Throws: `.notFound`; `.ambiguous`.
  func knownName(in items: VaultItems) throws -> ItemName { try words.knownName(in: items) }

  /// The name of a restorable deleted item.
  ///
  /// - Throws: `.notFound`; `.ambiguous`.
  func deletedName(in items: VaultItems) throws -> ItemName {
    let (service, account) = try words.named()
    return try items.deletedName(service: service, account: account)
  }
}
