internal import ArgumentParser
internal import Coffer
internal import CofferAgent
internal import CofferDefaults
internal import CofferFormats
internal import CofferTerminal
internal import CofferVault

/// A completion never asks, never prints an error, and suggests nothing after a failure.
enum Completions {
  static let services = CompletionKind.custom { words, _, prefix in
    list(words) { context in try itemNames(prefix, context.silentItems()) }
  }

  /// NAME of a command about both stores: services, items in one word and keys. Behind `vault` no keys, and with a domain
  /// only keys.
  static let names = CompletionKind.custom { words, _, prefix in
    list(words) { context in
      let mayBeKey = words.dropFirst().first { !$0.hasPrefix("-") }.map { !itemWords.contains($0) } ?? true
      let domain = value(of: "--domain", words) ?? ProcessEnvironment.value("COFFER_DOMAIN")
      let place = domain ?? RouterOptions.standard
      let preferences = try mayBeKey ? Set(context.domain(place).names()) : []
      let items: VaultItems
      // Preferences are offered where the vault is locked, too.
      do { items = try context.silentItems() } catch { return preferences }
      let keys = try mayBeKey ? preferences.union(items.names(of: place)) : []
      return try mayBeKey && domain != nil ? keys : keys.union(itemNames(prefix, items))
    }
  }

  private static let itemWords: Set<String> = ["vault", "otp", "totp", "edit", "history", "undelete"]

  private static func itemNames(_ prefix: String, _ items: VaultItems) throws -> Set<String> {
    let text = beginning(prefix)
    // `coffer` alone may be a service.
    if text.contains(":"), let references = try references(text, items) { return references }
    return try Set(items.names(of: nil, prefix: text)).union(inOneWord(text, items)).subtracting([LoginItems.pointers])
  }

  /// Items that `text` begins as SERVICE/ACCOUNT.
  private static func inOneWord(_ text: String, _ items: VaultItems) throws -> [String] {
    try text.indices.filter { text[$0] == "/" && $0 > text.startIndex }.flatMap { slash in
      let service = String(text[..<slash])
      return try items.names(of: service, prefix: String(text[text.index(after: slash)...])).filter { !$0.isEmpty }
        .map { "\(service)/\($0)" }
    }
  }

  /// Nil if `text` begins no reference.
  private static func references(_ text: String, _ items: VaultItems) throws -> Set<String>? {
    guard Reference.isMeant(by: text) || Reference.scheme.hasPrefix(text) else { return nil }
    let parts = Reference.parts(of: text)
    guard parts.count > 1 else {
      // One item of a service: no account need be told.
      return Set(try items.names(of: nil, prefix: "").map { Reference(service: $0, account: nil).description })
    }
    let service = try Reference(Reference.scheme + String(Substring(parts[0]))).service
    return Set(try items.names(of: service, prefix: "").map { Reference(service: service, account: $0).description })
  }

  static let accounts = CompletionKind.custom { words, _, prefix in
    list(words) { context in
      let items = try context.silentItems()
      return Set(try words.dropFirst().flatMap { try items.names(of: $0, prefix: beginning(prefix)) }.filter { !$0.isEmpty })
    }
  }

  /// The described fields of the item on the line, by the names that `--field` takes.
  static let fields = CompletionKind.custom { words, _, _ in
    list(words) { context in
      let items = try context.silentItems()
      let found = try words.dropFirst().flatMap { try items.find(ItemQuery(service: $0)).items() }
      let meant = found.filter { words.contains($0.name.account) }
      return Set(
        try (meant.isEmpty ? found : meant).flatMap { item in
          let said = ItemJSON(item).description.filter { !$0.1.isEmpty }.map(\.0)
          return try said + item.metadata.attributes.keys + items.fields(of: item.name).map(\.name.field)
        })
    }
  }

  /// By the digits that name them, which need no secret, and by labels if an agent has them.
  static let slots = CompletionKind.custom { words, _, _ in
    list(words) { context in
      let digits = Set(try context.lockedVault().slots.map(\.id.description))
      do {
        let labels = try context.agent()?.ask(Calls.describe).status.slots.map(\.label) ?? []
        return digits.union(labels.filter { !$0.isEmpty })
      } catch { return digits }
    }
  }

  /// Hosts with a login.
  static let hosts = CompletionKind.custom { words, _, prefix in
    list(words) { context in
      Set(try AuthAccounts.hosts(in: context.silentItems()).filter { $0.hasPrefix(beginning(prefix)) })
    }
  }

  /// `NAME=coffer://service/account`, once the name stands there.
  static let namedReferences = CompletionKind.custom { words, _, prefix in
    guard let (name, text) = prefix.nameAndValue else { return [] }
    return list(words) { context in Set((try references(text, context.silentItems()) ?? []).map { "\(name)=\($0)" }) }
  }

  /// The typed text, unless it has a shell's quotes.
  private static func beginning(_ prefix: String) -> String { prefix.unicodeScalars.allSatisfy(isPlain) ? prefix : "" }

  static let vaults = CompletionKind.custom { words, _, _ in
    list(words) { Set(try VaultNames(context: $0).all().map(\.name)) }
  }

  static let domains = CompletionKind.custom { words, _, _ in
    list(words) { Set(try DefaultsDomain.list(in: $0.places.defaults).map(\.name)) }
  }

  static let keys = CompletionKind.custom { words, _, _ in
    list(words) { context in
      let domains = try DefaultsDomain.list(in: context.places.defaults).map(\.name).filter { words.dropFirst().contains($0) }
      return Set(try domains.flatMap { try context.domain($0).names() })
    }
  }

  private static func list(_ words: [String], _ find: (Context) throws -> Set<String>) -> [String] {
    LibraryNotices.bootstrap(quiet: true)
    do {
      // In the form that finds an item: one name is one line, and none moves the cursor or turns the line around.
      let context = try Context(home: value(of: "--home", words), vault: value(of: "--vault", words), quiet: true)
      return try find(context).sorted().map(Printable.line)
    } catch { return [] }
  }

  /// A shell gives letters other than English ones no meaning.
  static func isPlain(_ sign: Unicode.Scalar) -> Bool {
    switch sign {
    case "a"..."z", "A"..."Z", "0"..."9", ".", "_", "/", ":", "@", "-", "\u{80}"...: true
    default: false
    }
  }

  private static func value(of option: String, _ words: [String]) -> String? {
    words.firstIndex(of: option).flatMap { words.dropFirst($0 + 1).first }
  }
}

extension Context {
  /// The vault's items, if it opens at once without a question: by the agent, or by a key file or identity in the
  /// environment.
  fileprivate func silentItems() throws -> VaultItems {
    if let items = try agentItems() { return items }
    return try items(openedWith: CredentialSources(self).fromEnvironment(withPassphrase: false))
  }
}
