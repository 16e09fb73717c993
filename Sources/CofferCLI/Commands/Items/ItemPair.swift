internal import ArgumentParser
internal import Coffer
internal import CofferFormats
internal import CofferPlatform
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault

/// An item and its other name: `a/b c/d`, `a b c d`, or the first with `--to-service` and `--to-account`. `a/ b/` are folders.
struct ItemPair: ParsableArguments {
  @Argument(
    help: "SERVICE/ACCOUNT, the key of a preference, or a folder that ends with a slash.", completion: Completions.names)
  var service: String
  @Argument(
    help: "The other name; or the account, if the other name follows in two words.", completion: Completions.accounts)
  var account: String?
  @Argument(help: "The other service.", completion: Completions.services) var otherService: String?
  @Argument(help: "The other account.", completion: Completions.accounts) var otherAccount: String?
  @Option(help: ArgumentHelp("The other service; the same one when left out.", valueName: "service")) var toService: String?
  @Option(help: ArgumentHelp("The other account; the same one when left out.", valueName: "account")) var toAccount: String?
  @Flag(help: "Take the place of an item that has that name.") var replace = false

  func validate() throws {
    guard otherService == nil || otherAccount != nil else {
      throw ValidationError("give both names in one word each, SERVICE/ACCOUNT, or both in two")
    }
    guard otherService == nil || (toService == nil && toAccount == nil) else {
      throw ValidationError("give the other name by words or by --to-service and --to-account, not by both")
    }
    guard otherService != nil || isTwoNames || toService != nil || toAccount != nil else {
      throw ValidationError("give the other name, or --to-service, --to-account or both")
    }
  }

  private var isTwoNames: Bool {
    otherService == nil && toService == nil && toAccount == nil && account != nil
  }

  private var old: ItemArguments {
    var old = ItemArguments()
    (old.name, old.account, old.service, old.exactAccount) = (service, isTwoNames ? nil : account, nil, nil)
    return old
  }

  /// The two folders, if both words end with a slash.
  var folders: (old: String, new: String)? {
    guard isTwoNames, let new = account, service.hasSuffix("/"), new.hasSuffix("/") else { return nil }
    return (service, new)
  }

  /// The key that the first word may name; nil unless the second is one word too.
  func key(_ store: StoreChoice, _ context: Context) throws -> DomainKey? { isTwoNames ? try store.key(old, context) : nil }

  /// - Throws: `.notFound`; `.ambiguous`; a usage failure for an invalid reference.
  func names(_ store: StoreChoice, _ context: Context, in items: VaultItems) throws -> (old: ItemName, new: ItemName) {
    let key = try key(store, context)
    let name = try key.item(or: old.words, in: items).name
    // The secret of a domain's key becomes that of another key.
    guard let key, let account, name == (try key.item) else { return (name, try new(of: name)) }
    try NewName.check(account, as: "key")
    return (name, try ItemName(service: name.service, account: account))
  }

  /// Stores a preference under the other key, and removes it from the first if it is to move.
  func write(_ form: PlainForm, _ key: DomainKey, isMove: Bool, _ context: Context) throws {
    let new = try StoredName.check(account ?? "")
    guard new != key.name else { throw Failure.usage("the preference has that name already", try: "another name") }
    try DefaultsStore.checkStorable(form, under: new)
    let store = try key.router.writablePlain()
    if try !replace && store.contains(new) {
      throw StoreError(
        .alreadyExists, "there is such a preference already", key: new, cure: "choose another name; --replace takes its place")
    }
    if isMove { try store.rename(key.name, to: new) } else { try store.save(form, for: new) }
    try key.router.finish()
    context.done("\(isMove ? "renamed" : "copied") the preference '\(key.name)' to '\(new)'")
  }

  private func new(of old: ItemName) throws -> ItemName {
    let (service, account) = try isTwoNames ? otherName(of: old) : (otherService ?? toService, otherAccount ?? toAccount)
    let new = try ItemName(service: service ?? old.service, account: account ?? old.account)
    // An unchanged part keeps any old name.
    if let service { try NewName.check(service, as: "service") }
    if let account { try NewName.check(account, as: "account") }
    guard new != old else { throw Failure.usage("the item has that name already", try: "another name") }
    return new
  }

  /// The service and account of the second word: its last slash divides it. A URL may be a service by itself, and is divided as
  /// the first word was.
  private func otherName(of old: ItemName) throws -> (String?, String?) {
    guard let word = account else { return (nil, nil) }
    if Reference.isMeant(by: word) {
      let reference = try Reference(word)
      return (reference.service, reference.account)
    }
    guard !ItemWords.hasScheme(word) || old.service != service, let slash = word.lastIndex(of: "/"), slash > word.startIndex
    else {
      return (word, nil)
    }
    return (String(word[..<slash]), String(word[slash...].dropFirst()))
  }

  var condition: WriteCondition { replace ? .always : .absent }

  /// Makes the change to the name `new`; if that is taken, the error names the option to replace it.
  ///
  /// - Parameter new: nil for a folder, whose error names the item.
  func applying<Result>(_ new: ItemName?, _ change: () throws -> Result) throws -> Result {
    do { return try change() } catch let error as StoreError where error.kind == .alreadyExists {
      throw StoreError(
        error.kind, error.what, key: new?.description ?? error.key, place: error.place,
        cure: "choose another name; --replace takes the place of the item that has it")
    }
  }
}

/// The items whose services are a folder or below it. An account is no part of a folder.
struct ItemFolder {
  let prefix: String
  let items: [VaultItem]

  /// - Throws: `.notFound` if nothing is below `prefix`.
  init(_ prefix: String, in items: VaultItems) throws {
    self.prefix = prefix
    self.items = try Self.items(below: prefix, in: items)
    guard !self.items.isEmpty else {
      throw StoreError(
        .notFound, "the vault has nothing below this name", key: prefix, cure: "coffer list --tree shows the folders")
    }
  }

  static func items(below prefix: String, in items: VaultItems) throws -> [VaultItem] {
    var query = ItemQuery()
    // A service that is the folder itself has no slash at its end.
    query.texts = [String(prefix.dropLast())]
    query.otherThan = LoginItems.pointers
    return try items.find(query).items().filter { ($0.name.service + "/").utf8.starts(with: prefix.utf8) }
  }

  var summary: String { "\(counted(items.count, "item")) below \(Printable.line(prefix))" }

  /// - Throws: `.invalidName`.
  func name(of item: ItemName, below new: String) throws -> ItemName {
    let rest = String(decoding: (item.service + "/").utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
    return try ItemName(service: String((new + rest).dropLast()), account: item.account)
  }
}
