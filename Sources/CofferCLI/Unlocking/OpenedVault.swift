internal import Coffer
internal import CofferAgent
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault

/// The vault, opened for a command that needs neither its key nor another thing that the agent keeps to itself.
enum OpenedVault: ~Copyable {
  /// By the agent, which keeps it unlocked for the next command.
  case byAgent(AgentClient)
  /// In this process.
  case here(UnlockedVault)

  /// Opens the vault with what the sources have, in this process. What a person types goes to the agent, so that it is typed
  /// once.
  init(_ context: Context) throws {
    let locked = try context.lockedVault()
    var keeper = AgentKeeper(context)
    self = try Opening(locked.slots, of: context.places.vault, context).open { credentials, isTyped in
      if isTyped, let client = try keeper.unlock(with: credentials) { return .byAgent(client) }
      let vault = try locked.unlock(with: credentials)
      try context.noteUntriedPassphrase(vault)
      return .here(vault)
    }
  }
}

/// Hands what a person typed to the agent, which is started where none runs, unless a setting says otherwise.
struct AgentKeeper {
  private let context: Context
  private let settings: Settings
  /// Nil once it is known that the agent cannot keep this vault.
  private var client: AgentClient?

  init(_ context: Context) {
    self.context = context
    settings = Settings(context)
    client = nil
  }

  /// Why the agent did not take the vault, and nothing is wrong with the vault or what was typed.
  private static let obstacles: [StoreError.Kind] = [.otherVault, .replaced, .noAgent, .outcomeUnknown]

  /// Has the agent unlock the vault; nil where it shall not or cannot. The latter is said.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/wrongSecret``, and whatever else is wrong with the vault.
  mutating func unlock(with credentials: borrowing Credentials) throws -> AgentClient? {
    guard context.unlocking?.leavesAgent ?? true, !context.places.vault.isMirror, !Self.isService, settings.keepsInAgent else {
      return nil
    }
    guard let client = try running() else { return nil }
    do throws(StoreError) {
      _ = try client.unlock(with: credentials, idle: settings.idle, lifetime: settings.lifetime)
      return client
    } catch {
      guard Self.obstacles.contains(error.kind) else { throw error }
      return notKept(Failure(error))
    }
  }

  /// A client of the agent, which is started where none runs.
  private mutating func running() throws -> AgentClient? {
    if let client { return client }
    do {
      if try context.agentStatus() == nil { try DetachedAgent.startApart(context) }
      client = try context.possibleAgent()
      return client
    } catch let failure as Failure { return notKept(failure) } catch let error as StoreError { return notKept(Failure(error)) }
  }

  private func notKept(_ failure: Failure) -> AgentClient? {
    let place = failure.place.map { " (\($0))" } ?? ""
    context.note("the next command asks again: \(failure.what)\(place)" + (failure.cure.map { "; try: \($0)" } ?? ""))
    return nil
  }

  /// A service has its secret from where its unit says, and nobody who would be asked twice. Source: systemd.exec(5).
  private static var isService: Bool {
    ProcessEnvironment.value("CREDENTIALS_DIRECTORY") != nil
      || (ProcessEnvironment.value("INVOCATION_ID") != nil && Terminal() == nil)
  }
}
