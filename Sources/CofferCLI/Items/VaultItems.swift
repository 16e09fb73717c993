internal import Coffer
internal import CofferAgent
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

/// The items of the vault, whether the agent or this process holds the keys.
///
/// If the agent locks or goes away between two calls, the next source unlocks the vault. An unanswered write is an error
/// instead, since it may have happened.
final class VaultItems {
  let context: Context
  var place: VaultPlace { context.places.vault }
  private var agent: AgentClient?
  /// The agent is known to hold the vault. If it then loses the vault, the user is notified.
  private var hasAnswered: Bool
  private var own: UnlockedVault?
  /// Whether a part of a name may be enough. Not for the reference of a program.
  var takesParts = true
  /// Whether a person may be asked which of several items is meant.
  var asks = true

  fileprivate init(_ context: Context, agent: AgentClient, hasAnswered: Bool) {
    (self.context, self.agent, self.hasAnswered) = (context, agent, hasAnswered)
  }

  fileprivate init(_ context: Context, _ opened: consuming OpenedVault) {
    self.context = context
    switch consume opened {
    case .byAgent(let client):
      agent = client
      hasAnswered = true
      own = nil
    case .here(let vault):
      hasAnswered = false
      own = consume vault
    }
  }

  func get(_ name: ItemName) throws -> SecretForm? {
    do { return try ask(Calls.get, name) } catch let error as StoreError
      where error.kind == .expired || error.remedy == .leaveWithholding
    {
      throw StoreError(
        error.kind, error.what, key: error.key, place: error.place,
        cure: error.kind == .expired
          ? "coffer set stores a fresh value, \(CommandText.item("edit", name)) --expires never keeps this one"
          : "\(CommandText.item("get", name)) --reveal, with a secret of the vault")
    }
  }

  func item(_ name: ItemName) throws -> VaultItem? { try ask(Calls.item, name).first }

  /// The named item, or, without an account, the service's only one. A person may give a part of a name or of a label.
  func item(service: String, account: String?) throws -> VaultItem {
    if let item = try itemIfAny(service: service, account: account) { return item }
    if account == nil {
      let mayBeFolder = service.hasSuffix("/") && !ItemWords.hasScheme(service)
      guard try !mayBeFolder || items(below: service).isEmpty else { throw Self.isFolder(service) }
      if let meant = try resembling(service) { return meant }
    }
    let name = try ItemName(service: service, account: account ?? "")
    throw Self.notFound(name, LikelyNames.question(try near(name).filter { $0 != name.description }))
  }

  /// Like ``item(service:account:)``, without a guess; nil if there is none.
  func itemIfAny(service: String, account: String?) throws -> VaultItem? {
    let name = try ItemName(service: service, account: account ?? "")
    var found = try account == nil ? list(service: service) : [item(name)].compactMap(\.self)
    if found.isEmpty { found = try spelled(service, account) }
    if found.isEmpty {
      found = try spellings(of: [(service, account ?? "")]).flatMap { try list(service: $0.service) }
        .filter { account == nil || $0.name.account == account }
    }
    guard found.count > 1 else { return found.first }
    if let chosen = try chosen(of: found) { return chosen }
    throw Self.ambiguous(found.map(\.name), service)
  }

  /// The names of hosts among `names`, in each spelling that is there: they have no case (RFC 4343).
  func spellings(of names: [(service: String, account: String)]) throws -> [ItemName] {
    let hosts = names.filter { $0.service.contains(".") && !ItemWords.hasScheme($0.service) }
    let services = try hosts.isEmpty ? [] : self.names(of: nil)
    return try hosts.flatMap { host in
      try services.filter { $0.lowercased() == host.service.lowercased() }
        .map { try ItemName(service: $0, account: host.account) }
    }
  }

  /// With an account, the list is not read first.
  func value(service: String, account: String?) throws -> SecretForm {
    guard let account else { return try value(of: item(service: service, account: nil).name) }
    let name = try ItemName(service: service, account: account)
    if let value = try get(name) { return value }
    return try value(of: item(service: service, account: account).name)
  }

