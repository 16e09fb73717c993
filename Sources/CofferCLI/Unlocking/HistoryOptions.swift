internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferVault

/// How many former contents an item keeps.
struct HistoryOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Keep so many former values of the item from now on, 0 to 100. [default: as before; of a new one the setting "
        + "history.keep, 10]",
      valueName: "n"))
  var history: Int?
  @Flag(help: "Keep no former value of the item, and remove those that are kept.") var noHistory = false

  /// Whether an option says it.
  var isGiven: Bool { history != nil || noHistory }

  func validate() throws {
    guard history == nil || !noHistory else { throw ValidationError("give --history or --no-history, not both") }
    guard history.map((0...VaultItem.longestHistory).contains) ?? true else {
      throw ValidationError("--history is 0 to \(VaultItem.longestHistory)")
    }
  }

  /// How many former contents are kept from a write on that replaces `old`, or makes a new item.
  func keeping(_ old: VaultItem?, _ context: Context) -> Int {
    guard old?.isOfLogin != true else {
      if history ?? 0 > 0 { context.note("no former value is kept of a login, nor of what ends with a session") }
      return 0
    }
    return history ?? (noHistory ? 0 : Self.standard(old, context))
  }

  /// The same where no option says it: an item goes on as it does, and the setting is for new ones.
  static func standard(_ old: VaultItem?, _ context: Context) -> Int {
    let setting = Settings(context).historyKeep
    return setting == 0 || old?.isOfLogin == true ? 0 : old?.history ?? setting
  }
}

extension VaultItem {
  /// Whether a logout removes it for good: of such an item nothing is kept.
  var isOfLogin: Bool { LoginItems.isPointer(self) || metadata.isOfLogin }
}

extension ItemMetadata {
  /// Whether it is said of a login, or of what ends with a session.
  var isOfLogin: Bool { LoginItems.isToken(self) || isSessionItem }
}
