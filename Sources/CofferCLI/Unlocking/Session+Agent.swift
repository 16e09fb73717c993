internal import Coffer

extension Session {
  /// The agent, where one holds the vault unlocked and nothing on the command line comes before it.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/denied`` when the agent is another user's, ``/CofferPlatform/StoreError/Kind/busy`` when it does not answer.
  func agent(_ options: UnlockingOptions) throws -> AgentClient? {
    guard let client = try possibleAgent(options) else { return nil }
    return try client.holdsVault ? client : nil
  }

  /// A client for an agent that may run and may hold the vault.
  func possibleAgent(_ options: UnlockingOptions) throws -> AgentClient? {
    guard options.isEmpty, !options.noAgent, let run = places.run else { return nil }
    return AgentClient(folder: run, vault: places.vault, options: try vaultOptions(options))
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
      guard error.kind == .locked else { throw error }
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
        guard [.locked, .refused, .replaced].contains(error.kind) else { throw error }
        return false
      }
    }
  }
}
