internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferStorage
internal import CofferPlatform
internal import CofferTerminal

struct NewSecretOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Read the new passphrase from this open descriptor.", valueName: "n")) var newPassphraseFd: Int32?

  @Option(help: ArgumentHelp("Read the new passphrase from this file; - is standard input.", valueName: "path"))
  var newPassphraseFile: String?

  @Option(help: ArgumentHelp("Write a new key file to this path, which must not exist.", valueName: "path"))
  var newKeyFile: String?

  @Option(
    help: ArgumentHelp(
      "Refuse a new passphrase weaker than this many bits; 0 takes any. [default: 35 at a terminal]",
      valueName: "bits"))
  var minStrength: Int?

  func validate() throws {
    guard minStrength.map({ 0...Self.mostBits ~= $0 }) ?? true else {
      throw ValidationError("give --min-strength from 0 to \(Self.mostBits)")
    }
    guard newPassphraseFd == nil || newPassphraseFile == nil else {
      throw ValidationError("give --new-passphrase-fd or --new-passphrase-file, not both")
    }
  }

  /// More than any passphrase needs: as much as a key has.
  private static let mostBits = 256

  var isEmpty: Bool { !hasPassphrase && newKeyFile == nil }
  var hasPassphrase: Bool { newPassphraseFd != nil || newPassphraseFile != nil }
  var usesStandardInput: Bool { newPassphraseFile == "-" || newPassphraseFd == 0 }
}

struct NewSecrets {
  let new: NewSecretOptions
  let context: Context
  let sources: CredentialSources

  init(new: NewSecretOptions, context: Context) {
    (self.new, self.context, sources) = (new, context, CredentialSources(context, warning: true))
  }

  func claimInput() throws(Failure) { if new.usesStandardInput { try context.input.claim(for: "the new passphrase") } }

  /// The credentials of a first vault, and its new key file.
  ///
  /// There are no older secrets, so the unlocking sources serve too. A key file alone makes a vault for a machine: the
  /// environment and the terminal are then not asked for a passphrase.
  ///
  /// - Parameters:
  ///   - keyFile: that file, to be kept until the vault is made.
  ///   - isTyped: set if a person typed them.
  func credentials(_ keyFile: inout FirstKeyFile?, isTyped: inout Bool) throws -> Credentials {
    var found = try sources.fromOptions()
    if new.hasPassphrase {
      guard found.passphrase == nil else {
        throw Failure.usage("two passphrases were given for one new vault", try: "only one of these options")
      }
      found.passphrase = try newPassphrase()
    }
    guard found.recoveryCode == nil, found.identity == nil else {
      throw Failure.usage(
        "a new vault starts with a passphrase, a key file or both", try: "--passphrase-file, --key-file or --new-key-file")
    }
    if found.passphrase != nil { found.passphrase = try checked(found.passphrase.take()) }
    if let path = new.newKeyFile {
      guard found.keyFile == nil else {
        throw Failure.usage("two key files were given for one new vault", try: "--key-file or --new-key-file")
      }
      let made = try FirstKeyFile(at: path, context)
      keyFile = made
      found.keyFile = try made.content()
      return found
    }
    guard found.isEmpty else { return found }
    found = try sources.fromEnvironment()
    if found.isEmpty { found.passphrase = try sources.fromCredentialsFolder() }
    found.passphrase = try checked(found.passphrase.take())
    if found.isEmpty, let terminal = Terminal() {
      let purpose =
        "This passphrase will open your vault, \(context.places.vault.short). Nobody can restore it: four or more words are easy "
        + "to remember."
      found.passphrase = try typed("passphrase", purpose: purpose, terminal)
      isTyped = true
    }
    guard !found.isEmpty else { throw Self.nothing("a new vault needs a secret") }
    return found
  }

  /// Lends the credentials of a vault beside the one in use. The unlocking sources have that one's secrets, and are not
  /// asked.
  func usingOwn<Result>(forVaultAt place: VaultPlace, _ body: (consuming Credentials) throws -> Result) throws -> Result {
    // Before the key file is written: it stays if a server cannot say whether it opens anything.
    if place.path == nil { try place.checkIsFree() }
    return try NewKeyFile.lend(
      new.newKeyFile, with: ownCredentials(), context, opensNothing: { Self.isNothing(at: place, $0) }, body)
  }

