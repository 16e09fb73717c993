internal import ArgumentParser
internal import Coffer

struct VaultPassphrase: Command {
  static let configuration = CommandConfiguration(
    commandName: "passphrase", abstract: "Change the passphrase, and with it the vault's key.",
    discussion: """
      Changes the slot that opened the vault, or --slot, with its old passphrase or with any other way in: a recovery code \
      replaces a passphrase that was forgotten. Everything is sealed under a new key; --keep-key does without, which is quick \
      and enough when nobody knows the old passphrase.
      """, aliases: ["passwd"])

  @Flag(help: "Leave the vault's key as it is.") var keepKey = false
  @Option(help: ArgumentHelp("Change this slot, named by the beginning of its id or its label.", valueName: "slot"))
  var slot: String?
  @OptionGroup(title: "The new secret") var new: NewSecretOptions
  @OptionGroup(title: "Unlocking") var unlocking: UnlockingOptions
  @OptionGroup var output: JSONOption
  @OptionGroup var common: CommonOptions
  var wantsJSON: Bool { output.json }

  func perform(_ session: Session) throws {
    let secrets = NewSecrets(new: new, existing: unlocking, session: session)
    try secrets.claimInput()
    let vault = try session.unlockedVault(unlocking)
    let slots = try vault.slots()
    let changed = try slot.map { try slots.named($0) } ?? slots.first(where: \.isInUse)
    guard let changed, changed.summary.kind == .passphrase || changed.summary.kind == .passphraseAndKeyFile else {
      throw StoreError(
        .refused, "the slot has no passphrase", key: changed.map { "\($0.summary.id)" },
        cure: "name one that has with --slot; coffer vault slot list shows them")
    }
    let progress = Progress(session, json: output.json)
    defer { progress.clear() }
    try secrets.usingPassphrase(withKeyFile: changed.summary.kind == .passphraseAndKeyFile) { credentials in
      try vault.changePassphrase(
        to: credentials, ofSlot: changed.summary.id, key: keepKey ? .kept : .renewed, progress: progress.show)
    }
    progress.clear()
    if output.json { return try Output.line(JSONText.encode(["slot": changed.summary.id.description])) }
    session.note(
      keepKey
        ? "the passphrase was changed; the vault's key is the same, which an old copy of the file gives away to who knows the old one"
        : "the passphrase was changed, and the vault has a new key, sealed to \(slots.count) slot\(slots.count == 1 ? "" : "s")")
  }
}
