internal import ArgumentParser
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault

struct RecoverCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "recover", abstract: "Open the vault with its recovery code, and set a new passphrase.",
    discussion: """
      Asks for the code, then twice for the new passphrase. Case, spaces and hyphens of the code are ignored. The vault is \
      encrypted again with a new key, and the recovery code stays valid. 'coffer vault slot add --recovery-code' creates \
      another. A typed passphrase also unlocks the vault, as 'coffer unlock' does.
      """)

  @Option(help: ArgumentHelp("Take the recovery code from this file.", valueName: "path")) var recoveryFile: String?
  @Option(
    help: ArgumentHelp("Set the passphrase of this slot (the start of its id, or its label).", valueName: "slot"),
    completion: Completions.slots)
  var slot: String?
  @OptionGroup(title: "The new secret") var new: NewSecretOptions
  @OptionGroup var options: AnswerOptions

  func claimInput(_ context: Context) throws {
    try context.checkIsNoMirror()
    try NewSecrets(new: new, context: context).claimInput()
  }

  func perform(_ context: Context) throws {
    let locked = try context.lockedVault()
    guard locked.slots.contains(where: { $0.kind == .recoveryCode }) else {
      throw StoreError(
        .unfitSecret, "the vault has no recovery code", place: locked.place.description,
        cure: "unlock it another way, or restore a backup with one; for the next time: coffer vault slot add --recovery-code")
    }
    let vault = try opened(locked, context)
    let lacksPassphrase = try !vault.slots().contains { $0.summary.kind.hasPassphrase }
    guard lacksPassphrase, slot == nil else {
      let change = PassphraseChange(slot: slot, new: new, keepsKey: false, unlocks: true)
      return try change.perform(vault, context, json: options.json)
    }
    let added = try NewSecrets(new: new, context: context).using { credentials in
      let kept = try credentials.copied()
      let made = try vault.addSlot(credentials, label: "")
      if new.isEmpty { AgentKeeper.keep(kept, context) }
      return made
    }
    let invitation = try vault.invitation()
    if options.json { return try Output.json(["slot": added.id.description, "invitation": invitation.description]) }
    context.done(
      "new passphrase; the recovery code still works",
      elsewhere: "the new passphrase opens the vault from now on (slot \(added.id))")
  }

  /// With the file's code, or with a typed one in three tries at most.
  private func opened(_ locked: LockedVault, _ context: Context) throws -> UnlockedVault {
    if let recoveryFile { return try Self.unlock(locked, CredentialSources(context).recoveryCode(recoveryFile)) }
    guard let terminal = Terminal() else {
      throw Failure(
        StoreError(
          .locked, "there is no terminal to ask for the recovery code", place: locked.place.description,
          cure: "--recovery-file PATH"))
    }
    return try Question("Recovery code of \(locked.place.short)").asked(
      wrong: { error in (error as? StoreError).flatMap { $0.kind == .wrongSecret ? Failure($0).sentence : nil } },
      { question in try Self.unlock(locked, terminal.secret(question)) })
  }

  private static func unlock(_ locked: LockedVault, _ code: consuming SecretBytes) throws -> UnlockedVault {
    var credentials = Credentials()
    credentials.recoveryCode = consume code
    return try locked.unlock(with: credentials)
  }
}
