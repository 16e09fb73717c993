internal import Coffer
internal import CofferAgent
internal import CofferFormats
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault
internal import FoundationEssentials

/// The items of the vault, for commands that need no more than items: whoever holds the keys, a command works the same.
///
/// The agent is asked where it holds the vault. Should it lock or go away between two calls, the vault is unlocked from the next
/// source; what was a write that nobody answered is an error instead, since it may have happened.
final class VaultItems {
  private let context: Context
  /// Where they are.
  var place: VaultPlace { context.places.vault }
  private var agent: AgentClient?
  /// Whether the agent is known to hold the vault: somebody then has to hear that it does not any more.
  private var hasAnswered: Bool
  private var own: UnlockedVault?

  fileprivate init(_ context: Context, agent: AgentClient, hasAnswered: Bool) {
    self.context = context
    self.agent = agent
    self.hasAnswered = hasAnswered
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

  /// Value and metadata of `name`; nil when there is no such item.
  func get(_ name: ItemName) throws -> SecretForm? {
    try ask(Calls.get, name)
  }

  /// All but the value of `name`; nil when there is no such item.
  func item(_ name: ItemName) throws -> VaultItem? {
    try ask(Calls.item, name).first
  }

  /// All but the value of the item that is meant: the named one, or, without an account, the only one of the service.
  ///
  /// - Throws: `.notFound`; `.ambiguous`, which names the accounts.
  func item(service: String, account: String?) throws -> VaultItem {
    let name = try ItemName(service: service, account: account ?? "")
    var found = try account == nil ? list(service: service) : [item(name)].compactMap(\.self)
    if found.isEmpty { found = try spelled(service, account) }
    guard let item = found.first else {
      if account == nil, let labeled = try labeled(service) { return labeled }
      throw try notFound(name, hasAccount: account != nil)
    }
    guard found.count == 1 else {
      if let chosen = try chosen(of: found) { return chosen }
      throw Self.ambiguous(found.map(\.name), service)
    }
    return item
  }

  /// The value of the item that is meant. A named one needs no look at the list first.
  ///
  /// - Throws: what ``item(service:account:)`` throws, `.expired`.
  func value(service: String, account: String?) throws -> SecretForm {
    guard let account else { return try value(of: item(service: service, account: nil).name) }
    let name = try ItemName(service: service, account: account)
    if let value = try get(name) { return value }
    return try value(of: item(service: service, account: account).name)
  }

  /// The items of another writer whose names no command line takes, such as those with a newline: named as they are printed.
  private func spelled(_ service: String, _ account: String?) throws -> [VaultItem] {
    guard service.contains("\\") || account?.contains("\\") == true else { return [] }
    return try list().filter { item in
      Printable.line(item.name.service) == service && (account == nil || Printable.line(item.name.account) == account)
    }
  }

  /// The value of an item that was found.
  func value(of name: ItemName) throws -> SecretForm {
    guard let value = try get(name) else {
      throw StoreError(.conflict, "the item was deleted just now", key: name.description, cure: "look again")
    }
    return value
  }

  private func notFound(_ name: ItemName, hasAccount: Bool) throws -> StoreError {
    let question = try isTerminal(STDERR_FILENO) ? LikelyNames.question(near(name)) : nil
    return Self.notFound(name, hasAccount ? "such item" : "item of this service", question)
  }

  static func notFound(_ name: ItemName, _ what: String, _ question: String? = nil) -> StoreError {
    StoreError(
      .notFound, "the vault has no \(what)", key: name.description,
      cure: (question.map { "\($0) " } ?? "") + "coffer vault list shows what there is, coffer vault set stores it")
  }

  /// The names that may have been meant. Only people mistype them: no script waits for all names to be looked at.
  private func near(_ name: ItemName) throws -> [String] {
    let accounts = name.account.isEmpty ? [] : try names(of: name.service)
    guard accounts.isEmpty else { return LikelyNames.near(name.account, among: accounts).map { "\(name.service) \($0)" } }
    return LikelyNames.near(name.service, among: try names(of: nil))
  }

  /// Which of several items somebody at a terminal says is meant; nil where nobody is asked.
  private func chosen(of items: [VaultItem]) throws -> VaultItem? {
    try chosen(of: items) { $0.name.account.isEmpty ? "''" : $0.name.account }
  }

  private func chosen(of items: [VaultItem], by text: (VaultItem) -> String) throws -> VaultItem? {
    guard canAsk, items.count <= Menu.most, let terminal = Terminal() else { return nil }
    return try items[Menu.choose("items match", items.map(text), terminal)]
  }

  private var canAsk: Bool { !context.json && isTerminal(STDIN_FILENO) && isTerminal(STDERR_FILENO) }

  /// The item that somebody at a terminal means by its label, whatever its case, or by a part of it; nil where none has such a
  /// one, and where nobody can be asked: a label names nothing for certain.
  private func labeled(_ text: String) throws -> VaultItem? {
    guard canAsk, !context.yes, !text.isEmpty else { return nil }
    let wanted = text.lowercased()
    var query = ItemQuery()
    query.texts = [text]
    query.otherThan = LoginItems.pointers
    let similar = try find(query).items().filter { $0.metadata.label.lowercased().contains(wanted) }
    let same = similar.filter { $0.metadata.label.lowercased() == wanted }
    if same.count == 1, let item = same.first {
      context.note("'\(Printable.line(item.metadata.label))' is the label of \(Printable.line(item.name.description))")
      return item
    }
    let found = same.isEmpty ? similar : same
    guard !found.isEmpty else { return nil }
    return try chosen(of: found) { "\($0.name.description)  \($0.metadata.label)" }
  }

  private func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// All items, or those of one service, by name; no value is opened.
  func list(service: String? = nil) throws -> [VaultItem] { try find(ItemQuery(service: service)).items() }

  /// What `query` asks for, by name, each item as it is looked at; no value is opened.
  func find(_ query: ItemQuery) throws -> ItemDescriptions {
    try ask { (agent) throws(StoreError) in
      try agent.find(query)
    } or: { (vault) throws(StoreError) in
      try vault.find(query)
    }
  }

  /// The names of the fields of the items of a query's services, by item.
  func fieldNames(_ query: ItemQuery) throws -> [ItemName: [String]] {
    var ofFields = ItemQuery(service: query.service)
    (ofFields.otherThan, ofFields.ofFields) = (query.otherThan, true)
    let found = try find(ofFields)
    var names: [ItemName: [String]] = [:]
    for position in 0..<found.count {
      let name = try found[position].name
      names[name.item, default: []].append(name.field)
    }
    return names
  }

  /// The services that begin with `prefix`, or the accounts of `service` that do.
  func names(of service: String?, prefix: String = "") throws -> [String] {
    try ask(Calls.names, service, prefix)
  }

  /// The fields of an item, by name.
  func fields(of name: ItemName) throws -> [VaultItem] {
    try ask(Calls.fields, name)
  }

  /// Stores `form` under `name` and returns the new listing.
  ///
  /// - Parameter keeping: the number of previous versions to keep from now on; nil leaves it.
  @discardableResult
  func set(
    _ form: SecretForm, for name: ItemName, if condition: WriteCondition = .always, keeping: Int? = nil
  ) throws -> VaultItem {
    try ask { (agent) throws(StoreError) in
      try agent.set(form, for: name, if: condition, keeping: keeping)
    } or: { (vault) throws(StoreError) in
      try vault.set(form, for: name, if: condition, keeping: keeping)
    }
  }

  /// Removes `name`; false when there was nothing.
  ///
  /// - Parameter date: until when it can be brought back; nil where nothing of its past is to stay.
  @discardableResult
  func remove(_ name: ItemName, if condition: WriteCondition = .always, keptUntil date: Date? = nil) throws -> Bool {
    try ask(Calls.remove, name, condition, date)
  }

  /// Makes all of `changes` in one transaction, or none, and returns the new listing of each item that was set.
  @discardableResult
  func apply(_ changes: [ItemChange]) throws -> [VaultItem] {
    try ask(Calls.apply, changes)
  }

  /// Makes sure that all of `changes` can be made, room for them included, and makes none.
  func rehearse(_ changes: [ItemChange]) throws {
    _ = try ask(Calls.rehearse, changes)
  }

  /// Has the agent do the work of `call`, or does it on the vault that is open here.
  func ask<each Argument: WireValue, Answer: WireValue>(
    _ call: Call<Answer, repeat each Argument>, _ arguments: repeat each Argument
  ) throws -> Answer {
    try ask { (agent) throws(StoreError) in
      try agent.ask(call, repeat each arguments)
    } or: { (vault) throws(StoreError) in
      try call.work(vault, repeat each arguments)
    }
  }

  func ask<each Argument: WireValue, Element: WireValue>(
    _ call: ListCall<Element, repeat each Argument>, _ arguments: repeat each Argument
  ) throws -> [Element] {
    try ask { (agent) throws(StoreError) in
      try agent.ask(call, repeat each arguments)
    } or: { (vault) throws(StoreError) in
      try call.work(vault, repeat each arguments)
    }
  }

  private func ask<Result>(
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
  /// The items of the vault to be changed, unlocked in the order of the sources.
  ///
  /// - Throws: `.readOnly` where a mirror is read.
  func items() throws -> VaultItems {
    try places.vault.checkIsNoMirror()
    return VaultItems(self, try openedVault())
  }

  /// The items of the vault where the agent has it open; nil where it has not.
  func agentItems() throws -> VaultItems? { try agent().map { VaultItems(self, agent: $0, hasAnswered: true) } }

  /// The items of the vault, opened with `credentials` and nothing else.
  func items(openedWith credentials: consuming Credentials) throws -> VaultItems {
    VaultItems(self, .here(try lockedVault().unlock(with: credentials)))
  }

  /// The same to be read, for a command that asks for an item next: whether the agent holds the vault shows then, one question
  /// earlier.
  func itemsToRead() throws -> VaultItems {
    guard let agent = try possibleAgent() else { return VaultItems(self, try OpenedVault(self)) }
    return VaultItems(self, agent: agent, hasAnswered: false)
  }

  /// The items of one service as a store; nil where there is no vault, and none is asked for by an option.
  func secrets(service: String) throws -> (any DecidingStore)? {
    do {
      switch try openedVault() {
      case .byAgent(let client): return try AgentStore(service: service, vault: places.vault, client: client)
      case .here(let vault): return try VaultStore(service: service, vault: vault)
      }
    } catch let error as StoreError {
      guard error.kind == .noVault, !isVaultNamed else { throw error }
      return nil
    }
  }

  /// The same, unlocked in this process.
  func vaultStore(service: String) throws -> VaultStore? {
    do { return try VaultStore(service: service, vault: unlockedVault()) } catch let error as StoreError {
      guard error.kind == .noVault, !isVaultNamed else { throw error }
      return nil
    }
  }
}
