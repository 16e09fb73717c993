internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault

extension ArgumentHelp {
  static var itemName: ArgumentHelp {
    ArgumentHelp("SERVICE/ACCOUNT, a part of it that matches one item, or coffer://….", valueName: "name")
  }
  static var account: ArgumentHelp { "The account, if not part of the name." }
  static var exactService: ArgumentHelp { ArgumentHelp("Exactly this service, instead of a name.", valueName: "service") }
  static var exactAccount: ArgumentHelp {
    ArgumentHelp("Exactly this account; with --service, empty if omitted.", valueName: "account")
  }
}

/// NAME [ACCOUNT], as every command about an item takes it, or the exact `--service` and `--account`.
struct ItemArguments: ParsableArguments {
  @Argument(help: .itemName, completion: Completions.names) var name: String?
  @Argument(help: .account, completion: Completions.accounts) var account: String?
  @Option(help: .exactService, completion: Completions.services) var service: String?
  @Option(name: .customLong("account"), help: .exactAccount, completion: Completions.accounts) var exactAccount: String?

  func validate() throws {
    guard service == nil || name == nil else { throw ValidationError("give a name or --service, not both") }
    guard account == nil || exactAccount == nil else { throw ValidationError("give the account once") }
    guard exactAccount == nil || service != nil || name != nil else {
      throw ValidationError("--account needs a name or --service")
    }
  }

  var isNamed: Bool { name != nil || service != nil }

  var words: ItemWords {
    get throws(Failure) {
      if let service { return ItemWords(service: service, account: exactAccount ?? "", isExact: true) }
      guard let name else { throw .usage("no name was given", try: "SERVICE/ACCOUNT; coffer list shows the names") }
      return ItemWords(service: name, account: account ?? exactAccount)
    }
  }

  /// NAME, if it stands alone and may be the key of a preference.
  var key: String? {
    guard service == nil, account == nil, exactAccount == nil, let name, !Reference.isMeant(by: name) else { return nil }
    return name
  }
}

struct StoreChoice: ParsableArguments {
  @Option(
    help: ArgumentHelp("Only this program's keys, such as com.example.app (also COFFER_DOMAIN).", valueName: "domain"),
    completion: Completions.domains)
  var domain: String?
  // `coffer vault get NAME` never means a preference.
  @Flag(name: .customLong("items"), help: .hidden) var onlyItems = false

  /// The key that the words may name; nil if they can only name an item.
  func key(_ item: ItemArguments, _ context: Context) throws -> DomainKey? {
    let given = domain ?? (onlyItems ? nil : ProcessEnvironment.value("COFFER_DOMAIN"))
    guard !onlyItems, let name = item.key else {
      guard domain == nil else { throw Failure.usage("a key of a domain is one word", try: "--domain DOMAIN KEY") }
      return nil
    }
    // An item may have a name that no preference can have.
    if given == nil { do { try StoredName.check(name) } catch { return nil } }
    return DomainKey(router: try ShellRouter(domain: given ?? RouterOptions.standard, context), name: name, isExact: given != nil)
  }
}

protocol TwoStoreCommand: ParsableCommand { var store: StoreChoice { get } }

/// The key of a domain that a word may name. Its secret is the item whose service is the domain and whose account is the key.
struct DomainKey {
  let router: ShellRouter
  let name: String
  /// Whether the word can mean nothing else.
  let isExact: Bool

  var item: ItemName { get throws { try ItemName(service: router.domain, account: name) } }

  func preference() throws -> PlainForm? { try router.plain.load(name) }
}

extension Optional where Wrapped == DomainKey {
  /// The item that the words name: the key's, or another one of that name; both are `.ambiguous`.
  func item(or words: ItemWords, in items: VaultItems) throws -> VaultItem {
    guard let key = self else { return try words.item(in: items) }
    guard let own = try items.item(key.item) else {
      guard !key.isExact else { throw key.router.notFound(key.name) }
      return try words.item(in: items)
    }
    try key.checkIsOnly(own.name, words, items)
    return own
  }

  /// The value alone: one request less for programs.
  func value(or words: ItemWords, in items: VaultItems) throws -> SecretForm {
    guard let key = self else { return try words.value(in: items) }
    let name = try key.item
    guard let own = try items.get(name) else {
      guard !key.isExact else { throw key.router.notFound(key.name) }
      return try words.value(in: items)
    }
    try key.checkIsOnly(name, words, items)
    return own
  }

  func knownName(or words: ItemWords, in items: VaultItems) throws -> ItemName {
    guard let key = self else { return try words.knownName(in: items) }
    return try key.isExact || items.item(key.item) != nil ? item(or: words, in: items).name : words.knownName(in: items)
  }

  /// Runs `work` in the vault. Without a vault there is no such key, unless an option names the vault.
  func inVault<Result>(_ context: Context, _ work: (VaultItems) throws -> Result) throws -> Result {
    try orAbsent(context) { try work(context.itemsToRead()) }
  }

  /// Like ``inVault(_:_:)``, in the first vault that has the item, unless the words can only be a key.
  ///
  /// - Parameter reveals: whether keys may be read that programs only use.
  func inVaults<Result>(
    _ context: Context, revealing reveals: Bool, having words: ItemWords, _ work: (VaultItems) throws -> Result
  ) throws -> Result {
    let searched = try SearchedVaults(context, revealing: reveals, inProject: self?.isExact != true)
    func item(_ items: VaultItems) throws -> VaultItem? {
      try self.flatMap { try items.item($0.item) } ?? words.itemIfAny(in: items)
    }
    func search() throws -> Result { try searched.search(for: words.description, takingParts: true, item, work) }
    return try searched.names.isEmpty ? orAbsent(context, search) : search()
  }

  private func orAbsent<Result>(_ context: Context, _ work: () throws -> Result) throws -> Result {
    do { return try work() } catch let error as StoreError {
      guard let key = self, context.goesOn(without: error) else { throw error }
      throw key.router.notFound(key.name, hasVault: false)
    }
  }
}

extension DomainKey {
  /// Checks that no secret has the name, as far as that is known without a question: a preference never unlocks the vault.
  func checkIsNoSecret(_ context: Context) throws {
    switch router.lookUp(name, andItems: !isExact) {
    case .there:
      throw StoreError(
        .refused, "a secret in the vault has this name", key: name,
        cure: "choose another name, or delete the secret first; coffer set without --plain stores a new secret")
    case .absent: break
    case .unknown(let error):
      // A locked vault is usual; the user should know any other failure.
      guard let failure = Failure.of(error), failure.status != .locked else { break }
      context.note("could not check whether the vault holds it too: \(failure.what)")
    }
  }

  /// Checks that the name of a preference means it alone, as far as that is known without a question.
  func checkIsOnlyPreference(besideItems: Bool = false) throws {
    guard case .there(let isItem) = router.lookUp(name, andItems: besideItems && !isExact) else { return }
    guard isItem else { throw router.inBoth(name) }
    let word = CommandText.quoted(name)
    throw StoreError(
      .ambiguous, "a preference and an item of the vault have this name", key: name,
      cure: "coffer set \(word) --plain for the preference, coffer set --service \(word) for the item")
  }

  fileprivate func checkIsOnly(_ own: ItemName, _ words: ItemWords, _ items: VaultItems) throws {
    guard !isExact, let other = try words.itemIfAny(in: items), other.name != own else { return }
    throw StoreError(
      .ambiguous, "2 items match: \(own), \(other.name)", key: name,
      cure: "give the whole name, or --domain \(router.domain) for the first")
  }
}
