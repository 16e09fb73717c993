internal import ArgumentParser
internal import Coffer
internal import CofferAgent
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault

extension Context {
  /// Opens the vault and checks that it is the expected one. Needs no secret.
  func lockedVault() throws -> LockedVault {
    try checkName()
    let vault = try LockedVault.open(places.vault, options: vaultOptions())
    if places.vault.isMirror { try checkMirror(vault) }
    return vault
  }

  /// Checks, as far as possible without a key, that the mirror `vault` is the one that was refreshed last. Then says how old it is,
  /// once.
  private func checkMirror(_ vault: LockedVault) throws {
    try vault.checkAge()
    guard !isMirrorAgeTold else { return }
    isMirrorAgeTold = true
    let age = try vault.pinMemory().refreshed.map { LocalTime().ago($0) } ?? "at an unknown time"
    note("reading the mirror \(places.vault), refreshed \(age)")
  }

  /// - Throws: a failure of status 78 where the vault is named by what is neither a name nor a file: it may be mistyped, and what
  ///   is wrong with the current folder is beside the point.
  func checkName() throws {
    guard let unknownName, let path = places.vault.path, FileFacts.isAbsent(path) else { return }
    throw try VaultNames(context: self).unknown(unknownName)
  }

  /// What the vault is compared with: the pins, the environment and the options.
  func vaultOptions() throws -> VaultOptions {
    var options: VaultOptions
    do throws(StoreError) { options = try places.expectingOptions() } catch { throw ExpectedVault.malformed(error) }
    // Whatever made the vault and whenever: what costs an attacker less is raised by the next command that writes.
    options.leastCost = .floor
    options.isBrief = true
    options.leastGeneration = [options.leastGeneration, unlocking?.minGeneration].compactMap(\.self).max()
    for text in unlocking?.invitation ?? [] {
      options.invitations.append(
        try GivenInvitation.read(text, "what follows --invitation", several: "give each invitation by an --invitation of its own")
      )
    }
    return options
  }

  /// Opens and unlocks the vault.
  ///
  /// - Parameter keep: is lent what opened it.
  /// - Throws: `.readOnly` where a mirror is read: whoever needs the key itself is going to write.
  func unlockedVault(_ keep: (borrowing Credentials) throws -> Void = { _ in }) throws -> UnlockedVault {
    try places.vault.checkIsNoMirror()
    let locked = try lockedVault()
    let vault = try opening(locked) { credentials in
      try keep(credentials)
      return try locked.unlock(with: credentials)
    }
    try noteUntriedPassphrase(vault)
    return vault
  }

  /// Says that a passphrase on the command line opened nothing, right or wrong, as the key file beside it opens the vault alone.
  func noteUntriedPassphrase(_ vault: borrowing UnlockedVault) throws {
    guard let unlocking, unlocking.keyFile != nil, unlocking.passphraseFile != nil || unlocking.passphraseFd != nil,
      try vault.slots().contains(where: { $0.isInUse && $0.summary.kind == .keyFile })
    else { return }
    note("the key file alone opened the vault; the passphrase was not tried")
  }

  /// Lends what opens `vault` to `open`: see ``Opening``.
  func opening<Result: ~Copyable>(
    _ vault: LockedVault, _ open: (consuming Credentials) throws -> Result
  ) throws -> Result {
    try Opening(vault.slots, of: places.vault, self).open { credentials, _ in try open(credentials) }
  }
}

extension Context {
  /// The agent, where one holds the vault unlocked and nothing on the command line comes before it.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/denied`` when the agent is another user's,
  ///   ``/CofferPlatform/StoreError/Kind/busy`` when it does not answer.
  func agent() throws -> AgentClient? {
    guard let client = try possibleAgent() else { return nil }
    return try client.holdsVault ? client : nil
  }

  /// The vault, opened by the agent where that holds it, else with what the sources have.
  func openedVault() throws -> OpenedVault {
    if let agent = try agent() { return .byAgent(agent) }
    return try OpenedVault(self)
  }

  /// A client for an agent that may run and may hold the vault.
  func possibleAgent() throws -> AgentClient? {
    guard unlocking?.leavesAgent ?? true, !places.vault.isMirror else { return nil }
    return AgentClient(
      folder: places.run, vault: places.vault, options: try vaultOptions(), known: try identityInvitations(places.run))
  }

  /// The invitations in the identity's file that the environment names, for an agent to check, where one may run in `folder`.
  /// What is no file, such as a pipe, is read once, by whoever unlocks with it.
  private func identityInvitations(_ folder: FilePath) throws -> [Invitation] {
    guard let path = ProcessEnvironment.value("COFFER_IDENTITY"), FileFacts.exists(folder.appending("agent.sock")) else {
      return []
    }
    var facts = stat()
    guard stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return [] }
    return try Identity.invitations(in: CredentialSources(self).identity(path))
  }

  /// What the agent says of itself and of the vault, whether it holds that or not; nil where none runs.
  func agentStatus() throws(StoreError) -> AgentStatus? {
    do throws(StoreError) {
      return try AgentClient(folder: places.run, vault: places.vault, options: .withoutPins).status()
    } catch {
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

/// `COFFER_EXPECT_VAULT`: a machine without a rollback pin still knows which vault it must find.
enum ExpectedVault {
  /// - Parameter error: says which word is none.
  static func malformed(_ error: StoreError) -> Failure {
    var failure = Failure.usage(
      "COFFER_EXPECT_VAULT is neither a vault's id nor invitations",
      try: "32 hexadecimal digits, and a colon and a generation if wanted; or PVINV1-…, with spaces between several")
    failure.detail = (error.underlying as? StoreError)?.what
    return failure
  }

  /// Refuses to make a vault where a certain one is expected: a new one is another, and no command would open it.
  static func checkNewVault() throws {
    guard ProcessEnvironment.value("COFFER_EXPECT_VAULT") != nil else { return }
    throw Failure.usage(
      "COFFER_EXPECT_VAULT names a vault, and a new one is another, which no command would open",
      try: "unset COFFER_EXPECT_VAULT; coffer vault pin show prints the invitation to the new vault once it is made")
  }
}

/// An invitation on the command line.
enum GivenInvitation {
  /// - Parameters:
  ///   - place: where it was given.
  ///   - several: what to do with more than one.
  /// - Throws: a usage failure for what is none.
  static func read(_ text: String, _ place: String, several: String) throws -> Invitation {
    do throws(StoreError) { return try Invitation(text) } catch {
      let words = text.split { $0 == " " || $0.isNewline }
      guard words.count < 2 else { throw Failure.usage("\(place) is no invitation, but \(words.count) words", try: several) }
      throw Failure.usage(
        "\(place) is no invitation: it begins with PVINV1- and has 120 hexadecimal digits after it", try: error.cure)
    }
  }
}
