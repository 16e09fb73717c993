internal import ArgumentParser
internal import Coffer

struct WatchCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "watch", abstract: "Print a line whenever a key of a domain changes, in either store; no value is shown.",
    discussion: """
      Ends with control-C. Each line says what was done (set, removed, expired, migrated) and by which process, where that is \
      known. With --plain the vault is not touched.
      """)

  @Argument(help: "The keys; all of the domain when left out.") var keys: [String] = []
  @Flag(help: "Only preferences; needs no vault.") var plain = false
  @OptionGroup var router: RouterOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    try CredentialSources(options: unlocking, session: session).claimInput()
    for key in keys { try StoredName.check(key) }
    let router = try ShellRouter(router, unlocking, session)
    var feeds = [(store: "defaults", feed: router.plain.changes)]
    let vault = plain ? nil : try router.watchedVault()
    if let vault { feeds.append((store: "vault", feed: vault.changes)) }
    // A store that is let go tells nothing more.
    try withExtendedLifetime((router, vault)) { try ChangeLines(domain: router.domain, keys: keys, session).run(feeds) }
  }
}
