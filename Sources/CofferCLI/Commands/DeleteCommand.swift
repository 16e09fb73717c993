internal import ArgumentParser
internal import Coffer

struct DeleteCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Remove a key from the store it is in.", aliases: ["rm", "del", "remove", "erase"])

  @Argument(help: "The key's name.", completion: Completions.routerKeys) var key: String
  @OptionGroup var router: RouterOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    try CredentialSources(options: unlocking, session: session).claimInput()
    let router = try ShellRouter(router, unlocking, session)
    if try router.plain.contains(key) {
      try router.writablePlain().save(nil, for: key)
      return try router.finish()
    }
    guard let vault = try router.vault(), try vault.contains(key) else { throw router.notFound(key) }
    try vault.save(nil, for: key)
  }
}
