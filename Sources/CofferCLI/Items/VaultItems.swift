internal import Coffer
internal import CofferAgent
internal import CofferFormats
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
  /// Whether the agent is known to hold the vault. If it then loses the vault, the user is notified.
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

  func get(_ name: ItemName) throws -> SecretForm? {
    try ask(Calls.get, name)
  }

  func item(_ name: ItemName) throws -> VaultItem? {
    try ask(Calls.item, name).first
  }

  /// The named item, or, without an account, the service's only one. A person may give a part of a name or of a label.
  ///
  /// - Throws: `.notFound`; `.ambiguous`.
  func item(service: String, account: String?) throws -> VaultItem {
    if let item = try itemIfAny(service: service, account: account) { return item }
    if account == nil, let meant = try resembling(service) { return meant }
    let name = try ItemName(service: service, account: account ?? "")
    throw Self.notFound(name, account == nil ? "item of this service" : "such item", LikelyNames.question(try near(name)))
  }

  /// Like ``item(service:account:)``, without a guess; nil if there is none.
  ///
  /// - Throws: `.ambiguous`.
  func itemIfAny(service: String, account: String?) throws -> VaultItem? {
    let name = try ItemName(service: service, account: account ?? "")
    var found = try account == nil ? list(service: service) : [item(name)].compactMap(\.self)
    if found.isEmpty { found = try spelled(service, account) }
    if found.isEmpty { found = try ofHost(service, account) }
    guard found.count > 1 else { return found.first }
    if let chosen = try chosen(of: found) { return chosen }
    throw Self.ambiguous(found.map(\.name), service)
  }

  /// The services that are the name of `host`, in any case.
  private func services(of host: String) throws -> [String] {
    guard host.contains("."), !ItemWords.hasScheme(host) else { return [] }
    return try names(of: nil).filter { $0.lowercased() == host.lowercased() }
  }

  /// A new name, with its host in the spelling that is there.
  func spelling(of name: ItemName) throws -> ItemName {
    let same = try services(of: name.service)
    guard let service = same.first, !same.contains(name.service) else { return name }
    return try ItemName(service: service, account: name.account)
  }

  /// The items of `host` in another case: names of hosts have none (RFC 4343).
  func ofHost(_ host: String, _ account: String?) throws -> [VaultItem] {
    try services(of: host).flatMap { try list(service: $0) }.filter { account == nil || $0.name.account == account }
  }

  /// The value of the item. With an account, the list is not read first.
  ///
  /// - Throws: the errors of ``item(service:account:)``; `.expired`.
  func value(service: String, account: String?) throws -> SecretForm {
    guard let account else { return try value(of: item(service: service, account: nil).name) }
    let name = try ItemName(service: service, account: account)
    if let value = try get(name) { return value }
    return try value(of: item(service: service, account: account).name)
  }

  /// Items of another writer whose names no command line takes, such as those with a newline, found by their printed names.
  private func spelled(_ service: String, _ account: String?) throws -> [VaultItem] {
    guard service.contains("\\") || account?.contains("\\") == true else { return [] }
    return try list().filter { item in
      Printable.line(item.name.service) == service && (account == nil || Printable.line(item.name.account) == account)
    }
  }

  func value(of name: ItemName) throws -> SecretForm {
    guard let value = try get(name) else {
      throw StoreError(.conflict, "the item was deleted just now", key: name.description, cure: "look again")
    }
    return value
  }

  static func notFound(_ name: ItemName, _ what: String, _ question: String? = nil) -> StoreError {
    StoreError(
      .notFound, "the vault has no \(what)", key: name.description,
      cure: (question.map { "\($0) " } ?? "") + "coffer list shows what there is, coffer set stores it")
  }

  /// Names that may have been meant: of a similar spelling, else those that contain the text.
  private func near(_ name: ItemName) throws -> [String] {
    let accounts = name.account.isEmpty ? [] : try names(of: name.service)
    guard accounts.isEmpty else { return LikelyNames.near(name.account, among: accounts).map { "\(name.service)/\($0)" } }
    let services = try names(of: nil).filter { $0 != LoginItems.pointers }
    let near = LikelyNames.near(name.service, among: services)
    return near.isEmpty ? Array(services.filter { $0.lowercased().contains(name.service.lowercased()) }.prefix(3)) : near
  }

  private func chosen(of items: [VaultItem]) throws -> VaultItem? {
    try chosen(of: items) { $0.name.account.isEmpty ? "''" : $0.name.account }
  }

  private func chosen(of items: [VaultItem], by text: @escaping (VaultItem) -> String) throws -> VaultItem? {
    guard canAsk, let terminal = Terminal() else { return nil }
    return try ItemPicker(items: items, text: text).choose("choose", at: terminal)?.item
  }

  var canAsk: Bool { !context.json && isTerminal(STDIN_FILENO) && isTerminal(STDERR_FILENO) }

  /// The only item of which `text` is a part of the name or label, in any case. A person chooses among several. Nil if there
  /// is none or nobody can be asked: in a script a guess would change with the next item.
  private func resembling(_ text: String) throws -> VaultItem? {
    guard canAsk, !context.yes, !text.isEmpty else { return nil }
    let wanted = text.lowercased()
    var query = ItemQuery()
    query.texts = [text]
    query.otherThan = LoginItems.pointers
    let similar = try find(query).items().filter { item in
      [item.name.description, item.metadata.label].contains { $0.lowercased().contains(wanted) }
    }
    let same = similar.filter { $0.metadata.label.lowercased() == wanted }
    let found = same.isEmpty ? similar : same
    guard found.count != 1 else {
      context.note("'\(Printable.line(text))' is taken for \(Printable.line(found[0].name.description))")
      return found[0]
    }
    return found.isEmpty ? nil : try chosen(of: found) { "\($0.name.description)  \($0.metadata.label)" }
  }

  private func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// All items, or those of one service, by name; no value is opened.
  func list(service: String? = nil) throws -> [VaultItem] { try find(ItemQuery(service: service)).items() }

  /// The matches of `query`, by name, each read on demand; no value is opened.
  func find(_ query: ItemQuery) throws -> ItemDescriptions {
    try ask { (agent) throws(StoreError) in
      try agent.find(query)
    } or: { (vault) throws(StoreError) in
      try vault.find(query)
    }
  }

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

  /// Services, or accounts of `service`, that begin with `prefix`.
  func names(of service: String?, prefix: String = "") throws -> [String] {
    try ask(Calls.names, service, prefix)
  }

  func fields(of name: ItemName) throws -> [VaultItem] {
    try ask(Calls.fields, name)
  }

  /// Stores `form` and returns the new listing.
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

  /// Removes `name`; false if there was none.
  ///
  /// - Parameter date: the end of the time in which it can be restored; nil removes its history too.
  @discardableResult
  func remove(_ name: ItemName, if condition: WriteCondition = .always, keptUntil date: Date? = nil) throws -> Bool {
    try ask(Calls.remove, name, condition, date)
  }

  /// Makes all `changes` in one transaction and returns the new listings of the items set.
  @discardableResult
  func apply(_ changes: [ItemChange]) throws -> [VaultItem] {
    try ask(Calls.apply, changes)
  }

  /// Checks that all `changes` can be made and have room, without making any.
  func rehearse(_ changes: [ItemChange]) throws {
    _ = try ask(Calls.rehearse, changes)
  }

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
  /// The items of the vault for writing, unlocked in the order of the sources.
  ///
  /// - Throws: `.readOnly` for a mirror.
  func items() throws -> VaultItems {
    try checkIsNoMirror()
    return VaultItems(self, try openedVault())
  }

  /// Nil if the agent does not have the vault open.
  func agentItems() throws -> VaultItems? { try agent().map { VaultItems(self, agent: $0, hasAnswered: true) } }

  func items(openedWith credentials: consuming Credentials) throws -> VaultItems {
    VaultItems(self, .here(try lockedVault().unlock(with: credentials)))
  }

  /// For a command that asks for an item next: that request shows whether the agent holds the vault, which saves a question.
  func itemsToRead() throws -> VaultItems {
    guard let agent = try possibleAgent() else { return VaultItems(self, try OpenedVault(self)) }
    return VaultItems(self, agent: agent, hasAnswered: false)
  }

  /// The items of one service as a store; nil if there is no vault and no option names one.
  func secrets(service: String) throws -> (any DecidingStore)? {
    do {
      switch try openedVault() {
      case .byAgent(let client): return try AgentStore(service: service, vault: places.vault, client: client)
      case .here(let vault): return try VaultStore(service: service, vault: vault)
      }
    } catch let error as StoreError {
      guard error.kind == .noVault, !mustHaveVault else { throw error }
      return nil
    }
  }

  /// Like ``secrets(service:)``, but unlocked in this process.
  func vaultStore(service: String) throws -> VaultStore? {
    do { return try VaultStore(service: service, vault: unlockedVault()) } catch let error as StoreError {
      guard error.kind == .noVault, !mustHaveVault else { throw error }
      return nil
    }
  }
}