  /// Items of another writer whose names no command line takes, such as those with a newline.
  private func spelled(_ service: String, _ account: String?) throws -> [VaultItem] {
    guard service.contains("\\") || account?.contains("\\") == true else { return [] }
    return try list().filter { item in
      Printable.line(item.name.service) == service && (account == nil || Printable.line(item.name.account) == account)
    }
  }

  func value(of name: ItemName) throws -> SecretForm {
    guard let value = try get(name) else {
      throw StoreError(.conflict, "the item was deleted just now", key: name.description, cure: "try again")
    }
    return value
  }

  /// By name; no value is opened.
  func list(service: String? = nil) throws -> [VaultItem] { try find(ItemQuery(service: service)).items() }

  /// By name, each read on demand; no value is opened.
  func find(_ query: ItemQuery) throws -> ItemDescriptions {
    try ask(
      { (agent) throws(StoreError) in try agent.find(query) },
      or: { (vault) throws(StoreError) in try vault.find(query) })
  }

  func fieldNames(_ query: ItemQuery) throws -> [ItemName: [String]] {
    var ofFields = ItemQuery(service: query.service, otherThan: query.otherThan)
    ofFields.ofFields = true
    let found = try find(ofFields)
    var names: [ItemName: [String]] = [:]
    for position in 0..<found.count {
      let name = try found[position].name
      names[name.item, default: []].append(name.field)
    }
    return names
  }

  /// Services, or accounts of `service`, that begin with `prefix`.
  func names(of service: String?, prefix: String = "") throws -> [String] { try ask(Calls.names, service, prefix) }

  func fields(of name: ItemName) throws -> [VaultItem] { try ask(Calls.fields, name) }

  /// - Parameter keeping: the number of previous versions to keep from now on; nil leaves it.
  /// - Returns: the new listing.
  @discardableResult
  func set(
    _ form: SecretForm, for name: ItemName, if condition: WriteCondition = .always, keeping: Int? = nil
  ) throws -> VaultItem {
    try ask(
      { (agent) throws(StoreError) in try agent.set(form, for: name, if: condition, keeping: keeping) },
      or: { (vault) throws(StoreError) in try vault.set(form, for: name, if: condition, keeping: keeping) })
  }

  /// - Parameter date: the end of the time in which it can be restored; nil removes its history too.
  /// - Returns: false if there was none.
  @discardableResult
  func remove(_ name: ItemName, if condition: WriteCondition = .always, keptUntil date: Date? = nil) throws -> Bool {
    try ask(Calls.remove, name, condition, date)
  }

  /// In one transaction; returns the new listings of the items set.
  @discardableResult
  func apply(_ changes: [ItemChange]) throws -> [VaultItem] { try ask(Calls.apply, changes) }

  /// Checks that all can be made and have room, without making any.
  func rehearse(_ changes: [ItemChange]) throws { _ = try ask(Calls.rehearse, changes) }

  /// The content of an item or field, expired or not.
  func content(of name: ItemName) throws -> SecretForm {
    guard case .form(let form)? = try ask(Calls.contents, [name]).first else { return try value(of: name) }
    return form
  }

  /// Adds all `items` in one transaction, or none.
  func add(_ items: [ImportedItem], duplicates: DuplicatePolicy) throws {
    _ = try ask(
      { (agent) throws(StoreError) in try agent.add(items, duplicates: duplicates) },
      or: { (vault) throws(StoreError) in try vault.add(items, duplicates: duplicates) })
  }

  /// Notes that the last day of the member who opened the vault here is over. A wrong clock must lock nobody out.
  func noteEnd() throws {
    switch own {
    case .some(let vault):
      guard let slot = try vault.slots().first(where: { $0.isInUse && $0.hasEnded }) else { return }
      context.note("the last day of \(slot.words) is over: another member's coffer vault rotate will remove it")
    case .none: return
    }
  }

