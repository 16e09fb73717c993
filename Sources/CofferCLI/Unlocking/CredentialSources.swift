internal import CofferTerminal
internal import CofferVault
internal import CofferPlatform
internal import Synchronization

/// The sources of a passphrase or key in their order: the command line, the environment, a service's credentials folder, the
/// terminal. The first that has something is used; a later one only adds the part that a slot still lacks.
struct CredentialSources {
  private let context: Context
  private let warning: Bool

  /// - Parameter warning: whether a note names a file that others can read. Not at every command: `doctor` finds it too.
  init(_ context: Context, warning: Bool = false) { (self.context, self.warning) = (context, warning) }

  func claimInput() throws(Failure) {
    if context.unlocking?.usesStandardInput == true { try context.input.claim(for: "the passphrase") }
  }

  /// The descriptors that the command line and the environment name, by number or path. A command that inherits one could
  /// read the secret again.
  var descriptors: [Int32] {
    let options = context.unlocking
    let passphrases = [options?.passphraseFile, ProcessEnvironment.value("COFFER_PASSPHRASE_FILE")].compactMap { $0 }
    let keys =
      [options?.keyFile, options?.recoveryFile, options?.identity]
      + ["COFFER_KEY_FILE", "COFFER_IDENTITY"].map { ProcessEnvironment.value($0) }
    // `-` is standard input for a passphrase alone: for a key it is a file of that name.
    let named =
      passphrases.map { $0 == "-" ? STDIN_FILENO : GivenPath.descriptor(of: $0) } + keys.map { $0.flatMap(GivenPath.descriptor) }
    return (named + [options?.passphraseFd]).compactMap { $0 }
  }

  /// The sources' secrets for one of `slots`, without a question.
  func given(for slots: [SlotSummary]) throws -> Given {
    var found = try fromOptions()
    if found.isEmpty { found = try fromEnvironment() }
    if found.isEmpty { found.passphrase = try fromCredentialsFolder() }
    return try completed(found, for: Set(slots.map(\.kind)))
  }

  struct Given: ~Copyable {
    let credentials: Credentials
    /// Whether a passphrase would open a slot that these do not.
    let lacksPassphrase: Bool

    init(_ credentials: consuming Credentials, lacking: Bool) {
      self.credentials = credentials
      lacksPassphrase = lacking
    }
  }

  /// The secrets for another vault beside those of ``given(for:)``: if the command line names some, those of the
  /// environment.
  func others() throws -> Credentials { context.unlocking?.isEmpty ?? true ? Credentials() : try fromEnvironment() }

  func fromOptions() throws -> Credentials {
    guard let options = context.unlocking else { return Credentials() }
    return try secrets(of: options)
  }

  func secrets(of options: UnlockingOptions) throws -> Credentials {
    var found = Credentials()
    if let descriptor = options.passphraseFd {
      found.passphrase = try passphrase(fromDescriptor: descriptor)
    } else if let path = options.passphraseFile {
      found.passphrase = try passphrase(fromFile: path)
    }
    if let path = options.keyFile { found.keyFile = try keyFile(path) }
    if let path = options.recoveryFile { found.recoveryCode = try recoveryCode(path) }
    if let path = options.identity { found.identity = try identity(path) }
    return found
  }

