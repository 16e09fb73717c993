internal import ArgumentParser
internal import Coffer
internal import CofferAgent
internal import CofferVault

/// What opens the vault, said on the command line. Without any of these the environment is asked, then the terminal.
struct UnlockingOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Read the passphrase from this open descriptor.", valueName: "n"))
  var passphraseFd: Int32?

  @Option(help: ArgumentHelp("Read the passphrase from this file; - is standard input.", valueName: "path"))
  var passphraseFile: String?

  @Option(help: ArgumentHelp("Open with this key file.", valueName: "path"))
  var keyFile: String?

  @Option(help: ArgumentHelp("Open with the recovery code in this file.", valueName: "path"))
  var recoveryFile: String?

  @Option(help: ArgumentHelp("Open with the recipient's identity in this file.", valueName: "path"))
  var identity: String?

  @Option(
    help: ArgumentHelp("Refuse a vault older than this (its generation, as 'coffer vault status' prints it).", valueName: "n"))
  var minGeneration: UInt64?

  @Flag(help: "Unlock in this process, even where an agent holds the vault.")
  var noAgent = false

  func validate() throws {
    guard passphraseFd == nil || passphraseFile == nil else {
      throw ValidationError("give the passphrase by --passphrase-fd or by --passphrase-file, not by both")
    }
  }

  var isEmpty: Bool {
    passphraseFd == nil && passphraseFile == nil && keyFile == nil && recoveryFile == nil && identity == nil
  }

  /// Whether the agent may serve: nothing else is named.
  var leavesAgent: Bool { isEmpty && !noAgent }

  /// Whether the passphrase comes from standard input.
  var usesStandardInput: Bool { passphraseFile == "-" || passphraseFd == 0 }
}

extension Context {
  /// Opens the vault and checks that it is the expected one. Needs no secret.
  func lockedVault() throws -> LockedVault {
    var vault = try places.openVault()
    try ExpectedVault.fromEnvironment()?.check(vault.id, at: places.vault)
    vault.options = try vaultOptions()
    return vault
  }

  /// What the vault is compared with: the pins, the environment and the options.
  func vaultOptions() throws -> VaultOptions {
    var options = places.vaultOptions
    // Whatever made the vault and whenever: what costs an attacker less is raised by the next command that writes.
    options.leastCost = .floor
    let expected = try ExpectedVault.fromEnvironment()
    options.expected = expected?.vault
    options.leastGeneration = [expected?.generation, unlocking?.minGeneration].compactMap(\.self).max()
    return options
  }

  /// Opens and unlocks the vault.
  func unlockedVault() throws -> UnlockedVault {
    let locked = try lockedVault()
    return try locked.unlock(with: credentials(for: locked))
  }

  /// What opens `vault`.
  func credentials(for vault: LockedVault) throws -> Credentials {
    try CredentialSources(self).credentials(for: vault.slots, of: places.vault)
  }
}

extension Context {
  /// The agent, where one holds the vault unlocked and nothing on the command line comes before it.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/denied`` when the agent is another user's, ``/CofferPlatform/StoreError/Kind/busy`` when it does not answer.
  func agent() throws -> AgentClient? {
    guard let client = try possibleAgent() else { return nil }
    return try client.holdsVault ? client : nil
  }

  /// A client for an agent that may run and may hold the vault.
  func possibleAgent() throws -> AgentClient? {
    guard unlocking?.leavesAgent ?? true, let run = places.run else { return nil }
    return AgentClient(folder: run, vault: places.vault, options: try vaultOptions())
  }

  /// The run folder, which the agent needs.
  func runFolder() throws(StoreError) -> FilePath {
    guard let run = places.run else {
      throw StoreError(
        .denied, "XDG_RUNTIME_DIR is not set, so there is no folder for the agent's socket", cure: Self.runFolderCure)
    }
    return run
  }

  /// A login through systemd sets the variable; su(1), some ways of ssh(1), and containers do not.
  static let runFolderCure =
    "in your shell's profile: mkdir -pm 700 ~/.run && export XDG_RUNTIME_DIR=~/.run; or a login session, which sets it"

  /// What the agent says of itself, whichever vault it keeps; nil where none runs.
  func agentStatus() throws(StoreError) -> AgentStatus? {
    guard let run = places.run else { return nil }
    do throws(StoreError) { return try AgentClient(folder: run).status() } catch {
      guard error.kind == .noAgent else { throw error }
      return nil
    }
  }
}

extension AgentClient {
  /// Whether an agent runs and holds the vault unlocked.
  ///
  /// - Throws: `.denied`, `.busy`.
  var holdsVault: Bool {
    get throws(StoreError) {
      do throws(StoreError) { return try status().unlocked != nil } catch {
        // Not running, or there for another vault: unlocking here finds out what is so, and says it.
        guard [.noAgent, .otherVault, .replaced].contains(error.kind) else { throw error }
        return false
      }
    }
  }
}

/// `COFFER_EXPECT_VAULT=ID[:GENERATION]`: a machine without a rollback pin still knows which vault it must find, and how new
/// it must be.
struct ExpectedVault: Equatable {
  let id: String
  let generation: UInt64?

  static func fromEnvironment() throws -> ExpectedVault? {
    guard let text = ProcessEnvironment.value("COFFER_EXPECT_VAULT") else { return nil }
    return try ExpectedVault(text)
  }

  init(_ text: String) throws(Failure) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    let digits = parts[0].lowercased()
    guard parts.count <= 2, digits.count == 32, digits.allSatisfy(\.isHexDigit) else { throw Self.malformed }
    id = digits
    generation = parts.count == 2 ? UInt64(parts[1]) : nil
    guard parts.count == 1 || generation != nil else { throw Self.malformed }
  }

  func check(_ found: VaultID, at path: FilePath) throws(StoreError) {
    guard found.description != id else { return }
    throw StoreError(
      .replaced, "vault \(found) stands where COFFER_EXPECT_VAULT says \(id)", place: path.string,
      cure: "put the expected vault back, or change COFFER_EXPECT_VAULT if this one is right")
  }

  /// The id as the library has it.
  var vault: VaultID? { VaultID(id) }

  private static let malformed = Failure.usage(
    "COFFER_EXPECT_VAULT is not a vault's id", try: "32 hexadecimal digits, and a colon and a generation if wanted")
}
