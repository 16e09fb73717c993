internal import Coffer
internal import CofferAgent
internal import CofferPlatform
internal import CofferSync
internal import CofferTerminal
internal import CofferVault

extension Context {
  /// Checks that the vault is the expected one. Needs no secret.
  func lockedVault() throws -> LockedVault {
    try checkName()
    let vault = try LockedVault.open(places.vault, options: vaultOptions())
    if readsMirror { try checkMirror(vault) }
    return vault
  }

  /// Checks, as far as possible without a key, that the mirror `vault` is the one that was refreshed last. Then says how old
  /// it is, once.
  private func checkMirror(_ vault: LockedVault) throws {
    try vault.checkAge()
    guard !isMirrorAgeTold else { return }
    isMirrorAgeTold = true
    let age = try vault.pinMemory().refreshed.map { LocalTime().ago($0) } ?? "at an unknown time"
    note("reading the mirror \(places.vault), refreshed \(age)")
  }

  /// - Throws: a failure of status 78 if the vault's argument is neither a name nor a file: it may be mistyped, and the
  ///   state of the current folder is irrelevant.
  func checkName() throws {
    guard let unknownName, let path = places.vault.path, FileFacts.isAbsent(path) else { return }
    throw try VaultNames(context: self).unknown(unknownName)
  }

  /// From the pins, the environment and the options.
  func vaultOptions() throws -> VaultOptions {
    var options: VaultOptions
    do throws(StoreError) { options = try places.expectingOptions() } catch {
      guard error.kind == .invalidName else { throw error }
      throw ExpectedVault.malformed(error)
    }
    // For any vault: the next command that writes raises a cost below the floor.
    options.leastCost = .floor
    options.isBrief = true
    options.withholdsKeys = withholdsKeys
    options.leastGeneration = [options.leastGeneration, unlocking?.minGeneration].compactMap(\.self).max()
    for text in unlocking?.invitation ?? [] {
      options.invitations.append(
        try GivenInvitation.read(text, "the value of --invitation", several: "give each invitation its own --invitation")
      )
    }
    return options
  }

  /// - Parameter keep: receives the credentials before they are used.
  /// - Throws: `.readOnly` for a mirror: a caller that needs the key is going to write.
  func unlockedVault(_ keep: (borrowing Credentials) throws -> Void = { _ in }) throws -> UnlockedVault {
    try checkIsNoMirror()
    let locked = try lockedVault()
    let vault = try opening(locked) { credentials in
      try keep(credentials)
      return try locked.unlock(with: credentials)
    }
    try noteUntriedPassphrase(vault)
    return vault
  }

  /// Notes that a passphrase on the command line was not tried, as the key file beside it opens the vault alone.
  func noteUntriedPassphrase(_ vault: borrowing UnlockedVault) throws {
    guard let unlocking, unlocking.keyFile != nil, unlocking.passphraseFile != nil || unlocking.passphraseFd != nil,
      try vault.slots().contains(where: { $0.isInUse && $0.summary.kind == .keyFile })
    else { return }
    note("the key file alone opened the vault; the passphrase was not tried")
  }

  func opening<Result: ~Copyable>(
    _ vault: LockedVault, _ open: (consuming Credentials) throws -> Result
  ) throws -> Result {
    try Opening(vault.slots, of: places.vault, self).open { credentials, _ in try open(credentials) }
  }
}

extension Context {
  /// The agent, if it holds the vault unlocked and nothing on the command line comes before it.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/denied`` if the agent is another user's,
  ///   ``/CofferPlatform/StoreError/Kind/busy`` if it does not answer.
  func agent() throws -> AgentClient? {
    guard let client = try possibleAgent() else { return nil }
    guard try client.holdsVault else { return nil }
    showNews(of: client)
    return client
  }

  /// Shows a person the conflicts and errors of the agent's automatic syncs, each once.
  private func showNews(of agent: AgentClient) {
    guard !isNewsShown, !quiet, !json, Display.errors.isTerminal else { return }
    isNewsShown = true
    do throws(StoreError) {
      for outcome in try agent.syncNews() {
        if let error = outcome.error {
          note("automatic sync with \(outcome.remote): \(error.what); coffer vault sync tries again")
        }
        for taken in outcome.report?.taken ?? [] {
          for conflict in taken.changes.conflicts {
            note("'\(conflict.name)' was changed here and on \(taken.machine); coffer history shows both values")
          }
        }
      }
    } catch { note("the agent did not tell of its syncs: \(error.what)") }
  }

