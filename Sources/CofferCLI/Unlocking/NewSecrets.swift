internal import Coffer

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// The secrets of a vault that is being made.
struct NewSecrets {
  let new: NewSecretOptions
  let session: Session
  let sources: CredentialSources

  init(new: NewSecretOptions, existing: UnlockingOptions, session: Session) {
    self.new = new
    self.session = session
    sources = CredentialSources(options: existing, session: session)
  }

  func claimInput() throws(Failure) {
    if new.usesStandardInput { try session.input.claim(for: "the new passphrase") }
    try sources.claimInput()
  }

  /// The credentials, and the key file that was written for them.
  ///
  /// Nothing is old yet, so the unlocking sources serve too. A key file that was asked for, alone, makes a vault for a
  /// machine: then the environment and the terminal are not asked for a passphrase.
  func credentials() throws -> Credentials {
    var found = try sources.fromOptions()
    if new.hasPassphrase {
      guard found.passphrase == nil else {
        throw Failure.usage("two passphrases were given for one new vault", try: "only one of the options for it")
      }
      found.passphrase = try newPassphrase()
    }
    guard found.recoveryCode == nil, found.identity == nil else {
      throw Failure.usage(
        "a new vault starts with a passphrase, a key file or both", try: "--passphrase-file, --key-file or --new-key-file")
    }
    if let path = new.newKeyFile {
      guard found.keyFile == nil else {
        throw Failure.usage("two key files were given for one new vault", try: "--key-file or --new-key-file")
      }
      found.keyFile = try NewKeyFile.write(to: path)
      return found
    }
    guard found.isEmpty else { return found }
    found = try sources.fromEnvironment()
    if found.isEmpty { found.passphrase = try sources.fromCredentialsFolder() }
    if found.isEmpty, let terminal = Terminal() {
      found.passphrase = try terminal.newSecret("passphrase").asPassphrase(from: "the terminal")
    }
    guard !found.isEmpty else { throw Self.nothing }
    return found
  }

  /// The credentials of a vault beside the one in use: the unlocking sources have that one's secrets, and are not asked.
  func ownCredentials() throws -> Credentials {
    var made = Credentials()
    made.passphrase = try newPassphrase()
    if let path = new.newKeyFile { made.keyFile = try NewKeyFile.write(to: path) }
    if made.isEmpty, let terminal = Terminal() {
      made.passphrase = try terminal.newSecret("passphrase of the new vault").asPassphrase(from: "the terminal")
    }
    guard !made.isEmpty else { throw Self.nothing }
    return made
  }

  private func newPassphrase() throws -> SecretBytes? {
    if let descriptor = new.newPassphraseFd { return try sources.passphrase(fromDescriptor: descriptor) }
    return try new.newPassphraseFile.map { try sources.passphrase(fromFile: $0) }
  }

  private static let nothing = Failure(
    StoreError(
      .locked, "a new vault needs a secret, and there is no terminal to ask at",
      cure: "--new-passphrase-file PATH, --new-passphrase-fd N, or --new-key-file PATH"))
}
