internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault

extension ArgumentHelp {
  static var itemName: ArgumentHelp {
    ArgumentHelp("SERVICE/ACCOUNT, or a part of it that fits one item; or coffer://….", valueName: "name")
  }
  static var account: ArgumentHelp { "The account, if it is not a part of the name." }
  static var exactService: ArgumentHelp {
    ArgumentHelp("Exactly this service, instead of a name; nothing is guessed.", valueName: "service")
  }
  static var exactAccount: ArgumentHelp {
    ArgumentHelp("Exactly this account; the empty one if left out beside --service.", valueName: "account")
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

  /// - Throws: a usage failure if nothing is named.
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

  /// Checks the names before any question for secrets.
  ///
  /// - Throws: `.invalidName`; a usage failure for an invalid reference.
  func check() throws { try words.check() }

  /// The named item, or the only one of the service.
  ///
  /// - Throws: `.notFound`; `.ambiguous`.
  func item(in items: VaultItems) throws -> VaultItem { try words.item(in: items) }

  /// The name of an existing or restorable item.
  ///
  /// - Throws: `.notFound`; `.ambiguous`.
  func knownName(in items: VaultItems) throws -> ItemName { try words.knownName(in: items) }

  /// The name of a restorable deleted item.
  ///
  /// - Throws: `.notFound`; `.ambiguous`.
  func deletedName(in items: VaultItems) throws -> ItemName { try words.deletedName(in: items) }
}

/// Which store a command about both looks in.
struct StoreChoice: ParsableArguments {
  @Option(
    help: ArgumentHelp("NAME is exactly a key of this domain, in either store (also COFFER_DOMAIN).", valueName: "domain"),
    completion: Completions.domains)
  var domain: String?
  // `coffer vault get NAME` never means a preference.
  @Flag(name: .customLong("items"), help: .hidden) var onlyItems = false

  /// The key that the words may name; nil if they can only name an item.
  ///
  /// - Throws: a usage failure for `--domain` with anything but a key.
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

/// A command whose NAME may be a preference as well as an item.
protocol TwoStoreCommand: ParsableCommand {
  var store: StoreChoice { get }
}

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
  /// The item that the words name: the key's, or another one of that name.
  ///
  /// - Throws: `.notFound`; `.ambiguous` if both are there.
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

  /// The name of the item, which may be a deleted one.
  func knownName(or words: ItemWords, in items: VaultItems) throws -> ItemName {
    guard let key = self else { return try words.knownName(in: items) }
    return try key.isExact || items.item(key.item) != nil ? item(or: words, in: items).name : words.knownName(in: items)
  }

  /// Runs `work` in the vault. Without a vault there is no such key, unless an option names the vault.
  func inVault<Result>(_ context: Context, _ work: (VaultItems) throws -> Result) throws -> Result {
    do { return try work(try context.itemsToRead()) } catch let error as StoreError {
      guard error.kind == .noVault, let key = self, !context.mustHaveVault else { throw error }
      throw key.router.notFound(key.name, hasVault: false)
    }
  }
}

extension DomainKey {
  /// - Throws: `.ambiguous` if the words name another item than `own`, too.
  fileprivate func checkIsOnly(_ own: ItemName, _ words: ItemWords, _ items: VaultItems) throws {
    guard !isExact, let other = try words.itemIfAny(in: items), other.name != own else { return }
    throw StoreError(
      .ambiguous, "2 items match: \(own), \(other.name)", key: name,
      cure: "give the whole name, or --domain \(router.domain) for the first")
  }
}
