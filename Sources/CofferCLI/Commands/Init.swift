internal import ArgumentParser
internal import Coffer
internal import CofferTerminal
internal import CofferVault
internal import CofferVaultRows

struct InitCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "init", abstract: "Create a vault.",
    discussion: """
      Asks for a passphrase twice, or takes it from the options and variables that unlock a vault. With --new-key-file alone, \
      that file opens the vault and no passphrase is asked for. If an interrupted init left a key file there, it is used, and a \
      note says so. A typed passphrase also unlocks the vault, as 'coffer unlock' does.
      """)

  @Option(help: ArgumentHelp("A label for this way to unlock.", valueName: "text")) var label: String = ""
  @Flag(help: "Also create a recovery code, and print it.") var recoveryCode = false
  @Option(help: ArgumentHelp("Let a role of the vault's server in. May be repeated.", valueName: "role=writer|reader"))
  var grant: [String] = []
  @OptionGroup(title: "The new secret") var new: NewSecretOptions
  @OptionGroup(title: "Secrets that exist") var existing: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  var opening: UnlockingOptions? { existing }

  func claimInput(_ context: Context) throws {
    try context.checkIsNoMirror()
    try context.checkName()
    if !grant.isEmpty, context.places.vault.url == nil { throw ServerRole.noServer(context.places.vault) }
    for role in try ServerRole.given(grant) where role.access == .none {
      throw Failure.usage("a new vault lets nobody else in: \(role) takes nothing away", try: "leave it out")
    }
    try context.places.vault.checkIsFree()
    try context.checkNewFolder()
    try ExpectedVault.checkNewVault()
    try NewSecrets(new: new, context: context).claimInput()
  }

  func perform(_ context: Context) throws {
    let secrets = NewSecrets(new: new, context: context)
    var vaultOptions = context.places.vaultOptions
    vaultOptions.roles = try ServerRole.given(grant)
    let vault: UnlockedVault
    var keyFile: FirstKeyFile?, typed: Credentials?
    var wantsCode = recoveryCode
    do {
      var isTyped = false
      let credentials = try secrets.credentials(&keyFile, isTyped: &isTyped)
      if isTyped {
        typed = try credentials.copied()
        wantsCode = try wantsCode || isCodeWanted(context)
      }
      vault = try UnlockedVault.create(
        at: context.places.vault, with: credentials, label: label, options: vaultOptions)
    } catch {
      if let made = new.newKeyFile, keyFile != nil, !NewSecrets.isNothing(at: context.places.vault, error) {
        throw Failure.of(error)?.keeping(keyFile: made) ?? error
      }
      // A key that opens nothing would only confuse.
      keyFile?.discard()
      throw error
    }
    withExtendedLifetime(keyFile) {}
    var unlocked: Duration?
    if let typed { unlocked = AgentKeeper.keep(typed, context) }
    try answer(vault, wantsCode, unlocked, context)
  }

  private func answer(_ vault: borrowing UnlockedVault, _ wantsCode: Bool, _ unlocked: Duration?, _ context: Context) throws {
    let made = ["vault": vault.place.description, "id": vault.id.description]
    if options.json, !wantsCode { return try Output.json(made) }
    if !options.json {
      let advice = "keep its passphrase, key file or recovery code safe: nothing else opens it"
      context.done(
        unlocked.map { "Vault created and unlocked for \(Moment.sentence($0.components.seconds))." }
          ?? "Vault created at \(vault.place.short). \(advice.asSentence).",
        elsewhere: "created a vault at \(vault.place); \(advice)")
      if vault.place.url != nil, grant.isEmpty { context.note(ServerRole.advice) }
    }
    if wantsCode {
      try NewRecoveryCode.add(to: vault, label: "recovery code", isNewVault: true, context) { _ in
        options.json ? JSONText.encode(made) : nil
      }
      if options.json { return }
    }
    guard context.offersMore else { return }
    if !wantsCode { Output.message("To add a recovery code later: \(CommandText.coffer) vault slot add --recovery-code") }
    Output.next([("\(CommandText.coffer) set github.com/ada", "stores a password"), ("coffer help", "shows the rest")])
  }

  private func isCodeWanted(_ context: Context) throws -> Bool {
    guard context.offersMore, let terminal = Terminal() else { return false }
    return try terminal.confirm("Create a recovery code, in case you forget the passphrase?", standard: true)
  }
}
