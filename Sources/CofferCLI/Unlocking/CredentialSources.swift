internal import Coffer
internal import CofferVault
internal import CofferPlatform
internal import Synchronization

/// The places a passphrase or key can come from, strongest first: the command line, the environment, a service's credentials
/// folder, the terminal. The first that has something is used, and only what a slot still lacks is taken from a later one.
struct CredentialSources {
  private let context: Context

  init(_ context: Context) { self.context = context }

  /// Reserves standard input when the passphrase comes from it.
  func claimInput() throws(Failure) {
    if context.unlocking?.usesStandardInput == true { try context.input.claim(for: "the passphrase") }
  }

  /// What opens one of `slots`.
  ///
  /// - Throws: a failure with status 69, listing the sources, when there is nothing.
  func credentials(for slots: [SlotSummary], of vault: FilePath) throws -> Credentials {
    var found = try fromOptions()
    if found.isEmpty { found = try fromEnvironment() }
    if found.isEmpty { found.passphrase = try fromCredentialsFolder() }
    try complete(&found, for: Set(slots.map(\.kind)), vault)
    guard !found.isEmpty else { throw Self.nothing(vault) }
    return found
  }

  /// What the command line names.
  func fromOptions() throws -> Credentials {
    var found = Credentials()
    guard let options = context.unlocking else { return found }
    if let descriptor = options.passphraseFd {
      found.passphrase = try passphrase(fromDescriptor: descriptor)
    } else if let path = options.passphraseFile {
      found.passphrase = try passphrase(fromFile: path)
    }
    if let path = options.keyFile { found.keyFile = try keyFile(path) }
    if let path = options.recoveryFile {
      found.recoveryCode = try SecretReader.file(
        path, limit: SecretReader.largestToken, what: "the recovery code", context: context
      ).withoutTrailingNewline(.lineFeedOrCRLF)
    }
    if let path = options.identity { found.identity = try identity(path) }
    return found
  }

  /// What the environment names.
  func fromEnvironment() throws -> Credentials {
    var found = Credentials()
    found.passphrase = try environmentPassphrase()
    if let path = ProcessEnvironment.value("COFFER_KEY_FILE") { found.keyFile = try keyFile(path) }
    if let path = ProcessEnvironment.value("COFFER_IDENTITY") { found.identity = try identity(path) }
    return found
  }

  private func environmentPassphrase() throws -> SecretBytes? {
    if let path = ProcessEnvironment.value("COFFER_PASSPHRASE_FILE") {
      if path == "-" { try context.input.claim(for: "the passphrase") }
      return try passphrase(fromFile: path)
    }
    guard let found = try EnvironmentPassphrase.use() else { return nil }
    context.note("COFFER_PASSPHRASE can be read by every program that saw this environment; prefer COFFER_PASSPHRASE_FILE")
    return try found.asPassphrase(from: "COFFER_PASSPHRASE")
  }

  // A systemd service finds its credentials there: systemd.exec(5), LoadCredential=.
  func fromCredentialsFolder() throws -> SecretBytes? {
    guard let folder = ProcessEnvironment.value("CREDENTIALS_DIRECTORY") else { return nil }
    let path = FilePath(folder).appending("coffer.passphrase")
    guard FileFacts.exists(path) else { return nil }
    return try passphrase(fromFile: path.string)
  }

  /// A slot may want a passphrase and a key file together: whichever half is missing is looked for further down.
  private func complete(_ found: inout Credentials, for kinds: Set<SlotKind>, _ vault: FilePath) throws {
    let both = kinds.contains(.passphraseAndKeyFile)
    if both, found.passphrase != nil, found.keyFile == nil, let path = ProcessEnvironment.value("COFFER_KEY_FILE") {
      found.keyFile = try keyFile(path)
    }
    let opensAlone = found.recoveryCode != nil || found.identity != nil || (found.keyFile != nil && kinds.contains(.keyFile))
    let wanted = found.keyFile == nil ? both || kinds.contains(.passphrase) : both
    guard found.passphrase == nil, wanted, !opensAlone else { return }
    found.passphrase = try environmentPassphrase()
    if found.passphrase == nil { found.passphrase = try fromCredentialsFolder() }
    if found.passphrase == nil, context.mayAsk, let terminal = Terminal() {
      found.passphrase = try terminal.secret("Passphrase of \(vault): ").asPassphrase(from: "the terminal")
    }
    if found.passphrase != nil, both, found.keyFile == nil, let path = ProcessEnvironment.value("COFFER_KEY_FILE") {
      found.keyFile = try keyFile(path)
    }
  }

