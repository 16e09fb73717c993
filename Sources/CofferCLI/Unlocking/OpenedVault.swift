internal import Coffer
internal import CofferAgent
internal import CofferFormats
internal import CofferPlatform
internal import CofferTerminal
internal import CofferVault

/// The vault, opened for a command that needs neither its key nor anything else that the agent keeps to itself.
enum OpenedVault: ~Copyable {
  /// By the agent, which keeps it unlocked for the next command.
  case byAgent(AgentClient)
  case here(UnlockedVault)

  /// Opens the vault with the sources, in this process. Typed secrets go to the agent, so that they are typed once.
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

/// Gives typed secrets to the agent, which is started if none runs, unless a setting forbids that.
struct AgentKeeper {
  private let context: Context
  private let settings: Settings
  /// Nil once it is known that the agent cannot keep this vault.
  private var client: AgentClient?

  init(_ context: Context) { (self.context, settings) = (context, Settings(context)) }

  /// Refusals that mean no fault of the vault or of the typed secret.
  private static let obstacles: [StoreError.Kind] = [.otherVault, .replaced, .noAgent, .outcomeUnknown]

  /// Unlocks the vault in the agent; nil if it must not or cannot. The latter is reported.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/wrongSecret``; other errors of the vault.
  mutating func unlock(with credentials: borrowing Credentials) throws -> AgentClient? {
    guard context.unlocking?.leavesAgent ?? true, !context.readsMirror, !Self.isService, settings.keepsInAgent else { return nil }
    guard let client = try running() else { return nil }
    do throws(StoreError) {
      _ = try client.unlock(with: credentials, idle: settings.idle, lifetime: settings.lifetime)
      return client
    } catch {
      guard Self.obstacles.contains(error.kind) else { throw error }
      return notKept(Failure(error))
    }
  }

  /// Hands over the secrets of a vault after this process has made it or has changed its passphrase; a failure is only
  /// reported.
  ///
  /// - Returns: how long the vault stays unlocked without use; nil if the agent does not keep it.
  @discardableResult
  static func keep(_ credentials: borrowing Credentials, _ context: Context) -> Duration? {
    var keeper = AgentKeeper(context)
    context.spin("Unlocking")
    defer { StatusLine.clear() }
    do { return try keeper.unlock(with: credentials).map { try $0.status() }.map { min($0.idle, $0.lifetime) } } catch {
      if let failure = Failure.of(error) { _ = keeper.notKept(failure) }
      return nil
    }
  }

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

  /// A service gets its secret from its unit, and has no person to ask twice. Source: systemd.exec(5).
  private static var isService: Bool {
    ProcessEnvironment.value("CREDENTIALS_DIRECTORY") != nil
      || (ProcessEnvironment.value("INVOCATION_ID") != nil && Terminal() == nil)
  }
}

extension OpenedVault {
  /// Lends each item with its value to `body`, expired ones too, by name; those without a value to `withoutValue`. Goes on
  /// after a damaged one if `unreadable` takes it, and this process holds the vault.
  borrowing func forEachItem(
    withFields: Bool = false, withoutValue: @escaping (VaultItem) throws -> Void,
    unreadable: ((VaultItem, StoreError) -> Void)? = nil, _ body: (VaultItem, SecretForm) throws -> Void
  ) throws {
    switch self {
    case .byAgent(let agent): try agent.forEachItem(withFields: withFields, withoutValue: withoutValue, body)
    case .here(let vault):
      try vault.forEachItem(withFields: withFields, withoutValue: withoutValue, unreadable: unreadable, body)
    }
  }

  /// Writes a new vault with the items of some services, or all, and returns their number. All include Coffer's own, which keep
  /// the active logins active and are not counted.
  borrowing func export(
    to target: VaultPlace, of places: Places, services: [String]?, with credentials: consuming Credentials, label: String
  ) throws(StoreError) -> Int {
    let own = ItemQuery(service: LoginItems.pointers)
    switch self {
    case .byAgent(let agent):
      let hidden = try services == nil ? agent.find(own).count : 0
      return try agent.export(
        to: target, of: places.vault, services: services, with: credentials, label: label, pins: places.vaultOptions.pins)
        - hidden
    case .here(let vault):
      let hidden = try services == nil ? vault.find(own).count : 0
      return try vault.export(to: target, services: services, with: credentials, label: label) - hidden
    }
  }

  borrowing func slots() throws(StoreError) -> [VaultStatus.Slot] {
    switch self {
    case .byAgent(let agent): try agent.ask(Calls.describe).status.slots
    case .here(let vault): try vault.slots()
    }
  }

  borrowing func add(
    _ items: [ImportedItem], duplicates: DuplicatePolicy, keeping: Int = 0, isTrial: Bool, progress: (Int) -> Void = { _ in }
  ) throws(StoreError) -> ImportReport {
    switch self {
    case .byAgent(let agent): try agent.add(items, duplicates: duplicates, keeping: keeping, isTrial: isTrial, progress: progress)
    case .here(let vault): try vault.add(items, duplicates: duplicates, keeping: keeping, isTrial: isTrial, progress: progress)
    }
  }

  /// Whether so many items can be added at once. The agent's memory and time are for others too.
  borrowing func takes(_ items: [ImportedItem]) -> Bool {
    switch self {
    case .byAgent: AgentClient.takes(items)
    case .here: true
    }
  }
}
