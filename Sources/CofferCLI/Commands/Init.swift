internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault
internal import SystemPackage

struct InitCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "init", abstract: "Create a vault.",
    discussion: """
      Asks for a passphrase twice, or takes it from the options and variables that would unlock. With --new-key-file alone \
      the vault is for a machine: the file written there opens it, and no passphrase is asked for. \
      If an interrupted init left a key file there, it is used, and a note says so.
      """)

  @Option(help: ArgumentHelp("A name for this way of opening the vault.", valueName: "text"))
  var label: String = ""
  @Flag(help: "Make a recovery code as well, and print it.") var recoveryCode = false
  @OptionGroup(title: "The new secret") var new: NewSecretOptions
  @OptionGroup(title: "Secrets that exist") var existing: UnlockingOptions
  @OptionGroup var options: AnswerOptions

  var opening: UnlockingOptions? { existing }

  static var idleOptions: Set<String> { ["yes"] }

  func claimInput(_ context: Context) throws {
    try context.checkIsNoMirror()
    try context.checkName()
    try context.places.vault.checkIsFree()
    try ExpectedVault.checkNewVault()
    try NewSecrets(new: new, context: context).claimInput()
  }

  func perform(_ context: Context) throws {
    let secrets = NewSecrets(new: new, context: context)
    let vault: UnlockedVault
    var keyFile: FirstKeyFile?
    do {
      vault = try UnlockedVault.create(
        at: context.places.vault, with: secrets.credentials(&keyFile), label: label, options: context.places.vaultOptions)
    } catch {
      if let made = new.newKeyFile, keyFile != nil, !NewSecrets.isNothing(at: context.places.vault, error) {
        throw Failure.of(error)?.keeping(keyFile: made) ?? error
      }
      // A key that opens nothing would only confuse.
      keyFile?.discard()
      throw error
    }
    withExtendedLifetime(keyFile) {}
    try answer(vault, context)
  }

  private func answer(_ vault: borrowing UnlockedVault, _ context: Context) throws {
    let made = ["vault": vault.place.description, "id": vault.id.description]
    if options.json, !recoveryCode { return try Output.line(JSONText.encode(made)) }
    if !options.json {
      context.done(
        "made a vault at \(vault.place.short); keep what opens it, there is no other way in",
        elsewhere: "made a vault at \(vault.place); keep what opens it, there is no other way in")
    }
    if try recoveryCode || isCodeWanted(context) {
      try NewRecoveryCode.add(to: vault, label: "recovery code", isNewVault: true, context) { _ in
        options.json ? JSONText.encode(made) : nil
      }
      if options.json { return }
    }
    guard context.offersMore else { return }
    Output.message(
      "\nNext:\n  coffer set github.com/ada  stores a password\n  coffer help                      shows the rest")
  }

  private func isCodeWanted(_ context: Context) throws -> Bool {
    guard context.offersMore, !new.hasPassphrase, new.newKeyFile == nil, existing.isEmpty, let terminal = Terminal() else {
      return false
    }
    return try terminal.confirm("Make a recovery code too? It opens the vault if you forget the passphrase.")
  }
}
