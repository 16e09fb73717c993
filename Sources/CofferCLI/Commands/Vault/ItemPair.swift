internal import ArgumentParser
internal import Coffer
internal import CofferStorage
internal import CofferVault

/// An item and the other name of it: `a b c d`, `a/b c/d`, or the first with `--to-service` and `--to-account`.
struct ItemPair: ParsableArguments {
  @Argument(help: "The item: a service, or service/account.", completion: Completions.services) var service: String
  @Argument(
    help: "Its account; or, after service/account, the other service/account.", completion: Completions.accounts)
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
    let isSaid = otherService != nil || slashes != nil
    guard !isSaid || (toService == nil && toAccount == nil) else {
      throw ValidationError("give the other name by words or by --to-service and --to-account, not by both")
    }
    guard isSaid || toService != nil || toAccount != nil else {
      throw ValidationError("give --to-service, --to-account or both, or the other name in words")
    }
  }

  /// Both names where each is one word with a slash in it. A URL is a service of its own, and not split.
  private var slashes: (old: (String, String), new: (String, String))? {
    guard otherService == nil, toService == nil, toAccount == nil, let old = Self.split(service),
      let new = account.flatMap(Self.split)
    else { return nil }
    return (old, new)
  }

  private static func split(_ word: String) -> (String, String)? {
    guard !word.contains("://"), let slash = word.firstIndex(of: "/"), slash > word.startIndex else { return nil }
    return (String(word[..<slash]), String(word[slash...].dropFirst()))
  }

  /// The item that is meant.
  ///
  /// - Throws: `.notFound`; `.ambiguous`, which names the accounts.
  func item(in items: VaultItems) throws -> VaultItem {
    guard let slashes else { return try items.item(service: service, account: account) }
    return try items.item(service: slashes.old.0, account: slashes.old.1)
  }

  func name(from old: ItemName) throws -> ItemName {
    let (service, account) = (slashes?.new.0 ?? otherService ?? toService, slashes?.new.1 ?? otherAccount ?? toAccount)
    let new = try ItemName(service: service ?? old.service, account: account ?? old.account)
    // A part that stays is the old one, whatever it is.
    if let service { try NewName.check(service, as: "service") }
    if let account { try NewName.check(account, as: "account") }
    guard new != old else { throw Failure.usage("the item has that name already", try: "another name") }
    return new
  }

  var condition: WriteCondition { replace ? .always : .absent }

  /// Does what takes the name, and says which option takes one that is taken.
  func applying<Result>(_ change: () throws -> Result) throws -> Result {
    do { return try change() } catch let error as StoreError where error.kind == .alreadyExists {
      throw StoreError(
        error.kind, error.what, key: error.key, place: error.place,
        cure: "choose another name; --replace takes the place of the item that has it")
    }
  }
}
