internal import ArgumentParser
internal import CofferVault

struct HistoryOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Keep this many previous values of the item from now on, 0 to 100. [default: unchanged; for a new item the setting "
        + "history.keep, 10]",
      valueName: "n"))
  var history: Int?
  @Flag(help: "Keep no previous value of the item, and remove existing ones.") var noHistory = false

  var isGiven: Bool { history != nil || noHistory }

  func validate() throws {
    guard history == nil || !noHistory else { throw ValidationError("give --history or --no-history, not both") }
    guard history.map((0...VaultItem.longestHistory).contains) ?? true else {
      throw ValidationError("--history takes 0 to \(VaultItem.longestHistory)")
    }
  }

  /// The number of previous contents to keep after a write that replaces `old`, or makes a new item.
  func keeping(_ old: VaultItem?, _ context: Context) -> Int {
    guard old?.isOfLogin != true else {
      if history ?? 0 > 0 { context.note("logins and session values have no history") }
      return 0
    }
    return history ?? (noHistory ? 0 : Self.standard(old, context))
  }

  /// The number without an option: an old item keeps its own, and the setting is for new ones.
  static func standard(_ old: VaultItem?, _ context: Context) -> Int {
    let setting = Settings(context).historyKeep
    return setting == 0 || old?.isOfLogin == true ? 0 : old?.history ?? setting
  }
}