  func fromEnvironment(withPassphrase: Bool = true) throws -> Credentials {
    var found = Credentials()
    if withPassphrase { found.passphrase = try environmentPassphrase() }
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

  // A systemd service finds its credentials there.
  func fromCredentialsFolder() throws -> SecretBytes? {
    if let folder = ProcessEnvironment.value("CREDENTIALS_DIRECTORY") {
      try GivenPath.check(FilePath(folder).appending("coffer.passphrase").string)
    }
    do throws(StoreError) { return try Credentials.servicePassphrase() } catch { throw error.asUsageWhereEmpty }
  }

  /// A slot may need a passphrase and a key file together: later sources complete the missing half.
  private func completed(_ given: consuming Credentials, for kinds: Set<SlotKind>) throws -> Given {
    var found = given
    let both = kinds.contains(.passphraseAndKeyFile)
    func completeKeyFile(_ found: inout Credentials) throws {
      guard both, found.keyFile == nil, let path = ProcessEnvironment.value("COFFER_KEY_FILE") else { return }
      found.keyFile = try keyFile(path)
    }
    if found.passphrase != nil { try completeKeyFile(&found) }
    let opensAlone = found.recoveryCode != nil || found.identity != nil || (found.keyFile != nil && kinds.contains(.keyFile))
    let wanted = found.keyFile == nil ? both || kinds.contains(.passphrase) : both
    guard found.passphrase == nil, wanted, !opensAlone else { return Given(found, lacking: false) }
    found.passphrase = try environmentPassphrase()
    if found.passphrase == nil { found.passphrase = try fromCredentialsFolder() }
    // The other half of a slot that needs both, from any source.
    try completeKeyFile(&found)
    return Given(found, lacking: found.passphrase == nil)
  }

  func passphrase(fromDescriptor descriptor: Int32) throws -> SecretBytes {
    let text = try SecretReader.given(
      descriptor, limit: SecretFile.largestPassphrase + 2, what: "the passphrase", place: "descriptor \(descriptor)")
    return try text.withoutTrailingNewline(.lineFeedOrCRLF).asPassphrase(from: "descriptor \(descriptor)")
  }

  func passphrase(fromFile path: String) throws -> SecretBytes {
    guard path != "-" else { return try passphrase(fromDescriptor: 0) }
    try GivenPath.check(path)
    do throws(StoreError) { return try Credentials.passphrase(at: FilePath(path), warning: warning) } catch {
      throw error.asUsageWhereEmpty
    }
  }

  func keyFile(_ path: String) throws -> SecretBytes {
    try GivenPath.check(path)
    return try Credentials.keyFile(at: FilePath(path), warning: warning)
  }

  func recoveryCode(_ path: String) throws -> SecretBytes {
    try SecretReader.file(path, limit: SecretFile.largestToken, what: "the recovery code").withoutTrailingNewline(.lineFeedOrCRLF)
  }

  func identity(_ path: String) throws -> SecretBytes {
    try GivenPath.check(path)
    return try Credentials.identity(at: FilePath(path), warning: warning)
  }

  static func nothing(_ vault: VaultPlace) -> Failure {
    Failure(
      StoreError(
        .locked, "the vault is locked and there is nothing to unlock it with", place: vault.description,
        cure: "run 'coffer unlock'; for scripts, see 'coffer help unlocking'"))
  }
}

/// `COFFER_PASSPHRASE`, taken out of the environment before anything else runs.
///
/// A process's environment is readable by its user (`/proc/PID/environ`) and inherited by its children. Other copies may
/// exist, but this one need not stay: the bytes are overwritten in place, then the name is removed.
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

  static func use() throws -> SecretBytes? {
    try taken.withLock { taken in
      guard !taken.memoryRanOut else { throw Failure(StoreError(memory: .exhausted(bytes: SecretFile.largestPassphrase))) }
      return try taken.bytes?.duplicate()
    }
  }

  // Not inlined: seen together with its callers, the stores could be dropped as dead.
  @inline(never)
  private static func overwrite(_ text: UnsafeMutablePointer<CChar>, _ length: Int) {
    for index in 0..<length { text[index] = CChar(UInt8(ascii: "x")) }
  }
}

extension StoreError {
  fileprivate var asUsageWhereEmpty: Failure {
    kind == .unfitSecret ? .usage(what, try: "one of 1 to 1024 bytes") : Failure(self)
  }
}

extension SecretBytes {
  consuming func asPassphrase(from source: String) throws -> SecretBytes {
    do throws(StoreError) { return try checkedAsPassphrase(from: source) } catch { throw error.asUsageWhereEmpty }
  }
}