  func ask<each Argument: WireValue, Answer: WireValue>(
    _ call: Call<Answer, repeat each Argument>, _ arguments: repeat each Argument
  ) throws -> Answer {
    try ask(
      { (agent) throws(StoreError) in try agent.ask(call, repeat each arguments) },
      or: { (vault) throws(StoreError) in try call.work(vault, repeat each arguments) })
  }

  func ask<each Argument: WireValue, Element: WireValue>(
    _ call: ListCall<Element, repeat each Argument>, _ arguments: repeat each Argument
  ) throws -> [Element] {
    try ask(
      { (agent) throws(StoreError) in try agent.ask(call, repeat each arguments) },
      or: { (vault) throws(StoreError) in try call.work(vault, repeat each arguments) })
  }

  func ask<Result>(
    _ remote: (AgentClient) throws(StoreError) -> Result, or local: (borrowing UnlockedVault) throws(StoreError) -> Result
  ) throws -> Result {
    if let agent {
      do throws(StoreError) {
        let answer = try remote(agent)
        hasAnswered = true
        return answer
      } catch {
        let isElsewhere = try !hasAnswered && [.otherVault, .replaced].contains(error.kind) && !agent.holdsVault
        guard [.locked, .noAgent].contains(error.kind) || isElsewhere else { throw error }
        self.agent = nil
        switch try OpenedVault(context) {
        case .byAgent(let client):
          self.agent = client
          hasAnswered = true
          return try remote(client)
        case .here(let vault):
          if hasAnswered { context.note("\(error.what), so the vault is unlocked here") }
          own = consume vault
        }
      }
    }
    switch own {
    case .some(let vault): return try local(vault)
    case .none: throw StoreError(.locked, "the vault is locked", place: context.places.vault.description, cure: "coffer unlock")
    }
  }
}

extension Context {
  /// Unlocked in the order of the sources.
  func items() throws -> VaultItems {
    try checkIsNoMirror()
    return VaultItems(self, try openedVault())
  }

  /// Nil if the agent does not have the vault open.
  func agentItems() throws -> VaultItems? { try agent().map { VaultItems(self, agent: $0, hasAnswered: true) } }

  func items(openedWith credentials: consuming Credentials) throws -> VaultItems {
    VaultItems(self, .here(try lockedVault().unlock(with: credentials)))
  }

  /// Unlocked in this process with a secret of its own, even while the agent holds the vault.
  func ownItems() throws -> VaultItems {
    do { return VaultItems(self, .here(try unlockedVault())) } catch let failure as Failure where failure.status == .locked {
      throw Failure(
        StoreError(
          .locked, "this needs a secret of the vault, even while the agent holds it", place: places.vault.description,
          cure: "the same at a terminal, or with --passphrase-file or --key-file"))
    }
  }

  /// For a command that asks for an item next: that request shows whether the agent holds the vault, which saves a question.
  func itemsToRead() throws -> VaultItems {
    withholdsKeys = true
    guard let agent = try possibleAgent() else { return VaultItems(self, try OpenedVault(self)) }
    return VaultItems(self, agent: agent, hasAnswered: false)
  }

  /// Nil if there is no vault and no option names one.
  func secrets(service: String) throws -> (any DecidingStore)? {
    do {
      switch try openedVault() {
      case .byAgent(let client): return try AgentStore(service: service, vault: places.vault, client: client)
      case .here(let vault): return try VaultStore(service: service, vault: vault)
      }
    } catch let error as StoreError where goesOn(without: error) { return nil }
  }

  /// Like ``secrets(service:)``, but unlocked in this process, for notices of changes.
  func vaultStore(service: String) throws -> VaultStore? {
    do { return try VaultStore(service: service, vault: unlockedVault()) } catch let error as StoreError
      where goesOn(without: error)
    { return nil }
  }
}
