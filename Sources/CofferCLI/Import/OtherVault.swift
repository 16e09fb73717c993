internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault

/// Secrets for a vault beside this one. Without any the terminal is asked.
struct OtherVaultOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Read the other vault's passphrase from this open descriptor.", valueName: "n"))
  var otherPassphraseFd: Int32?
  @Option(help: ArgumentHelp("Read the other vault's passphrase from this file.", valueName: "path"))
  var otherPassphraseFile: String?
  @Option(help: ArgumentHelp("Open the other vault with this key file.", valueName: "path")) var otherKeyFile: String?
  @Option(help: ArgumentHelp("Open the other vault with the recovery code in this file.", valueName: "path"))
  var otherRecoveryFile: String?

  var isEmpty: Bool { unlocking.isEmpty }

  func validate() throws {
    guard otherPassphraseFd == nil || otherPassphraseFile == nil else {
      throw ValidationError("give --other-passphrase-fd or --other-passphrase-file, not both")
    }
  }

  fileprivate var unlocking: UnlockingOptions {
    var options = UnlockingOptions()
    // A negative number is no descriptor, and must not become that of standard input.
    let number = otherPassphraseFd.map { UInt64(exactly: $0) ?? .max }
    (options.passphraseNumber, options.passphraseFile) = (number, otherPassphraseFile)
    (options.keyFile, options.recoveryFile, options.identity) = (otherKeyFile, otherRecoveryFile, nil)
    (options.invitation, options.minGeneration, options.noAgent) = ([], nil, false)
    return options
  }

  /// For the vault at `place`, to write to it: unlike one that is only read, it is compared with this machine's pins.
  func context(of place: String, beside own: Context) throws -> Context {
    var unlocking = unlocking
    unlocking.noAgent = own.unlocking?.noAgent ?? false
    let other = try Context(
      home: own.variables["COFFER_HOME"], vault: place, quiet: own.quiet, json: own.json, yes: own.yes, unlocking: unlocking)
    // It names the vault that commands open by themselves.
    other.places.expectation = nil
    try other.checkName()
    guard try !OtherVault.isPlace(own.places.vault, other.places.vault) else {
      throw Failure.usage("--to-vault names the vault that the item is in", try: "another vault; coffer vault use lists names")
    }
    return other
  }

  /// The items of the vault that `context` is for.
  func items(_ context: Context) throws -> VaultItems {
    do { return try context.items() } catch var failure as Failure where failure.status == .locked {
      failure.cure = OtherVault.waysToUnlock
      throw failure
    }
  }
}

extension ArgumentHelp {
  static var olderCopy: ArgumentHelp { "Allow a copy of this vault under an older key; anyone with that key may have made it." }
}

struct OtherVault {
  fileprivate static let waysToUnlock = """
    one of --other-passphrase-file PATH, --other-passphrase-fd N, --other-key-file PATH, --other-recovery-file PATH; or \
    a terminal to ask at
    """

  let path: String
  let options: OtherVaultOptions
  let acceptsOlderKey: Bool
  let context: Context

  /// Opens it with the options; else with `own`, which opened this vault and may open a copy of it; else with a person's
  /// secret.
  ///
  /// This machine's pins are ignored: an older state of a vault may be read. A copy of `vault` must have a key of its
  /// history; an older copy must be permitted.
  func unlock(beside vault: borrowing UnlockedVault, orWith own: borrowing Credentials = Credentials()) throws -> UnlockedVault {
    let other = try unlocked(isCopy: locked().id == vault.id, own)
    do throws(StoreError) { try vault.checkCopy(other, acceptingOlderKey: acceptsOlderKey) } catch {
      guard error.remedy == .acceptOlderCopy, let terminal = Terminal() else { throw error }
      Output.message("\(Printable.text(error.what)).")
      guard try terminal.confirm("Use its items anyway?") else { throw error }
    }
    return other
  }

  func locked() throws -> LockedVault {
    try checkPath()
    return try LockedVault.open(VaultPlace.given(path), options: .withoutPins)
  }

  private func unlocked(isCopy: Bool, _ own: borrowing Credentials) throws -> UnlockedVault {
    let locked = try locked()
    func open(_ credentials: consuming Credentials) throws(StoreError) -> UnlockedVault {
      if isCopy { return try locked.unlockCopy(with: credentials) }
      return try locked.unlock(with: credentials)
    }
    if options.isEmpty, !own.isEmpty {
      if own.passphrase != nil { context.spin("Unlocking") }
      defer { StatusLine.clear() }
      do throws(StoreError) { return try open(own.copied()) } catch {
        guard [.wrongSecret, .noCredentials].contains(error.kind) else { throw error }
      }
    }
    return try open(credentials(for: locked))
  }

  /// - Throws: `.refused` if it is the vault at `place`, under any path.
  func checkIsAnother(than place: VaultPlace) throws {
    try checkPath()
    guard try Self.isPlace(place, VaultPlace.given(path)) else { return }
    throw StoreError(
      .refused, "this is the vault itself", place: path,
      cure: "the path of another vault, or --vault with the vault to merge into")
  }

  private func checkPath() throws { if VaultPlace(path).url == nil { try GivenPath.check(path) } }

  fileprivate static func isPlace(_ place: VaultPlace, _ other: VaultPlace) throws -> Bool {
    switch (place.path, other.path) {
    case (let own?, let path?):
      guard let own = try FileStatus(at: own), let other = try FileStatus(at: path) else { return false }
      return own.isSameFile(as: other)
    case (nil, nil):
      // Each under the names of its hosts.
      let found = try LockedVault.open(other, options: .withoutPins).place
      return try LockedVault.open(place, options: .withoutPins).place.isKnown(as: found)
    default: return false
    }
  }

  /// All items with their fields, expired ones too.
  ///
  /// - Parameter own: the target vault, opened here if this is a copy of it.
  func found(_ progress: Progress, beside own: borrowing OpenedVault) throws -> ImportSource.Found {
    let vault =
      switch own {
      case .here(let own): try unlock(beside: own)
      case .byAgent: try unlocked(isCopy: false, Credentials())
      }
    var items: [ImportedItem] = []
    var leftOut: [LeftOut] = []
    try vault.forEachItem(withFields: true) { item in
      leftOut.append(LeftOut(item.name.description, "has no value: another program wrote it"))
    } _: { item, form in
      items.append(ImportedItem(name: item.name, form: form, created: item.created, modified: item.modified))
    }
    return ImportSource.Found(format: .coffer, place: path, items: items, leftOut: leftOut)
  }

  private func credentials(for vault: LockedVault) throws -> Credentials {
    var found = try CredentialSources(context).secrets(of: options.unlocking)
    let kinds = Set(vault.slots.map(\.kind))
    let wantsMore = found.isEmpty || (found.passphrase == nil && found.keyFile != nil && !kinds.contains(.keyFile))
    if wantsMore, context.questions == .anywhere, let terminal = Terminal() {
      found.passphrase = try terminal.secret(Question("Passphrase of \(vault.place)")).asPassphrase(from: "the terminal")
    }
    guard !found.isEmpty else {
      throw Failure(
        StoreError(
          .locked, "the other vault is locked and there is nothing to unlock it with", place: path, cure: Self.waysToUnlock))
    }
    return found
  }
}