  /// Whether no vault was made at `place`: nothing is there, or only an older one.
  static func isNothing(at place: VaultPlace, _ error: any Error) -> Bool {
    let kind = (error as? StoreError)?.kind
    if let path = place.path { return kind == .alreadyExists || FileFacts.isAbsent(path) }
    // A commit that a server did not answer may still be on its way.
    return kind == .alreadyExists || (kind != .outcomeUnknown && place.isFree)
  }

  private func ownCredentials() throws -> Credentials {
    var made = Credentials()
    made.passphrase = try checked(newPassphrase())
    guard new.newKeyFile == nil else { return made }
    if made.isEmpty, let terminal = Terminal() { made.passphrase = try typed("passphrase of the new vault", terminal) }
    guard !made.isEmpty else { throw Self.nothing("a new vault needs a secret") }
    return made
  }

  /// Lends the credentials of a new slot: from the options for a new secret, otherwise a passphrase asked for twice. If the
  /// slot cannot be made, its key file is removed, as it opens nothing.
  func using<Result>(_ body: (consuming Credentials) throws -> Result) throws -> Result {
    var found = Credentials()
    found.passphrase = try checked(newPassphrase())
    if new.isEmpty { found.passphrase = try askedPassphrase() }
    return try withNewKeyFile(found, body)
  }

  /// Lends the credentials of a slot whose passphrase changes. If the slot needs a key file too, that is the one of the
  /// unlocking sources, or a new one.
  func usingPassphrase<Result>(withKeyFile: Bool, _ body: (consuming Credentials) throws -> Result) throws -> Result {
    var found = Credentials()
    if withKeyFile, new.newKeyFile == nil {
      guard let path = context.unlocking?.keyFile ?? ProcessEnvironment.value("COFFER_KEY_FILE") else {
        throw Failure.usage("the slot needs a key file too", try: "--key-file for the current one, or --new-key-file")
      }
      found.keyFile = try sources.keyFile(path)
    }
    found.passphrase = try new.hasPassphrase ? checked(newPassphrase()) : askedPassphrase()
    return try withNewKeyFile(found, body)
  }

  private func withNewKeyFile<Result>(
    _ given: consuming Credentials, _ body: (consuming Credentials) throws -> Result
  ) throws -> Result {
    let opensNothing = { (error: any Error) in (error as? StoreError)?.kind.provesUnchangedSlots ?? false }
    return try NewKeyFile.lend(new.newKeyFile, with: given, context, opensNothing: opensNothing, body)
  }

  private func askedPassphrase() throws -> SecretBytes {
    guard let terminal = Terminal() else { throw Self.nothing("a new secret is needed") }
    return try typed("passphrase", terminal)
  }

  /// A typed passphrase; a weak one is asked for again.
  private func typed(_ what: String, purpose: String? = nil, _ terminal: borrowing Terminal) throws -> SecretBytes {
    let least = new.minStrength.map(Double.init) ?? PasswordStrength.leastOfPassphrase
    var failure: (any Error)?
    let found = try terminal.newSecret("New \(what)", purpose: purpose) { passphrase in
      do { return Self.objection(try PasswordStrength(passphrase), least) } catch {
        failure = error
        return nil
      }
    }
    if let failure { throw failure }
    return try found.asPassphrase(from: "the terminal")
  }

  /// A passphrase that nobody types: a weak one is reported, and refused if an option demands it.
  private func checked(_ passphrase: consuming SecretBytes?) throws -> SecretBytes? {
    guard let passphrase else { return nil }
    let strength = try PasswordStrength(passphrase)
    if let least = new.minStrength, let failure = Self.objection(strength, Double(least)) { throw failure }
    if new.minStrength == nil, let failure = Self.objection(strength, PasswordStrength.leastOfPassphrase) {
      context.note(failure.what)
    }
    return passphrase
  }

  private static func objection(_ strength: PasswordStrength, _ least: Double) -> Failure? {
    guard strength.bits < least else { return nil }
    return .usage(
      "the passphrase is easy to guess: \(strength.reason)",
      try: "four or more unrelated words, as coffer generate --words 4 makes them; nothing was stored")
  }

  private func newPassphrase() throws -> SecretBytes? {
    if let descriptor = new.newPassphraseFd { return try sources.passphrase(fromDescriptor: descriptor) }
    return try new.newPassphraseFile.map { try sources.passphrase(fromFile: $0) }
  }

  private static func nothing(_ lack: String) -> Failure {
    Failure(
      StoreError(
        .noCredentials, "\(lack), and there is no terminal to ask at",
        cure: "--new-passphrase-file PATH, --new-passphrase-fd N, or --new-key-file PATH"))
  }
}