  func passphrase(fromDescriptor descriptor: Int32) throws -> SecretBytes {
    try SecretReader.given(
      descriptor, limit: SecretReader.largestPassphrase + 2, what: "the passphrase", place: "descriptor \(descriptor)"
    ).withoutTrailingNewline(.lineFeedOrCRLF).asPassphrase(from: "descriptor \(descriptor)")
  }

  func passphrase(fromFile path: String) throws -> SecretBytes {
    guard path != "-" else { return try passphrase(fromDescriptor: 0) }
    return try SecretReader.file(
      path, limit: SecretReader.largestPassphrase + 2, what: "the passphrase file", context: context
    ).withoutTrailingNewline(.lineFeedOrCRLF).asPassphrase(from: path)
  }

  func keyFile(_ path: String) throws -> SecretBytes {
    try SecretReader.file(path, limit: SecretReader.largestKeyFile, what: "the key file", context: context)
  }

  func identity(_ path: String) throws -> SecretBytes {
    try SecretReader.file(path, limit: SecretReader.largestToken, what: "the identity", context: context)
  }

  private static func nothing(_ vault: FilePath) -> Failure {
    Failure(
      StoreError(
        .locked, "the vault is locked and there is nothing to unlock it with", place: vault.string,
        cure: """
          one of --passphrase-file PATH, --passphrase-fd N, --key-file PATH, --recovery-file PATH, --identity PATH; \
          COFFER_PASSPHRASE_FILE, COFFER_KEY_FILE, COFFER_IDENTITY or COFFER_PASSPHRASE in the environment; \
          $CREDENTIALS_DIRECTORY/coffer.passphrase; a terminal to ask at; or coffer unlock, for all your shells at once
          """))
  }
}

/// `COFFER_PASSPHRASE`, taken out of the environment before anything else runs.
///
/// The environment of a process can be read by its user (`/proc/PID/environ`) and goes to its children. What was inherited
/// cannot be called back, but it need not stay: the bytes are overwritten where the kernel put them, then the name goes.
enum EnvironmentPassphrase {
  private struct Taken: ~Copyable {
    var bytes: SecretBytes?
    var memoryRanOut = false
  }
  private static let taken = Mutex(Taken(bytes: nil))

  static func take() {
    guard let text = getenv("COFFER_PASSPHRASE") else { return }
    let length = strlen(text)
    defer {
      overwrite(text, length)
      unsetenv("COFFER_PASSPHRASE")
    }
    guard length > 0 else { return }
    taken.withLock { taken in
      do { taken.bytes = try SecretBytes(copying: UnsafeRawBufferPointer(start: text, count: length)) } catch {
        taken.memoryRanOut = true
      }
    }
  }

  /// The passphrase; nil when there was none.
  static func use() throws -> SecretBytes? {
    try taken.withLock { taken in
      guard !taken.memoryRanOut else {
        throw Failure(StoreError(memory: .exhausted(bytes: SecretReader.largestPassphrase)))
      }
      return try taken.bytes?.duplicate()
    }
  }

  // Not inlined: seen together with what follows, the stores could be dropped as dead.
  @inline(never)
  private static func overwrite(_ text: UnsafeMutablePointer<CChar>, _ length: Int) {
    for index in 0..<length { text[index] = CChar(UInt8(ascii: "x")) }
  }
}

/// What counts as one newline at the end.
enum TrailingNewline { case lineFeed, lineFeedOrCRLF }

extension SecretBytes {
  /// These bytes without one newline at their end.
  borrowing func withoutTrailingNewline(_ style: TrailingNewline) throws -> SecretBytes {
    let drop = withUnsafeBytes { raw -> Int in
      guard raw.last == UInt8(ascii: "\n") else { return 0 }
      return style == .lineFeedOrCRLF && raw.dropLast().last == UInt8(ascii: "\r") ? 2 : 1
    }
    return try prefix(count - drop)
  }

  /// These bytes, checked to be a passphrase.
  consuming func asPassphrase(from source: String) throws -> SecretBytes {
    let length = count
    guard length > 0 else { throw Failure.usage("the passphrase from \(source) is empty", try: "one of 1 to 1024 bytes") }
    guard length <= SecretReader.largestPassphrase else {
      throw Failure(
        StoreError(
          .tooLarge(limit: SecretReader.largestPassphrase), "the passphrase from \(source) is longer than 1024 bytes",
          cure: "use a shorter one, or a key file"))
    }
    return self
  }
}
