internal import ArgumentParser
internal import Coffer
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault

typealias ItemNames = (old: ItemName, new: ItemName)

/// An item and its other name or vault: `a/b c/d`, `a b c d`, or the first with `--to-service`, `--to-account` and
/// `--to-vault`. `a/ b/` are folders.
struct ItemPair: ParsableArguments {
  @Argument(
    help: ArgumentHelp("SERVICE/ACCOUNT, a preference's key, or a folder with a final slash.", valueName: "name"),
    completion: Completions.names)
  var service: String
  @Argument(
    help: ArgumentHelp("The new name; in the form SERVICE ACCOUNT NEW-SERVICE NEW-ACCOUNT, the account.", valueName: "new-name"),
    completion: Completions.accounts)
  var account: String?
  @Argument(
    help: ArgumentHelp("The service of the second name in two words.", valueName: "new-service"),
    completion: Completions.services)
  var otherService: String?
  @Argument(
    help: ArgumentHelp("The account of the second name in two words.", valueName: "new-account"),
    completion: Completions.accounts)
  var otherAccount: String?
  @Option(help: ArgumentHelp("The new service; the same if omitted.", valueName: "service")) var toService: String?
  @Option(help: ArgumentHelp("The new account; the same if omitted.", valueName: "account")) var toAccount: String?
  @Option(
    help: ArgumentHelp("Put it into this vault, under its name unless another is given.", valueName: "place"),
    completion: Completions.vaults)
  var toVault: String?
  @Flag(help: "Replace an item that has the new name.") var replace = false

  func validate() throws {
    guard otherService == nil || otherAccount != nil else {
      throw ValidationError("give both names as SERVICE/ACCOUNT, or both in two words")
    }
    guard otherService == nil || (toService == nil && toAccount == nil) else {
      throw ValidationError("give the new name as words or by --to-service and --to-account, not both")
    }
    guard !isTwoNames || !service.hasSuffix("/") || folders != nil || ItemWords.hasScheme(service) else {
      throw ValidationError("the first name is a folder; end the new name with a slash too, or give / for the top")
    }
    guard !isTwoNames || service.hasSuffix("/") || Set(account ?? "") != ["/"] else {
      throw ValidationError("/ is the top, where an item has no service; give the new name")
    }
  }

  var isTwoNames: Bool { otherService == nil && toService == nil && toAccount == nil && account != nil }

  private var old: ItemArguments {
    var old = ItemArguments()
    (old.name, old.account, old.service, old.exactAccount) = (service, isTwoNames ? nil : account, nil, nil)
    return old
  }

  private var keepsName: Bool { toVault != nil && account == nil && toService == nil && toAccount == nil }

  var folders: (old: String, new: String)? {
    let new = account ?? service
    return (isTwoNames || keepsName) && service.hasSuffix("/") && new.hasSuffix("/") ? (service, new) : nil
  }

  /// The key that the first word may name; nil unless the new name is one word too.
  func key(_ store: StoreChoice, _ context: Context) throws -> DomainKey? {
    isTwoNames || keepsName ? try store.key(old, context) : nil
  }

  func names(_ store: StoreChoice, _ context: Context, in items: VaultItems) throws -> (old: VaultItem, new: ItemName) {
    let key = try key(store, context)
    let words = try old.words
    let item = try key.item(or: words, in: items)
    // The secret of a domain's key becomes that of another key.
    guard let key, let account, item.name == (try key.item) else {
      let isService = try !item.name.account.isEmpty && words.named().account == nil && words.whole(in: items) == nil
      let new = try new(of: item.name, isService)
      if replace { try Self.checkIsNoLogin(new, in: items) }
      return (item, new)
    }
    try NewName.check(account, as: "key")
    guard try !key.router.plain.contains(account) else {
      throw StoreError(
        .alreadyExists, "a preference has this name", key: account, place: key.router.plain.place, cure: "choose another name")
    }
    return (item, try ItemName(service: item.name.service, account: account))
  }

  /// Stores a preference under the other key, and removes it from the first if it is to move.
  func write(_ form: PlainForm, _ key: DomainKey, isMove: Bool, _ context: Context) throws {
    if isMove { try key.checkIsOnlyPreference() }
    let new = try StoredName.check(account ?? "")
    guard new != key.name else { throw Failure.usage("the preference already has that name", try: "another name") }
    try DefaultsStore.checkStorable(form, under: new)
    try DomainKey(router: key.router, name: new, isExact: key.isExact).checkIsNoSecret(context)
    let store = try key.router.writablePlain()
    if try !replace && store.contains(new) {
      throw StoreError(
        .alreadyExists, "a preference with this name already exists", key: new, cure: "choose another name, or use --replace")
    }
    if isMove { try store.rename(key.name, to: new) } else { try store.save(form, for: new) }
    try key.router.finish()
    context.done("\(isMove ? "renamed" : "copied") the preference '\(key.name)' to '\(new)'")
  }

