internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault
internal import SystemPackage

/// Secrets for a vault that is imported or merged. Without any the terminal is asked.
struct OtherVaultOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Read the other vault's passphrase from this open descriptor.", valueName: "n"))
  var otherPassphraseFd: Int32?
  @Option(help: ArgumentHelp("Read the other vault's passphrase from this file.", valueName: "path"))
  var otherPassphraseFile: String?
  @Option(help: ArgumentHelp("Open the other vault with this key file.", valueName: "path"))
  var otherKeyFile: String?
  @Option(help: ArgumentHelp("Open the other vault with the recovery code in this file.", valueName: "path"))
  var otherRecoveryFile: String?
  @Flag(help: "Also a copy of this vault under an older key: whoever had that key can have made it.") var olderKey = false

  var isEmpty: Bool {
    otherPassphraseFd == nil && otherPassphraseFile == nil && otherKeyFile == nil && otherRecoveryFile == nil
  }

  func validate() throws {
    guard otherPassphraseFd == nil || otherPassphraseFile == nil else {
      throw ValidationError("give the other passphrase by --other-passphrase-fd or by --other-passphrase-file, not by both")
    }
  }
}

struct OtherVault {
  let path: String
  let options: OtherVaultOptions
  let context: Context

  /// Opens it with the options; else with `own`, which opened this vault and may open a copy of it; else with a person's
  /// secret.
  ///
  /// This machine's pins are ignored: an older state of a vault may be read. A copy of `vault` must have a key of its
  /// history; an older copy must be permitted.
  func unlock(
    beside vault: borrowing UnlockedVault, orWith own: borrowing Credentials = Credentials()
  ) throws -> UnlockedVault {
    let other = try unlocked(isCopy: locked().id == vault.id, own)
    do throws(StoreError) { try vault.checkCopy(other, acceptingOlderKey: options.olderKey) } catch {
      guard error.remedy == .acceptOlderCopy, let terminal = Terminal() else { throw error }
      Output.message("\(Printable.text(error.what)).")
      guard try terminal.confirm("Take over what is in it all the same?") else { throw error }
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
    guard try isPlace(place, VaultPlace.given(path)) else { return }
    throw StoreError(
      .refused, "it is the vault itself", place: path,
      cure: "the path of another vault, or --vault with that of the one to merge into")
  }

  private func checkPath() throws { if VaultPlace(path).url == nil { try GivenPath.check(path) } }

  private func isPlace(_ place: VaultPlace, _ other: VaultPlace) throws -> Bool {
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
      leftOut.append(LeftOut(item.name.description, "has no value: another program made it so"))
    } _: { item, form in
      items.append(ImportedItem(name: item.name, form: form, created: item.created, modified: item.modified))
    }
    return ImportSource.Found(format: .coffer, place: path, items: items, leftOut: leftOut)
  }

  private func credentials(for vault: LockedVault) throws -> Credentials {
    let sources = CredentialSources(context)
    var found = Credentials()
    if let descriptor = options.otherPassphraseFd {
      found.passphrase = try sources.passphrase(fromDescriptor: descriptor)
    } else if let path = options.otherPassphraseFile {
      found.passphrase = try sources.passphrase(fromFile: path)
    }
    if let path = options.otherKeyFile { found.keyFile = try sources.keyFile(path) }
    if let path = options.otherRecoveryFile { found.recoveryCode = try sources.recoveryCode(path) }
    let kinds = Set(vault.slots.map(\.kind))
    let wantsMore = found.isEmpty || (found.passphrase == nil && found.keyFile != nil && !kinds.contains(.keyFile))
    if wantsMore, context.questions == .anywhere, let terminal = Terminal() {
      found.passphrase = try terminal.secret(Question("Passphrase of \(vault.place)")).asPassphrase(from: "the terminal")
    }
    guard !found.isEmpty else {
      throw Failure(
        StoreError(
          .locked, "the other vault is locked and there is nothing to unlock it with", place: path,
          cure: """
            one of --other-passphrase-file PATH, --other-passphrase-fd N, --other-key-file PATH, --other-recovery-file PATH; or \
            a terminal to ask at
            """))
    }
    return found
  }
}
