internal import ArgumentParser
internal import Coffer
internal import CofferStorage
internal import CofferTerminal
internal import CofferVault

/// An item and its other name: `a b c d`, `a/b c/d`, or the first with `--to-service` and `--to-account`.
struct ItemPair: ParsableArguments {
  @Argument(help: "The item: a service, SERVICE/ACCOUNT or coffer://….", completion: Completions.services) var service: String
  @Argument(
    help: "Its account; or, after SERVICE/ACCOUNT, the other SERVICE/ACCOUNT.", completion: Completions.accounts)
  var account: String?
  @Argument(help: "The other service.", completion: Completions.services) var otherService: String?
  @Argument(help: "The other account.", completion: Completions.accounts) var otherAccount: String?
  @Option(help: ArgumentHelp("The other service; the same one when left out.", valueName: "service")) var toService: String?
  @Option(help: ArgumentHelp("The other account; the same one when left out.", valueName: "account")) var toAccount: String?
  @Flag(help: "Take the place of an item that has that name.") var replace = false

  func validate() throws {
    guard otherService == nil || otherAccount != nil else {
      throw ValidationError("give the other name in two words, service and account, or both names as service/account")
    }
    guard otherService == nil || (toService == nil && toAccount == nil) else {
      throw ValidationError("give the other name by words or by --to-service and --to-account, not by both")
    }
    guard otherService != nil || isTwoNames || toService != nil || toAccount != nil else {
      throw ValidationError("give --to-service, --to-account or both, or the other name in words")
    }
  }

  private var isTwoNames: Bool {
    otherService == nil && toService == nil && toAccount == nil && service.contains("/") && account?.contains("/") == true
  }

  /// - Throws: `.notFound`; `.ambiguous`; a usage failure for an invalid reference.
  func item(in items: VaultItems) throws -> VaultItem {
    var old = ItemArguments()
    old.service = service
    old.account = isTwoNames ? nil : account
    return try old.item(in: items)
  }

  func name(from old: ItemName) throws -> ItemName {
    let (service, account) = try isTwoNames ? otherName(of: old) : (otherService ?? toService, otherAccount ?? toAccount)
    let new = try ItemName(service: service ?? old.service, account: account ?? old.account)
    // An unchanged part keeps any old name.
    if let service { try NewName.check(service, as: "service") }
    if let account { try NewName.check(account, as: "account") }
    guard new != old else { throw Failure.usage("the item has that name already", try: "another name") }
    return new
  }

  /// The second word, in as many parts as the first one: a URL may be a service by itself.
  private func otherName(of old: ItemName) throws -> (String?, String?) {
    guard let word = account else { return (nil, nil) }
    if Reference.isMeant(by: word) {
      let reference = try Reference(word)
      return (reference.service, reference.account)
    }
    guard old.service != service, let slash = word.lastIndex(of: "/") else { return (word, nil) }
    return (String(word[..<slash]), String(word[slash...].dropFirst()))
  }

  var condition: WriteCondition { replace ? .always : .absent }

  /// Makes the change to the name `new`; if that is taken, the error names the option to replace it.
  func applying<Result>(_ new: ItemName, _ change: () throws -> Result) throws -> Result {
    do { return try change() } catch let error as StoreError where error.kind == .alreadyExists {
      throw StoreError(
        error.kind, error.what, key: new.description, place: error.place,
        cure: "choose another name; --replace takes the place of the item that has it")
    }
  }
}
