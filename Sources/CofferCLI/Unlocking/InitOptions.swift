internal import ArgumentParser
internal import Coffer
internal import SystemPackage

/// What `coffer init` and `coffer vault init` take.
struct InitOptions: ParsableArguments {
  @Option(help: ArgumentHelp("A name for this way of opening the vault.", valueName: "text"))
  var label: String = ""
  @OptionGroup(title: "The new secret") var new: NewSecretOptions
  @OptionGroup(title: "Secrets that exist") var existing: UnlockingOptions
  @OptionGroup var output: JSONOption

  func perform(_ session: Session) throws {
    let path = session.places.vault
    guard !FileFacts.exists(path) else {
      throw StoreError(
        .alreadyExists, "there is a vault already", place: path.string, cure: "use it, or another folder with --home DIR")
    }
    let secrets = NewSecrets(new: new, existing: existing, session: session)
    try secrets.claimInput()
    let vault: UnlockedVault
    do {
      vault = try UnlockedVault.create(at: path, with: secrets.credentials(), label: label, options: session.places.vaultOptions)
    } catch let error as StoreError {
      // Thrown by the making of the vault, after the key file: a key that opens nothing would only confuse.
      if let keyFile = new.newKeyFile { NewKeyFile.discard(keyFile) }
      throw error
    }
    let id = vault.id.description
    _ = try vault.lock()
    if output.json { return try Output.line(JSONText.encode(["vault": path.string, "id": id])) }
    session.note("made a vault at \(path); keep what opens it, there is no other way in")
  }
}

/// The help of both spellings.
let initDiscussion = """
  Asks for a passphrase twice, or takes it from the options and variables that would unlock. With --new-key-file alone \
  the vault is one for a machine: the file written there opens it and no passphrase is asked for.
  """