  private func new(of old: ItemName, _ isService: Bool) throws -> ItemName {
    let (service, account) = try otherName(of: old, isService)
    let new = try ItemName(service: service ?? old.service, account: account ?? old.account)
    // An unchanged part keeps any old name.
    if let service { try NewName.check(service, as: "service") }
    if let account { try NewName.check(account, as: "account") }
    guard new != old || toVault != nil else { throw Failure.usage("the item already has that name", try: "another name") }
    return new
  }

  /// The new name of a service is one too, unless it names an account of it; a slash at its end makes it the folder.
  /// Otherwise the last slash divides the second word; nothing after it keeps the account. A URL may be a service by itself,
  /// and is divided as the first word was.
  private func otherName(of old: ItemName, _ isService: Bool) throws -> (String?, String?) {
    guard isTwoNames, let word = account else { return (otherService ?? toService, otherAccount ?? toAccount) }
    if Reference.isMeant(by: word) {
      let reference = try Reference(word)
      return (reference.service, reference.account)
    }
    if isService, !word.hasPrefix(old.service + "/") {
      return (word.hasSuffix("/") && !ItemWords.hasScheme(word) ? word + old.service : word, nil)
    }
    guard !ItemWords.hasScheme(word) || old.service != service, let slash = word.lastIndex(of: "/"), slash > word.startIndex
    else {
      // `web/github.com` to `github.com` leaves a folder.
      return (word, word.hasSameBytes(as: old.account) ? "" : nil)
    }
    let account = word[slash...].dropFirst()
    guard account.isEmpty else { return (String(word[..<slash]), String(account)) }
    // Into a folder goes the last part of the name: the account, or that of a service alone.
    guard old.account.isEmpty else { return (String(word[..<slash]), nil) }
    let last = ItemWords.hasScheme(old.service) ? nil : old.service.split(separator: "/").last.map(String.init)
    return (word + (last ?? old.service), nil)
  }

  /// A login has the token that its host gets: no other item may take its place.
  static func checkIsNoLogin(_ name: ItemName, in items: VaultItems) throws {
    guard try items.item(name)?.isOfLogin == true else { return }
    throw StoreError(
      .refused, "a login is not replaced by another item", key: name.description,
      cure: "choose another name, or coffer logout first")
  }

  var condition: WriteCondition { replace ? .always : .absent }

  /// If a new name is taken, the error has that name and the option to replace its item.
  func applying<Result>(_ names: [ItemNames], _ change: () throws -> Result) throws -> Result {
    do { return try change() } catch let error as StoreError where error.kind == .alreadyExists {
      let new = names.first { $0.old.description == error.key }?.new
      throw StoreError(
        error.kind, "the item already exists", key: new?.description ?? error.key, place: error.place,
        cure: "choose another name, or use --replace")
    }
  }
}

/// The items whose services are a folder or below it. An account is no part of a folder.
struct ItemFolder {
  let prefix: String
  var items: [VaultItem]

  init(_ prefix: String, in items: VaultItems) throws {
    self.prefix = prefix
    self.items = try items.items(below: prefix)
    guard !self.items.isEmpty else {
      throw StoreError(
        .notFound, "the vault has no items below this name", key: prefix, cure: "coffer list --tree shows the folders")
    }
  }

  var summary: String { "\(counted(items.count, "item")) below \(Printable.line(prefix))" }

  func name(of old: ItemName, below new: String) throws -> ItemName {
    let rest = String(decoding: (old.service + "/").utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
    guard new != "/" || !rest.isEmpty else {
      throw Failure.usage(
        "'\(Printable.line(old.description))' is in \(Printable.line(prefix)) itself, and would have no service at the top",
        try: "coffer rename, to give it another service first")
    }
    return try ItemName(service: String(((new == "/" ? "" : new) + rest).dropLast()), account: old.account)
  }

  /// The items that get another name below `new`.
  func names(below new: String) throws -> [ItemNames] {
    let names = try items.map { (old: $0.name, new: try name(of: $0.name, below: new)) }.filter { $0.old != $0.new }
    guard !names.isEmpty else { throw Failure.usage("the folder already has that name", try: "another name") }
    var taken = Set(names.map(\.old))
    for (_, name) in names {
      try NewName.check(name)
      guard taken.insert(name).inserted else {
        throw StoreError(
          .alreadyExists, "two items of the folder need this name", key: name.description,
          cure: "choose a name outside the folder, or rename the items one by one")
      }
    }
    return names
  }

  /// Makes all of `changes` or none. What is too much for the agent is done in this process.
  static func apply(_ changes: [ItemChange], _ items: VaultItems, _ context: Context) throws -> [VaultItem] {
    do { return try items.apply(changes) } catch let error as StoreError {
      guard case .tooLarge = error.kind else { throw error }
      context.note("the agent does not take this many items at once, so the vault is unlocked here")
      return try context.unlockedVault().apply(changes)
    }
  }
}