  /// The agent, which alone uses keys, with the vault unlocked.
  func keyAgent() throws -> AgentClient {
    guard unlocking?.noAgent != true else {
      throw Failure.usage("only the agent uses keys", try: "the command without --no-agent")
    }
    try checkIsNoMirror()
    if let agent = try agent() { return agent }
    let locked = try lockedVault()
    let opening = try Opening(locked.slots, of: places.vault, self)
    let (client, settings) = (AgentClient(folder: places.run, vault: places.vault, options: locked.options), Settings(self))
    _ = try opening.open { credentials, _ in
      if try agentStatus() == nil { try DetachedAgent.startApart(self) }
      return try client.unlock(with: credentials, idle: settings.idle, lifetime: settings.lifetime)
    }
    return client
  }

  /// Opened by the agent if that holds the vault, otherwise with the sources.
  func openedVault() throws -> OpenedVault {
    if let agent = try agent() { return .byAgent(agent) }
    return try OpenedVault(self)
  }

  /// A client for an agent that may run and may hold the vault.
  func possibleAgent() throws -> AgentClient? {
    guard unlocking?.leavesAgent ?? true, !readsMirror else { return nil }
    return AgentClient(
      folder: places.run, vault: places.vault, options: try vaultOptions(), known: try identityInvitations(places.run))
  }

  /// The invitations in the environment's identity file, for an agent to check, if one may run in `folder`. Anything but a
  /// regular file, such as a pipe, can be read only once, for unlocking.
  private func identityInvitations(_ folder: FilePath) throws -> [Invitation] {
    guard let path = ProcessEnvironment.value("COFFER_IDENTITY"), FileFacts.exists(folder.appending("agent.sock")) else {
      return []
    }
    var facts = stat()
    guard stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return [] }
    return try Identity.invitations(in: CredentialSources(self).identity(path))
  }

  func agentStatus() throws(StoreError) -> AgentStatus? {
    try askingAgent(ofAll: readsMirror) { (client) throws(StoreError) in try client.status() }
  }

  /// Has the agent lock this vault, or all; false without an agent.
  func lockAgent(all: Bool = false) throws(StoreError) -> Bool {
    try askingAgent(ofAll: all) { (client) throws(StoreError) in try client.lock() } != nil
  }

  /// Nil without an agent.
  private func askingAgent<Answer>(
    ofAll: Bool, _ body: (AgentClient) throws(StoreError) -> Answer
  ) throws(StoreError) -> Answer? {
    let client =
      ofAll ? AgentClient(folder: places.run) : AgentClient(folder: places.run, vault: places.vault, options: .withoutPins)
    do throws(StoreError) { return try body(client) } catch {
      guard error.kind == .noAgent else { throw error }
      return nil
    }
  }
}

extension AgentClient {
  /// - Throws: `.denied`, `.busy`.
  var holdsVault: Bool {
    get throws(StoreError) {
      do throws(StoreError) { return try status().unlocked != nil } catch {
        // Not running, or there for another vault: unlocking here finds out and reports the reason.
        guard [.noAgent, .otherVault, .replaced].contains(error.kind) else { throw error }
        return false
      }
    }
  }
}

/// `COFFER_EXPECT_VAULT`: a machine without a rollback pin still knows which vault it must find.
enum ExpectedVault {
  static func malformed(_ error: StoreError) -> Failure {
    var failure = Failure.usage(
      "COFFER_EXPECT_VAULT is neither a vault's id nor invitations",
      try: "32 hexadecimal digits, and a colon and a generation if wanted; or PVINV1-…, with spaces between several; "
        + "or the absolute path of a file with these")
    failure.detail = (error.underlying as? StoreError)?.what
    return failure
  }

  /// Refuses to make a vault where a certain one is expected: no command would open the new one.
  static func checkNewVault() throws {
    guard ProcessEnvironment.value("COFFER_EXPECT_VAULT") != nil else { return }
    throw Failure.usage(
      "COFFER_EXPECT_VAULT names another vault, so no command would open the new one",
      try: "unset COFFER_EXPECT_VAULT; coffer vault pin show prints the new vault's invitation once it is created")
  }
}

enum GivenInvitation {
  /// - Parameters:
  ///   - place: where it was given.
  ///   - several: the cure for more than one.
  static func read(_ text: String, _ place: String, several: String) throws -> Invitation {
    do throws(StoreError) { return try Invitation(text) } catch {
      let words = text.split { $0 == " " || $0.isNewline }
      guard words.count < 2 else { throw Failure.usage("\(place) is not an invitation, but \(words.count) words", try: several) }
      throw Failure.usage("\(place) is not an invitation: one is PVINV1- and 120 hexadecimal digits", try: error.cure)
    }
  }
}
